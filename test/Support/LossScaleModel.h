//===- LossScaleModel.h - DeepSpeed's dynamic loss scaler, written again ----===//
// From what its documentation and configuration say, with its own variables: the number of the step
// and of the last one that overflowed, and how much of the hysteresis is left. The project's state
// machine counts the other way round.
#ifndef DSC_TEST_SUPPORT_LOSSSCALEMODEL_H
#define DSC_TEST_SUPPORT_LOSSSCALEMODEL_H

#include <algorithm>
#include <cstdint>

namespace dsc::test {

struct LossScaleModel {
  double scale = 1;
  int64_t window = 1, hysteresis = 1;
  double floor = 1, cap = 1; ///< the cap is this project's own
  bool consecutive = false;
  int64_t step = 0, lastOverflow = -1, left = hysteresis;

  void after(bool overflow) {
    if (overflow) {
      if (left > 1)
        --left;
      else
        scale = std::max(scale / 2, floor);
      lastOverflow = step;
    } else {
      if (consecutive)
        left = hysteresis;
      if ((step - lastOverflow) % window == 0) {
        left = hysteresis;
        scale = std::min(2 * scale, cap);
      }
    }
    ++step;
  }
};

} // namespace dsc::test

#endif // DSC_TEST_SUPPORT_LOSSSCALEMODEL_H
