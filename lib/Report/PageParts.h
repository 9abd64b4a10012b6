//===- PageParts.h - style sheet and script of the report --------------------===//
#ifndef DSC_LIB_REPORT_PAGEPARTS_H
#define DSC_LIB_REPORT_PAGEPARTS_H

namespace dsc::report {
extern const char *const reportStyle;
extern const char *const reportScript;
} // namespace dsc::report

#endif // DSC_LIB_REPORT_PAGEPARTS_H
