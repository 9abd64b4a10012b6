//===- Initializer.cpp - initial weights --------------------------------------===//
#include "dsc/Runtime/Checkpoint/Initializer.h"
#include "dsc/Support/Fault.h"
#include "dsc/Support/Hash.h"
#include "dsc/Support/Philox.h"
#include "dsc/Support/PortableMath.h"

using namespace dsc;

float dsc::initialNormal(uint64_t seed, uint64_t hash, uint64_t index, double stddev) {
  return static_cast<float>(stddev * inverseNormal(openUniform(philox64(seed, index, hash))));
}

template <typename Float>
static void fill(uint64_t seed, std::string_view name, double stddev, int64_t begin, int64_t count,
                 Float *out) {
  uint64_t hash = DSC_FAULT(86, nameHash(name), 0);
  for (int64_t i = 0; i < count; ++i)
    out[i] = initialNormal(seed, hash, static_cast<uint64_t>(begin + i), stddev);
}

void dsc::fillNormal(uint64_t seed, std::string_view name, double stddev, int64_t begin,
                     int64_t count, float *out) {
  fill(seed, name, stddev, begin, count, out);
}

void dsc::fillNormal(uint64_t seed, std::string_view name, double stddev, int64_t begin,
                     int64_t count, double *out) {
  fill(seed, name, stddev, begin, count, out);
}
