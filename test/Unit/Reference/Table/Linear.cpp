//===- Linear.cpp - test rows of Ops/Linear.td -----------------------------===//
#include "OpTable.h"

using namespace dsc::optable;

namespace {
/// [rows, k] times [k, n], rows written as two leading dimensions where `batch` is given.
struct Sizes {
  std::string rows, k, n;
  int64_t m() const {
    size_t x = rows.find('x');
    return x == std::string::npos ? std::stol(rows)
                                  : std::stol(rows) * std::stol(rows.substr(x + 1));
  }
  std::string input() const { return rows + "x" + k + "xf32"; }
  std::string output() const { return rows + "x" + n + "xf32"; }
  std::string weight(bool transposed) const {
    return (transposed ? n + "x" + k : k + "x" + n) + "xf32";
  }
  std::string text() const { return rows + "x" + k + "x" + n; }
};

/// Which optional parts a case has.
struct Form {
  std::string name, activation = "none";
  bool transposed = false, bias = false, residual = false, pre = false;
};
} // namespace

static const Sizes allSizes[] = {{"1", "1", "1"},       {"7", "16", "17"},    {"2x7", "17", "60"},
                                 {"3x17", "60", "131"}, {"130", "131", "33"}, {"5", "300", "7"},
                                 {"37", "67", "270"}};

/// Element [i, j] of a stored matrix or of its transpose.
static double element(const Tensor &matrix, bool transposed, int64_t i, int64_t j) {
  return transposed ? matrix.row(j)[i] : matrix.row(i)[j];
}

static Tensors linearExpected(const Tensors &in, const Form &form) {
  const Tensor &x = in[0], &w = in[1];
  int64_t n = form.transposed ? w.shape[0] : w.shape[1];
  std::vector<int64_t> shape = x.shape;
  shape.back() = n;
  Tensor result = Tensor::filled(shape, 0), pre = result;
  for (int64_t i = 0; i < x.rows(); ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = form.bias ? in[2][j] : 0;
      for (int64_t k = x.columns() - 1; k >= 0; --k)
        sum += x.row(i)[k] * element(w, form.transposed, k, j);
      pre.row(i)[j] = sum;
      result.row(i)[j] =
          activationValue(form.activation, sum) + (form.residual ? in.back().row(i)[j] : 0);
    }
  return form.pre ? Tensors{result, pre} : Tensors{result};
}

static Tensors inputGradExpected(const Tensors &in, const Form &form) {
  const Tensor &dy = in[0], &w = in[1];
  int64_t k = form.transposed ? w.shape[1] : w.shape[0];
  std::vector<int64_t> shape = dy.shape;
  shape.back() = k;
  Tensor result = Tensor::filled(shape, 0);
  for (int64_t i = 0; i < dy.rows(); ++i)
    for (int64_t j = 0; j < k; ++j) {
      double sum = 0;
      for (int64_t n = 0; n < dy.columns(); ++n)
        sum += dy.row(i)[n] * element(w, form.transposed, j, n);
      if (form.pre)
        sum *= activationSlope(form.activation, in[2].row(i)[j]);
      result.row(i)[j] = sum + (form.residual ? in.back().row(i)[j] : 0);
    }
  return {result};
}

static Tensors weightGradExpected(const Tensors &in, bool transposed) {
  const Tensor &x = in[0], &dy = in[1];
  std::vector<int64_t> shape{x.columns(), dy.columns()};
  if (transposed)
    std::swap(shape[0], shape[1]);
  Tensor result = Tensor::filled(shape, 0);
  for (int64_t i = 0; i < shape[0]; ++i)
    for (int64_t j = 0; j < shape[1]; ++j) {
      double sum = in.size() > 2 ? in[2].row(i)[j] : 0;
      for (int64_t r = 0; r < x.rows(); ++r)
        sum += transposed ? dy.row(r)[i] * x.row(r)[j] : x.row(r)[i] * dy.row(r)[j];
      result.row(i)[j] = sum;
    }
  return {result};
}

/// Operand list, clause and type of an optional operand.
static void addOptional(OpCase &c, const std::string &keyword, const std::string &type,
                        std::string &operands, std::string &types) {
  std::string index = std::to_string(c.operands.size());
  c.operands.push_back(type);
  operands += " " + keyword + " $" + index;
  types += " " + keyword + " #" + index;
}

static std::string transposition(const Form &form) {
  return form.transposed ? " {transpose_weight}" : "";
}

static OpCase linearCase(const Sizes &s, const Form &form) {
  OpCase c{.label = form.name + "_" + s.text(),
           .operands = {s.input(), s.weight(form.transposed)},
           .results = {s.output()},
           .text = ""};
  std::string operands = "$0, $1", types = "#0, #1";
  if (form.bias)
    addOptional(c, "bias", s.n + "xf32", operands, types);
  if (form.activation != "none")
    operands += " activation " + form.activation;
  if (form.residual)
    addOptional(c, "residual", s.output(), operands, types);
  if (form.pre)
    c.results.push_back(s.output());
  c.text = "ds.linear " + operands + transposition(form) + " : " + types + " -> @0" +
           (form.pre ? " pre @1" : "");
  c.expected = [form](const Tensors &in) { return linearExpected(in, form); };
  c.differentiate = form.activation == "none" && !form.residual;
  // Products of numbers up to 1: the sum of their magnitudes is at most k.
  c.roundings = std::stod(s.k) + 10;
  c.magnitude = std::stod(s.k) + 2;
  return c;
}

