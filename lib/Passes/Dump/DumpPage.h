//===- DumpPage.h - the IR page --------------------------------------------===//
#ifndef DSC_LIB_PASSES_DUMP_DUMPPAGE_H
#define DSC_LIB_PASSES_DUMP_DUMPPAGE_H

#include "dsc/Passes/Dump.h"

namespace dsc {

struct PageContents {
  const std::string &title;
  const std::vector<std::pair<std::string, std::string>> &facts;
  const std::string &memoryMap;
  const std::vector<DumpStage> &stages;
};

/// One self-contained HTML file.
std::string dumpPage(const PageContents &contents);

/// JSON of the buffers of each program that die within it: name, kind, first and last instruction,
/// offset, bytes. Empty if memory has not been assigned.
std::string memoryMapOf(mlir::ModuleOp module);

/// Style sheet and script of the page.
extern const char *const pageStyle;
extern const char *const pageScript;

} // namespace dsc

#endif // DSC_LIB_PASSES_DUMP_DUMPPAGE_H
