//===- PlainModel.h - GPT-2 written a second time, on plain vectors --------===//
// For tests of whole steps: independent of ops, passes and interpreter, whose weights it reads.
#ifndef DSC_TEST_UNIT_REFERENCE_PLAINMODEL_H
#define DSC_TEST_UNIT_REFERENCE_PLAINMODEL_H

#include "TinyRun.h"
#include <cmath>

namespace dsc::test {

/// Ids and labels of a window; about a third of the labels do not count, and none of sample 1.
struct Window {
  reference::Tensor tokens, labels;
  Window(const Spec &spec, int number, bool all = false)
      : tokens({spec.train.batch, spec.data.seqLength}, {}), labels(tokens) {
    for (int64_t i = 0; i < spec.train.batch * spec.data.seqLength; ++i) {
      tokens.values.push_back(static_cast<double>((i * i + 3 * number) % spec.model.vocabSize));
      bool counts = all || (i % 3 != 1 && i / spec.data.seqLength != 1);
      labels.values.push_back(
          counts ? static_cast<double>((5 * i + number + 1) % spec.model.vocabSize) : -100);
    }
  }
};

/// GPT-2 on plain vectors, one position after another.
class PlainModel {
public:
  explicit PlainModel(TinyRun &run) : run(run), m(run.spec.model), t(run.spec.data.seqLength) {}

  /// Mean loss over what counts in the rows of `window`, or over the means of its rows.
  double loss(const Window &window, double smoothing) {
    double sum = 0, count = 0, means = 0, samples = 0;
    for (int64_t b = 0; b < window.tokens.shape[0]; ++b) {
      auto rows = hidden(&window.tokens.values[b * t]);
      double sumBefore = sum, countBefore = count;
      for (int64_t i = 0; i < t; ++i) {
        double label = window.labels[b * t + i];
        if (label < 0)
          continue;
        ++count;
        std::vector<double> logits;
        const auto &table = run[m.tiedHead ? "wte.weight" : "lm_head.weight"];
        double total = 0, mean = 0;
        for (int64_t v = 0; v < m.vocabSize; ++v) {
          double dot = 0;
          for (int64_t c = 0; c < m.width; ++c)
            dot += rows[i][c] * table[v * m.width + c];
          logits.push_back(dot);
          total += std::exp(dot);
          mean += dot / static_cast<double>(m.vocabSize);
        }
        double lse = std::log(total), chosen = logits[static_cast<size_t>(label)];
        sum += (1 - smoothing) * (lse - chosen) + smoothing * (lse - mean);
      }
      if (count > countBefore) {
        means += (sum - sumBefore) / (count - countBefore);
        ++samples;
      }
    }
    return run.spec.train.lossReduction == LossReduction::Sample ? means / samples : sum / count;
  }

private:
  using Row = std::vector<double>;

  Row norm(const Row &x, const std::string &name) {
    double mean = 0, variance = 0, n = static_cast<double>(x.size());
    for (double value : x)
      mean += value / n;
    for (double value : x)
      variance += (value - mean) * (value - mean) / n;
    Row y;
    for (size_t c = 0; c < x.size(); ++c)
      y.push_back((x[c] - mean) / std::sqrt(variance + m.layerNormEps) * run[name + ".weight"][c] +
                  run[name + ".bias"][c]);
    return y;
  }
  Row affine(const Row &x, const std::string &name) {
    Row y = run[name + ".bias"];
    const auto &weight = run[name + ".weight"];
    for (size_t k = 0; k < x.size(); ++k)
      for (size_t c = 0; c < y.size(); ++c)
        y[c] += x[k] * weight[k * y.size() + c];
    return y;
  }
  static double activate(ActivationKind kind, double x) {
    if (kind == ActivationKind::Relu)
      return std::max(x, 0.0);
    if (kind == ActivationKind::Gelu)
      return x * std::erfc(-x / std::sqrt(2.0)) / 2;
    return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  }
  static void add(Row &x, const Row &y) {
    for (size_t c = 0; c < x.size(); ++c)
      x[c] += y[c];
  }

  std::vector<Row> hidden(const double *tokens) {
    std::vector<Row> x;
    size_t width = static_cast<size_t>(m.width), head = width / static_cast<size_t>(m.heads);
    for (int64_t i = 0; i < t; ++i) {
      auto token = run["wte.weight"].begin() + static_cast<int64_t>(tokens[i]) * m.width;
      x.emplace_back(token, token + m.width);
      auto place = run["wpe.weight"].begin() + i * m.width;
      add(x.back(), Row(place, place + m.width));
    }
    for (int64_t layer = 0; layer < m.layers; ++layer) {
      std::string h = "h." + std::to_string(layer) + ".";
      std::vector<Row> qkv;
      for (const Row &row : x)
        qkv.push_back(affine(norm(row, h + "ln_1"), h + "attn.c_attn"));
      for (size_t i = 0; i < x.size(); ++i) {
        Row mixed(width, 0);
        for (size_t first = 0; first < width; first += head) {
          Row weights;
          double total = 0;
          for (size_t j = 0; j <= i; ++j) {
            double score = 0;
            for (size_t c = first; c < first + head; ++c)
              score += qkv[i][c] * qkv[j][width + c];
            if (m.scaleAttention)
              score /= std::sqrt(static_cast<double>(head));
            if (m.scaleByInverseLayer)
              score /= static_cast<double>(layer + 1);
            weights.push_back(std::exp(score));
            total += weights.back();
          }
          for (size_t j = 0; j <= i; ++j)
            for (size_t c = first; c < first + head; ++c)
              mixed[c] += weights[j] / total * qkv[j][2 * width + c];
        }
        add(x[i], affine(mixed, h + "attn.c_proj"));
      }
      for (Row &row : x) {
        Row inner = affine(norm(row, h + "ln_2"), h + "mlp.c_fc");
        for (double &value : inner)
          value = activate(m.activation, value);
        add(row, affine(inner, h + "mlp.c_proj"));
      }
    }
    for (Row &row : x)
      row = norm(row, "ln_f");
    return x;
  }

  TinyRun &run;
  const ModelSpec &m;
  int64_t t;
};

} // namespace dsc::test

#endif // DSC_TEST_UNIT_REFERENCE_PLAINMODEL_H