static OpCase inputGradCase(const Sizes &s, const Form &form) {
  OpCase c{.label = form.name + "_" + s.text(),
           .operands = {s.output(), s.weight(form.transposed)},
           .results = {s.input()},
           .text = ""};
  std::string operands = "$0, $1", types = "#0, #1";
  if (form.pre) {
    c.fills[2] = {.low = -4, .high = 4, .hole = 0.01};
    c.operands.push_back(s.input());
    operands += " activation " + form.activation + " at $2";
    types += " pre #2";
  }
  if (form.residual)
    addOptional(c, "residual", s.input(), operands, types);
  c.text = "ds.linear_input_grad " + operands + transposition(form) + " : " + types + " -> @0";
  c.expected = [form](const Tensors &in) { return inputGradExpected(in, form); };
  c.roundings = std::stod(s.n) + 16;
  c.magnitude = std::stod(s.n) + 1;
  return c;
}

static OpCase weightGradCase(const Sizes &s, bool transposed, bool init) {
  OpCase c{.label = std::string(transposed ? "transposed" : "plain") + (init ? "_init_" : "_") +
                    s.text(),
           .operands = {s.input(), s.output()},
           .results = {s.weight(transposed)},
           .text = ""};
  std::string operands = "$0, $1", types = "#0, #1";
  if (init)
    addOptional(c, "init", s.weight(transposed), operands, types);
  c.text = "ds.linear_weight_grad " + operands + (transposed ? " {transpose_weight}" : "") + " : " +
           types + " -> @0";
  c.expected = [transposed](const Tensors &in) { return weightGradExpected(in, transposed); };
  c.roundings = static_cast<double>(s.m()) + 1;
  c.magnitude = static_cast<double>(s.m()) + 1;
  return c;
}

static OpCase biasGradCase(const Sizes &s, bool init) {
  OpCase c{.label = (init ? "init_" : "plain_") + s.rows + "x" + s.n,
           .operands = {s.output()},
           .results = {s.n + "xf32"},
           .text = ""};
  std::string operands = "$0", types = "#0";
  if (init)
    addOptional(c, "init", s.n + "xf32", operands, types);
  c.text = "ds.bias_grad " + operands + " : " + types + " -> @0";
  c.expected = [](const Tensors &in) -> Tensors {
    Tensor result = Tensor::filled({in[0].columns()}, 0);
    for (int64_t j = 0; j < result.count(); ++j) {
      result[j] = in.size() > 1 ? in[1][j] : 0;
      for (int64_t i = 0; i < in[0].rows(); ++i)
        result[j] += in[0].row(i)[j];
    }
    return {result};
  };
  c.roundings = c.magnitude = static_cast<double>(s.m()) + 1;
  return c;
}

std::vector<OpRow> dsc::optable::linearRows() {
  const Form linearForms[] = {
      {.name = "plain"},
      {.name = "bias", .bias = true},
      {.name = "transposed", .transposed = true},
      {.name = "transposed_bias", .transposed = true, .bias = true},
      {.name = "bias_residual", .bias = true, .residual = true},
      {.name = "residual", .residual = true},
      {.name = "gelu_tanh_pre", .activation = "gelu_tanh", .bias = true, .pre = true},
      {.name = "gelu_tanh", .activation = "gelu_tanh", .bias = true},
      {.name = "gelu_pre", .activation = "gelu", .bias = true, .pre = true},
      {.name = "relu_pre", .activation = "relu", .bias = true, .pre = true},
      {.name = "all",
       .activation = "gelu_tanh",
       .transposed = true,
       .bias = true,
       .residual = true,
       .pre = true}};
  const Form gradForms[] = {{.name = "plain"},
                            {.name = "transposed", .transposed = true},
                            {.name = "residual", .residual = true},
                            {.name = "gelu_tanh", .activation = "gelu_tanh", .pre = true},
                            {.name = "gelu", .activation = "gelu", .pre = true},
                            {.name = "relu", .activation = "relu", .pre = true},
                            {.name = "all",
                             .activation = "gelu_tanh",
                             .transposed = true,
                             .residual = true,
                             .pre = true}};
  OpRow linear{"ds.linear", {}}, inputGrad{"ds.linear_input_grad", {}};
  OpRow weightGrad{"ds.linear_weight_grad", {}}, biasGrad{"ds.bias_grad", {}};
  for (const Sizes &s : allSizes) {
    // Fused forms change the end of a product only: three sizes will do.
    bool all = s.rows != "1" && s.rows != "5" && s.rows != "37" && s.rows != "2x7";
    for (const Form &form : linearForms)
      if (all || (form.activation == "none" && !form.residual))
        linear.cases.push_back(linearCase(s, form));
    for (const Form &form : gradForms)
      if (all || (form.activation == "none" && !form.residual))
        inputGrad.cases.push_back(inputGradCase(s, form));
    for (bool init : {false, true}) {
      weightGrad.cases.push_back(weightGradCase(s, false, init));
      weightGrad.cases.push_back(weightGradCase(s, true, init));
      biasGrad.cases.push_back(biasGradCase(s, init));
    }
  }
  return {linear, inputGrad, weightGrad, biasGrad};
}
