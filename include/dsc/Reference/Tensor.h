//===- Tensor.h - a tensor of the reference: float64, row-major ------------===//
// Every element is a double, integers too (token ids are far below 2^53, where doubles are exact).
// f32 in the IR is not rounded to here; f16 and bf16 are (Interpreter.h).
#ifndef DSC_REFERENCE_TENSOR_H
#define DSC_REFERENCE_TENSOR_H

#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace dsc::reference {

struct Tensor {
  std::vector<int64_t> shape;
  std::vector<double> values;

  Tensor() = default;
  Tensor(std::vector<int64_t> dimensions, std::vector<double> elements)
      : shape(std::move(dimensions)), values(std::move(elements)) {}
  /// All elements `value`.
  static Tensor filled(std::vector<int64_t> dimensions, double value) {
    int64_t count = std::accumulate(dimensions.begin(), dimensions.end(), int64_t(1),
                                    std::multiplies<int64_t>());
    return {std::move(dimensions), std::vector<double>(count, value)};
  }
  static Tensor scalar(double value) { return {{}, {value}}; }

  int64_t count() const { return static_cast<int64_t>(values.size()); }
  /// Length of the last dimension; 1 for a scalar.
  int64_t columns() const { return shape.empty() ? 1 : shape.back(); }
  /// Product of all other dimensions.
  int64_t rows() const { return columns() == 0 ? 0 : count() / columns(); }
  double operator[](int64_t i) const { return values[i]; }
  double &operator[](int64_t i) { return values[i]; }
  double item() const { return values.front(); }
  const double *row(int64_t i) const { return values.data() + i * columns(); }
  double *row(int64_t i) { return values.data() + i * columns(); }
};

/// "2x7x17", for messages; "scalar" if there are no dimensions.
std::string shapeText(const std::vector<int64_t> &shape);

} // namespace dsc::reference

#endif // DSC_REFERENCE_TENSOR_H
