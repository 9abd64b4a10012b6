//===- Dropout.cpp - float64 reference of Ops/Dropout.td -------------------===//
// One word at a time, by the scalar generator.
#include "Functions.h"
#include "dsc/Support/Hash.h"
#include "dsc/Support/Philox.h"
#include <cmath>

using namespace dsc;
using namespace dsc::reference;

/// A whole number modulo 2^32.
static uint32_t word(double value) { return static_cast<uint32_t>(static_cast<int64_t>(value)); }

double reference::dropoutFactor(const Tensor &key, double p, int64_t sample, int64_t element) {
  uint32_t first = key.count() > 5 ? word(key[5]) : 0;
  auto words =
      philox4x32({first + static_cast<uint32_t>(element / 4), word(key[2]) + static_cast<uint32_t>(sample),
                  word(key[3]), word(key[4])},
                 {word(key[0]), word(key[1])});
  return words[element % 4] >= std::ldexp(p, 32) ? 1 / (1 - p) : 0;
}

void reference::evaluate(ds::RandomKeyOp op, Evaluation &at) {
  Tensor &result = at.result(op.getResult());
  mlir::Value scalars[] = {op.getSeedLow(), op.getSeedHigh(), op.getSample(), op.getStep()};
  for (int64_t i = 0; i < 4; ++i)
    result[i] = at(scalars[i]).item();
  result[4] = static_cast<uint32_t>(nameHash(op.getPath()));
}

void reference::evaluate(ds::DropoutOp op, Evaluation &at) {
  const Tensor &input = at(op.getInput()), &key = at(op.getKey());
  Tensor &result = at.result(op.getResult());
  int64_t samples = input.shape.front(), elements = input.count() / samples;
  double p = op.getP().convertToDouble();
  for (int64_t i = 0; i < input.count(); ++i) {
    double factor = dropoutFactor(key, p, i / elements, i % elements);
    result[i] = factor == 0 ? 0 : input[i] * factor;
  }
}
