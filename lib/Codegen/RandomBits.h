//===- RandomBits.h - Philox 4x32-10 as vector code ------------------------===//
// Counter-based random numbers of Salmon, Moraes, Dror, Shaw (SC 2011), the same words as
// dsc/Support/Philox.h gives one at a time. Kernels draw masks from them: a mask depends on what it
// belongs to and on nothing else, so forward and backward regenerate one.
#ifndef DSC_LIB_CODEGEN_RANDOMBITS_H
#define DSC_LIB_CODEGEN_RANDOMBITS_H

#include "KernelBuilder.h"
#include <array>

namespace dsc {

/// What ds.random_key computes, as i32 scalars.
struct RandomKey {
  Value seedLow, seedHigh, sample, step, stream;
  Value first; ///< added to the first word of the counter: of a part; null: 0
};
/// Reads the key in argument `i` of a kernel.
RandomKey loadRandomKey(KernelBuilder &b, unsigned i);

/// Four words for each lane: `counter` (words 0 to 3, i32 vectors or scalars, all of one shape)
/// under the key of the seed.
std::array<Value, 4> emitPhilox(KernelBuilder &b, std::array<Value, 4> counter,
                                const RandomKey &key);

/// How a kernel turns words into a mask: an element is kept if its word is at least p 2^32, and
/// kept elements are scaled by 1 / (1 - p).
class DropoutMask {
public:
  explicit DropoutMask(double p);
  /// Whether any word is kept (not for p = 1).
  bool keepsAny() const { return threshold < (uint64_t{1} << 32); }
  double scale() const { return keepsAny() ? factor : 0; }
  /// f32 vector: 1 where the word (i32) is kept, else 0.
  Value ones(KernelBuilder &b, Value word) const;

private:
  uint64_t threshold;
  double factor;
};

/// Multiplies kept lanes by the mask's scale and makes all others 0, whatever they are; `ones` is a
/// vector of 0 and 1.
Value emitDropped(KernelBuilder &b, Value x, Value ones, double scale);

} // namespace dsc

#endif // DSC_LIB_CODEGEN_RANDOMBITS_H
