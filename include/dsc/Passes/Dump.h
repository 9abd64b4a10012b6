//===- Dump.h - the IR after every pass, as files and as a page ------------===//
// What `dsc --dump-dir=DIR` writes: DIR/01-ds-import.mlir and so on, each valid input for ds-opt,
// and DIR/index.html, one file that needs no network: the passes with op counts and time, the IR of
// each, what it changed, and where the plan's buffers lie over time.
#ifndef DSC_PASSES_DUMP_H
#define DSC_PASSES_DUMP_H

#include "dsc/Support/Status.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dsc {

/// State of the module after one pass.
struct DumpStage {
  std::string phase;   ///< import, training, lowering, plan, kernels
  std::string name;    ///< of the pass: ds-fuse
  std::string summary; ///< from its record
  std::string file;    ///< 05-ds-fuse.mlir
  std::string text;
  double milliseconds = 0;
  std::map<std::string, int64_t> ops; ///< op name to number
};

/// Collects stages while the compiler runs. One for each compilation.
class Dump {
public:
  /// `title` heads the page: the spec's path.
  Dump(std::string folder, std::string title)
      : folder(std::move(folder)), title(std::move(title)) {}

  /// Records a stage that no pass made.
  void add(const std::string &phase, const std::string &name, const std::string &summary,
           mlir::ModuleOp module, double milliseconds);
  /// Records each pass that `manager` runs; `whose` ends its summary: " of stage 1".
  void watch(mlir::PassManager &manager, const std::string &phase, const std::string &whose = "");
  /// Text lines under the title: parameters, memory.
  void addFact(const std::string &name, const std::string &value) {
    facts.emplace_back(name, value);
  }
  /// Writes files and page.
  Status write() const;

  const std::vector<DumpStage> &stages() const { return theStages; }

private:
  std::string folder, title;
  std::vector<DumpStage> theStages;
  std::vector<std::pair<std::string, std::string>> facts;
  std::string memoryMap; ///< JSON of the buffers after the last plan pass
  friend class DumpInstrumentation;
};

} // namespace dsc

#endif // DSC_PASSES_DUMP_H
