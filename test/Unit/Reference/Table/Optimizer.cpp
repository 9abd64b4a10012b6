//===- Optimizer.cpp - test rows of Ops/Optimizer.td -----------------------===//
#include "OpTable.h"
#include <algorithm>
#include <cmath>

using namespace dsc::optable;

/// The update with the corrections taken out of the square root and moved into the step size.
static Tensors adamExpected(const Tensors &in, bool decoupled) {
  double clip = in[4].item(), rate = in[5].item(), beta1 = in[6].item(), beta2 = in[7].item();
  double eps = in[8].item(), t = in[9].item() + 1, decay = in.size() > 10 ? in[10].item() : 0;
  double step = rate / (1 - std::pow(beta1, t)), root = std::sqrt(1 - std::pow(beta2, t));
  Tensor w = in[0], m = in[2], v = in[3];
  for (int64_t i = 0; i < w.count(); ++i) {
    double g = in[1][i] * clip + (decoupled ? 0 : decay * w[i]);
    m[i] += (1 - beta1) * (g - m[i]);
    v[i] += (1 - beta2) * (g * g - v[i]);
    w[i] = w[i] * (decoupled ? 1 - rate * decay : 1) - step * m[i] / (std::sqrt(v[i]) / root + eps);
  }
  return {w, m, v};
}

static Tensors sgdExpected(const Tensors &in, bool nesterov) {
  double clip = in[3].item(), rate = in[4].item(), momentum = in[5].item();
  double decay = in.size() > 6 ? in[6].item() : 0;
  Tensor w = in[0], u = in[2];
  for (int64_t i = 0; i < w.count(); ++i) {
    double g = clip * in[1][i] + decay * w[i];
    u[i] = u[i] * momentum + g;
    w[i] -= rate * (nesterov ? u[i] * momentum + g : u[i]);
  }
  return {w, u};
}

static Tensors lionExpected(const Tensors &in) {
  double clip = in[3].item(), rate = in[4].item(), beta1 = in[5].item(), beta2 = in[6].item();
  Tensor w = in[0], m = in[2];
  for (int64_t i = 0; i < w.count(); ++i) {
    double g = in[1][i] * clip, c = g + beta1 * (m[i] - g);
    w[i] -= in.size() > 7 ? rate * in[7].item() * w[i] : 0;
    w[i] -= c == 0 ? 0 : std::copysign(rate, c);
    m[i] = g + beta2 * (m[i] - g);
  }
  return {w, m};
}

static Tensors lambExpected(const Tensors &in) {
  double clip = in[4].item(), beta1 = in[5].item(), beta2 = in[6].item(), eps = in[7].item();
  double t = in[8].item() + 1, decay = in.size() > 9 ? in[9].item() : 0;
  double root = std::sqrt(1 - std::pow(beta2, t));
  Tensor d = in[0], m = in[2], v = in[3];
  for (int64_t i = 0; i < d.count(); ++i) {
    double g = in[1][i] * clip;
    m[i] += (1 - beta1) * (g - m[i]);
    v[i] += (1 - beta2) * (g * g - v[i]);
    d[i] = d[i] * decay + m[i] / (std::sqrt(v[i]) / root + eps) / (1 - std::pow(beta1, t));
  }
  return {d, m, v};
}

static Tensors descendExpected(const Tensors &in) {
  double rate = in[2].item(), decay = in.size() > 4 ? in[4].item() : 0;
  Tensor w = in[0];
  for (int64_t i = 0; i < w.count(); ++i)
    w[i] = w[i] * (1 - rate * decay) - in[1][i] * rate * in[3].item();
  return {w};
}

/// Tensor operands of `type`, then one f64 for each of `scalars`.
static OpCase updateCase(const std::string &op, const std::string &label, const std::string &type,
                         unsigned tensors, unsigned results, const std::vector<double> &scalars,
                         const std::string &attribute) {
  OpCase c{.label = label,
           .operands = std::vector<std::string>(tensors, type),
           .results = std::vector<std::string>(results, type),
           .text = ""};
  for (double scalar : scalars) {
    c.fills[c.operands.size()] = {.exactly = {scalar}};
    c.operands.push_back("f64");
  }
  std::string operands, types, outputs;
  for (size_t i = 0; i < c.operands.size(); ++i) {
    operands += (i ? ", $" : "$") + std::to_string(i);
    types += (i ? ", #" : "#") + std::to_string(i);
  }
  for (size_t i = 0; i < results; ++i)
    outputs += (i ? ", @" : "@") + std::to_string(i);
  c.text = op + " " + operands + (attribute.empty() ? "" : " {" + attribute + "}") + " : (" +
           types + ") -> (" + outputs + ")";
  c.roundings = 8;
  return c;
}

