//===- Initializer.h - initial weights, the same on every CPU and layout ---===//
// Element i of variable v, N(0, stddev), under seed s = init.seed:
//   r = words 0 (low) and 1 (high) of Philox4x32-10, key (s mod 2^32, s div 2^32), counter (i as
//   two words, h as two words),
//       h = FNV-1a-64 of v's name, low words first
//   u = ((r div 2^12) + 0.5) / 2^52
//   value = f32(stddev * inverseNormal(u))          (AS 241; double, rounded once to f32, in f64
//   runs too)
#ifndef DSC_RUNTIME_CHECKPOINT_INITIALIZER_H
#define DSC_RUNTIME_CHECKPOINT_INITIALIZER_H

#include <cstdint>
#include <string_view>

namespace dsc {

/// Element `index` of a variable whose nameHash() is `hash`.
float initialNormal(uint64_t seed, uint64_t hash, uint64_t index, double stddev);

/// Elements [begin, begin + count) into out[0, count). Ranges of one variable may be filled by
/// different threads.
void fillNormal(uint64_t seed, std::string_view name, double stddev, int64_t begin, int64_t count,
                float *out);
void fillNormal(uint64_t seed, std::string_view name, double stddev, int64_t begin, int64_t count,
                double *out);

} // namespace dsc

#endif // DSC_RUNTIME_CHECKPOINT_INITIALIZER_H
