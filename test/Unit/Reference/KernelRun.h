//===- KernelRun.h - one kernel on tensors, once ---------------------------===//
#ifndef DSC_TEST_UNIT_REFERENCE_KERNELRUN_H
#define DSC_TEST_UNIT_REFERENCE_KERNELRUN_H

#include "Table/OpTable.h"
#include "dsc/Codegen/KernelRunner.h"
#include "dsc/Support/HalfFloat.h"
#include <cmath>
#include <cstring>

namespace dsc::optable {

/// Writes the elements of `tensor` in the element type of `type`.
inline void store(void *to, const Tensor &tensor, mlir::Type type) {
  mlir::Type element = mlir::cast<mlir::RankedTensorType>(type).getElementType();
  for (int64_t i = 0; i < tensor.count(); ++i) {
    if (element.isF32())
      static_cast<float *>(to)[i] = static_cast<float>(tensor[i]);
    else if (element.isF64())
      static_cast<double *>(to)[i] = tensor[i];
    else if (element.isF16())
      static_cast<uint16_t *>(to)[i] = floatToHalf(static_cast<float>(tensor[i]));
    else if (element.isBF16())
      static_cast<uint16_t *>(to)[i] = floatToBfloat(static_cast<float>(tensor[i]));
    else
      static_cast<int32_t *>(to)[i] = static_cast<int32_t>(tensor[i]);
  }
}

inline double load(const std::vector<char> &bytes, int64_t i, mlir::Type element) {
  if (element.isF64()) {
    double value;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    return value;
  }
  if (element.isInteger(32)) {
    int32_t value;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    return value;
  }
  if (element.isF16() || element.isBF16()) {
    uint16_t bits;
    std::memcpy(&bits, bytes.data() + i * sizeof bits, sizeof bits);
    return element.isF16() ? halfToFloat(bits) : bfloatToFloat(bits);
  }
  float value;
  std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
  return value;
}

/// Distance between neighbours of a number in a two-byte type; 0 for other types.
inline double lastPlace(double x, mlir::Type element) {
  if (element.isF16())
    return std::max(0x1p-24, std::ldexp(1, std::ilogb(x) - 10));
  return element.isBF16() ? std::max(0x1p-133, std::ldexp(1, std::ilogb(x) - 7)) : 0;
}

/// The bytes of each result of one run.
using Results = std::vector<std::vector<char>>;

inline Results runKernel(KernelRunner &runner, mlir::Operation *op, const Tensors &operands,
                         unsigned threads) {
  std::vector<KernelMemory> memory;
  std::vector<void *> arguments;
  for (int64_t bytes : runner.argumentBytes()) {
    memory.emplace_back(bytes);
    arguments.push_back(memory.back().data());
  }
  for (size_t i = 0; i < operands.size(); ++i)
    store(arguments[i], operands[i], op->getOperand(i).getType());
  runner.run(arguments, threads);
  Results results;
  for (int64_t argument : runner.resultArguments()) {
    const char *data = static_cast<const char *>(arguments[argument]);
    results.emplace_back(data, data + runner.argumentBytes()[argument]);
  }
  return results;
}

} // namespace dsc::optable

#endif // DSC_TEST_UNIT_REFERENCE_KERNELRUN_H