/// Rows over all columns, columns over groups of rows; summed from the end.
static Tensors factorSumsExpected(const Tensors &in, int64_t group) {
  int64_t rows = in[0].shape[0], columns = in[0].shape[1];
  Tensor ofRows = Tensor::filled({1, rows}, 0);
  Tensor ofColumns = Tensor::filled({(rows + group - 1) / group, columns}, 0);
  for (int64_t i = rows * columns - 1; i >= 0; --i) {
    ofRows[i / columns] += std::pow(in[0][i], 2);
    ofColumns[i / columns / group * columns + i % columns] += std::pow(in[0][i], 2);
  }
  return {ofRows, ofColumns};
}

/// sums, moment, clip, toward
static Tensors factorMomentExpected(const Tensors &in, double terms) {
  Tensor result = in[1];
  for (int64_t j = 0; j < result.count(); ++j) {
    double mean = 0;
    for (int64_t k = in[0].shape[0] - 1; k >= 0; --k)
      mean += in[0][k * result.count() + j] / terms;
    result[j] += in[3].item() * (std::pow(in[2].item(), 2) * mean - result[j]);
  }
  return {result};
}

/// gradient, row, column, mean, clip, eps
static Tensors factoredDirectionExpected(const Tensors &in) {
  Tensor result = in[0];
  double mean = std::max(in[3].item(), in[5].item());
  for (int64_t i = 0; i < result.count(); ++i) {
    double root = std::sqrt(in[1][i / in[2].count()] / mean) * std::sqrt(in[2][i % in[2].count()]);
    result[i] *= in[4].item() / std::max(root, in[5].item());
  }
  return {result};
}

/// gradient, v, clip, toward, eps
static Tensors adafactorExpected(const Tensors &in) {
  Tensor d = in[0], v = in[1];
  for (int64_t i = 0; i < d.count(); ++i) {
    v[i] += in[3].item() * (std::pow(d[i] * in[2].item(), 2) - v[i]);
    d[i] *= in[2].item() / std::max(std::sqrt(v[i]), in[4].item());
  }
  return {d, v};
}

static std::vector<OpRow> adafactorRows() {
  OpRow sums{"ds.factor_sums", {}}, moment{"ds.factor_moment", {}}, mean{"ds.moment_mean", {}};
  OpRow factored{"ds.factored_direction", {}}, whole{"ds.adafactor_direction", {}};
  auto scalar = [](double value) { return Fill{.exactly = {value}}; };
  struct Shape {
    int64_t rows, columns, group;
  };
  for (Shape s : {Shape{1, 1, 1024}, Shape{17, 60, 256}, Shape{131, 96, 32}, Shape{7, 2085, 1024},
                  Shape{65, 1024, 32}, Shape{300, 6, 512}, Shape{2100, 7, 1024}}) {
    std::string rows = std::to_string(s.rows), columns = std::to_string(s.columns);
    std::string groups = std::to_string((s.rows + s.group - 1) / s.group);
    std::string matrix = rows + "x" + columns;
    sums.cases.push_back(
        {.label = matrix,
         .operands = {matrix + "xf32"},
         .results = {"1x" + rows + "xf64", groups + "x" + columns + "xf64"},
         .text = "ds.factor_sums $0 : (#0) -> (@0, @1)",
         .expected = [s](const Tensors &in) { return factorSumsExpected(in, s.group); }});
    for (double eps : {1e-7, 0.5})
      factored.cases.push_back(
          {.label = matrix + (eps < 0.1 ? "" : "_floored"),
           .operands = {matrix + "xf32", rows + "xf32", columns + "xf32", "f64", "f64", "f64"},
           .results = {matrix + "xf32"},
           .text = "ds.factored_direction $0, $1, $2, $3, $4, $5 : (#0, #1, #2, #3, #4, #5) -> @0",
           .fills = {{1, {.low = 0.01, .high = 1}},
                     {2, {.low = 0.01, .high = 1}},
                     {3, scalar(0.375)},
                     {4, scalar(0.75)},
                     {5, scalar(eps)}},
           .expected = factoredDirectionExpected,
           .roundings = 8});
  }
  for (int64_t groups : {1, 2, 3, 7, 32, 131})
    for (std::string size : {"1", "60", "131"})
      moment.cases.push_back(
          {.label = std::to_string(groups) + "x" + size,
           .operands = {std::to_string(groups) + "x" + size + "xf64", size + "xf32", "f64", "f64"},
           .results = {size + "xf32"},
           .text = "ds.factor_moment $0, $1, $2, $3 {terms = 5 : i64} : (#0, #1, #2, #3) -> @0",
           .fills = {{0, {.low = 0, .high = 1}},
                     {1, {.low = 0, .high = 1}},
                     {2, scalar(0.75)},
                     {3, scalar(groups == 7 ? 1 : 0.25)}},
           .expected = [](const Tensors &in) { return factorMomentExpected(in, 5); },
           .roundings = 8});
  for (std::string size : {"1", "131", "1024", "2048", "5155"})
    mean.cases.push_back({.label = size,
                          .operands = {size + "xf32"},
                          .results = {"f64"},
                          .text = "ds.moment_mean $0 : (#0) -> @0",
                          .fills = {{0, {.low = 0, .high = 1}}},
                          .expected = [](const Tensors &in) -> Tensors {
                            double sum = 0;
                            for (int64_t i = in[0].count() - 1; i >= 0; --i)
                              sum += in[0][i];
                            return {Tensor::scalar(sum / static_cast<double>(in[0].count()))};
                          }});
  for (std::string shape : {"1", "7", "131", "5x1031"})
    for (double eps : {1e-7, 0.5}) {
      // clip, toward, eps
      OpCase c = updateCase("ds.adafactor_direction", shape + (eps < 0.1 ? "" : "_floored"),
                            shape + "xf32", 2, 2, {0.75, 0.25, eps}, "");
      c.fills[1] = {.low = 0.01, .high = 1};
      c.expected = adafactorExpected;
      whole.cases.push_back(std::move(c));
    }
  return {sums, moment, mean, factored, whole};
}

