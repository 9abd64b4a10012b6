//===- SpecTableRows.h - the parts of the spec table -----------------------===//
#ifndef DSC_LIB_FRONTEND_SPECTABLEROWS_H
#define DSC_LIB_FRONTEND_SPECTABLEROWS_H

#include "dsc/Frontend/SpecTable.h"

namespace dsc {
/// Greatest number of steps, and of what is counted in them.
inline constexpr double maxSteps = 1e12;

void addModelRows(std::vector<SpecKey> &table);
void addTrainRows(std::vector<SpecKey> &table);
void addDeepSpeedRows(std::vector<SpecKey> &table);
void addParallelRows(std::vector<SpecKey> &table);
void addZeroRows(std::vector<SpecKey> &table);
} // namespace dsc

#endif // DSC_LIB_FRONTEND_SPECTABLEROWS_H
