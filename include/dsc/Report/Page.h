//===- Page.h - the page about one run or several ---------------------------===//
#ifndef DSC_REPORT_PAGE_H
#define DSC_REPORT_PAGE_H

#include "dsc/Report/RunFiles.h"

namespace dsc::report {

/// One self-contained HTML file: a table of the runs, their curves over the steps with skipped
/// steps, checkpoints and resumptions marked, what happened, the settings and how they differ.
/// Depends on nothing but the runs, so equal runs give equal bytes.
std::string reportPage(const std::vector<Run> &runs);

} // namespace dsc::report

#endif // DSC_REPORT_PAGE_H