std::vector<OpRow> dsc::optable::optimizerRows() {
  OpRow adam{"ds.adam_update", {}}, sgd{"ds.sgd_update", {}}, lion{"ds.lion_update", {}};
  OpRow lamb{"ds.lamb_direction", {}}, descend{"ds.descend", {}}, clipped{"ds.clip_values", {}};
  for (std::string shape : {"1", "7", "17x60", "131", "5x1031"})
    for (bool decayed : {false, true})
      for (bool flag : {false, true}) {
        std::string suffix = (decayed ? "decayed_" : "") + shape, type = shape + "xf32";
        for (double updates : {0.0, 6.0}) {
          // clip, rate, beta1, beta2, eps, updates, decay
          std::vector<double> scalars{0.75, 1e-3, 0.9, 0.95, 1e-8, updates};
          if (decayed)
            scalars.push_back(0.1);
          std::string label = std::string(flag ? "decoupled_" : "coupled_") + suffix + "_after_" +
                              std::to_string(static_cast<int>(updates));
          OpCase c =
              updateCase("ds.adam_update", label, type, 4, 3, scalars, flag ? "decoupled" : "");
          c.fills[3] = {.low = 0.01, .high = 1};
          c.expected = [flag](const Tensors &in) { return adamExpected(in, flag); };
          adam.cases.push_back(std::move(c));
        }
        // clip, rate, momentum, decay
        std::vector<double> scalars{0.75, 0.1, 0.9};
        if (decayed)
          scalars.push_back(0.01);
        OpCase c = updateCase("ds.sgd_update", (flag ? "nesterov_" : "plain_") + suffix, type, 3, 2,
                              scalars, flag ? "nesterov" : "");
        c.expected = [flag](const Tensors &in) { return sgdExpected(in, flag); };
        sgd.cases.push_back(std::move(c));
        if (flag)
          continue;
        // clip, rate, beta1, beta2, decay
        scalars = {0.75, 0.01, 0.9, 0.99};
        if (decayed)
          scalars.push_back(0.1);
        c = updateCase("ds.lion_update", suffix, type, 3, 2, scalars, "");
        c.expected = lionExpected;
        lion.cases.push_back(std::move(c));
        // clip, beta1, beta2, eps, updates, decay
        scalars = {0.75, 0.9, 0.95, 1e-6, 6};
        if (decayed)
          scalars.push_back(0.1);
        c = updateCase("ds.lamb_direction", suffix, type, 4, 3, scalars, "");
        c.fills[3] = {.low = 0.01, .high = 1};
        c.expected = lambExpected;
        lamb.cases.push_back(std::move(c));
        // rate, factor, decay
        scalars = {0.01, 3};
        if (decayed)
          scalars.push_back(0.1);
        c = updateCase("ds.descend", suffix, type, 2, 1, scalars, "");
        c.expected = descendExpected;
        descend.cases.push_back(std::move(c));
        // clip, limit: bounds inside and outside of the elements
        c = updateCase("ds.clip_values", suffix, type, 1, 1, {0.5, decayed ? 0.125 : 1}, "");
        c.expected = [](const Tensors &in) -> Tensors {
          Tensor result = in[0];
          for (double &value : result.values)
            if (in[2].item() > 0 && std::abs(value * in[1].item()) > in[2].item())
              value = std::copysign(in[2].item() / in[1].item(), value);
          return {result};
        };
        clipped.cases.push_back(c);
        c.label = "no_limit_" + suffix;
        c.fills[2] = {.exactly = {0}};
        clipped.cases.push_back(std::move(c));
      }
  std::vector<OpRow> rows = adafactorRows();
  rows.insert(rows.begin(), {adam, sgd, lion, lamb, descend, clipped});
  return rows;
}
