//===- Attention.cpp - test rows of Ops/Attention.td -----------------------===//
#include "OpTable.h"
#include "dsc/Support/Philox.h"
#include <cmath>

using namespace dsc::optable;

namespace {
/// Packed queries, keys and values by index.
struct View {
  const Tensor &qkv;
  int64_t heads;
  int64_t length() const { return qkv.shape[1]; }
  int64_t width() const { return qkv.shape[2] / 3; }
  int64_t headWidth() const { return width() / heads; }
  double operator()(int64_t part, int64_t b, int64_t h, int64_t t, int64_t c) const {
    return qkv[(b * length() + t) * 3 * width() + part * width() + h * headWidth() + c];
  }
  double score(double scale, int64_t b, int64_t h, int64_t i, int64_t j) const {
    double sum = 0;
    for (int64_t c = 0; c < headWidth(); ++c)
      sum += (*this)(0, b, h, i, c) * (*this)(1, b, h, j, c);
    return scale * sum;
  }
};

/// What the mask of dropout multiplies a pair by.
struct Mask {
  const Tensor *key = nullptr;
  double p = 0;
  int64_t length = 0;
  double operator()(int64_t b, int64_t h, int64_t i, int64_t j) const {
    if (!key)
      return 1;
    auto word = [&](int64_t k) { return static_cast<uint32_t>((*key)[k]); };
    int64_t row = h * length + i, perRow = (length + 3) / 4;
    auto words = dsc::philox4x32({static_cast<uint32_t>(row * perRow + j / 4),
                                  static_cast<uint32_t>(word(2) + b), word(3), word(4)},
                                 {word(0), word(1)});
    return words[j % 4] < p * 4294967296.0 || p == 1 ? 0 : 1 / (1 - p);
  }
};
} // namespace

namespace {
/// Which pairs a sample of documents allows: both in the same one, the key not after the query.
struct Documents {
  const Tensor *positionIds = nullptr;
  bool operator()(int64_t b, int64_t i, int64_t j) const {
    if (j > i || !positionIds)
      return j <= i;
    auto position = [&](int64_t t) { return positionIds->row(b)[t]; };
    return position(i) >= 0 && document(b, i) == document(b, j);
  }

private:
  /// Documents are counted by their first tokens.
  int64_t document(int64_t b, int64_t i) const {
    int64_t count = 0;
    for (int64_t t = 0; t <= i; ++t)
      count += positionIds->row(b)[t] == 0;
    return positionIds->row(b)[i] < 0 ? -1 - i : count;
  }
};
} // namespace

/// Positions of `batch` rows of documents with lengths 3, 1, 5, 9, 20 in turn; the last sixth of
/// every other row is padding.
static std::vector<double> packedPositions(int64_t batch, int64_t length) {
  std::vector<double> positions;
  static constexpr int64_t lengths[] = {3, 1, 5, 9, 20};
  for (int64_t b = 0; b < batch; ++b) {
    int64_t document = b, at = 0, tokens = b % 2 ? length : length - length / 6;
    for (int64_t t = 0; t < length; ++t) {
      if (at == lengths[document % 5]) {
        ++document;
        at = 0;
      }
      positions.push_back(t < tokens ? static_cast<double>(at++) : -1);
    }
  }
  return positions;
}

/// A matrix of all scores, the masked ones minus infinity, normalised without a maximum.
static Tensors attentionExpected(const Tensors &in, int64_t heads, double scale, double dropped,
                                 bool packed = false) {
  View view{in[0], heads};
  Mask mask{dropped > 0 ? &in[1] : nullptr, dropped, view.length()};
  Documents allows{packed ? &in.back() : nullptr};
  int64_t batch = in[0].shape[0], t = view.length(), d = view.headWidth();
  Tensor result = Tensor::filled({batch, t, view.width()}, 0);
  Tensor lse = Tensor::filled({batch, heads, t}, 0);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < t; ++i) {
        double sum = 0;
        std::vector<double> values(d, 0);
        for (int64_t j = 0; j < t; ++j) {
          double p = std::exp(allows(b, i, j) ? view.score(scale, b, h, i, j) : -INFINITY);
          sum += p;
          for (int64_t c = 0; c < d; ++c)
            values[c] += p * mask(b, h, i, j) * view(2, b, h, j, c);
        }
        if (sum == 0)
          continue;
        lse[(b * heads + h) * t + i] = std::log(sum);
        for (int64_t c = 0; c < d; ++c)
          result[(b * t + i) * view.width() + h * d + c] = values[c] / sum;
      }
  return {result, lse};
}

/// Each element of the gradient as a sum of its own.
static Tensors attentionGradExpected(const Tensors &in, int64_t heads, double scale, double dropped,
                                     bool packed = false) {
  View view{in[1], heads};
  Mask mask{dropped > 0 ? &in[4] : nullptr, dropped, view.length()};
  Documents allows{packed ? &in.back() : nullptr};
  int64_t t = view.length(), d = view.headWidth(), width = view.width();
  Tensor result = Tensor::filled(in[1].shape, 0);
  for (int64_t b = 0; b < in[1].shape[0]; ++b)
    for (int64_t h = 0; h < heads; ++h) {
      auto dout = [&](int64_t i, int64_t c) { return in[0][(b * t + i) * width + h * d + c]; };
      auto out = [&](int64_t i, int64_t c) { return in[2][(b * t + i) * width + h * d + c]; };
      std::vector<double> p(t * t, 0), ds(t * t, 0);
      for (int64_t i = 0; i < t; ++i)
        for (int64_t j = 0; j <= i; ++j) {
          if (!allows(b, i, j))
            continue;
          p[i * t + j] = std::exp(view.score(scale, b, h, i, j) - in[3][(b * heads + h) * t + i]);
          for (int64_t c = 0; c < d; ++c)
            ds[i * t + j] +=
                p[i * t + j] * dout(i, c) * (mask(b, h, i, j) * view(2, b, h, j, c) - out(i, c));
        }
      for (int64_t i = 0; i < t; ++i)
        for (int64_t c = 0; c < d; ++c) {
          double dq = 0, dk = 0, dv = 0;
          for (int64_t j = 0; j < t; ++j) {
            dq += scale * ds[i * t + j] * view(1, b, h, j, c);
            dk += scale * ds[j * t + i] * view(0, b, h, j, c);
            dv += p[j * t + i] * mask(b, h, j, i) * dout(j, c);
          }
          double *to = &result[(b * t + i) * 3 * width + h * d + c];
          to[0] = dq;
          to[width] = dk;
          to[2 * width] = dv;
        }
    }
  return {result};
}

/// Caches with what is new in them, then each query against its row of them.
static Tensors cachedExpected(const Tensors &in, int64_t heads, double scale) {
  View view{in[0], heads};
  Tensor keys = in[1], values = in[2];
  int64_t length = keys.shape[1], width = view.width(), d = view.headWidth();
  auto place = [&](int64_t b, int64_t p, int64_t h, int64_t c) {
    return (static_cast<int64_t>(in[4][b]) * length + p) * width + h * d + c;
  };
  Tensor result = Tensor::filled({in[0].shape[0], view.length(), width}, 0);
  for (bool keep : {true, false})
    for (int64_t b = 0; b < in[0].shape[0]; ++b)
      for (int64_t i = 0; i < view.length(); ++i)
        for (int64_t h = 0; h < heads; ++h) {
          auto last = static_cast<int64_t>(in[3].row(b)[i]);
          double sum = 0;
          for (int64_t j = keep ? last : 0; j <= last; ++j) {
            double score = 0;
            for (int64_t c = 0; c < d; ++c) {
              if (keep && last >= 0) {
                keys[place(b, last, h, c)] = view(1, b, h, i, c);
                values[place(b, last, h, c)] = view(2, b, h, i, c);
              } else if (!keep) {
                score += view(0, b, h, i, c) * keys[place(b, j, h, c)];
              }
            }
            if (keep)
              break;
            sum += std::exp(scale * score);
            for (int64_t c = 0; c < d; ++c)
              result[(b * view.length() + i) * width + h * d + c] +=
                  std::exp(scale * score) * values[place(b, j, h, c)];
          }
          for (int64_t c = 0; c < d && !keep && last >= 0; ++c)
            result[(b * view.length() + i) * width + h * d + c] /= sum;
        }
  return {result, keys, values};
}

/// New tokens `n` of `batch` samples in caches of `rows` and `length`; every third token is
/// padding.
static OpCase cachedCase(int64_t batch, int64_t n, int64_t rows, int64_t length, int64_t heads,
                         int64_t headWidth) {
  auto text = [](std::initializer_list<int64_t> sizes, const char *type) {
    std::string result;
    for (int64_t size : sizes)
      result += std::to_string(size) + "x";
    return result + type;
  };
  int64_t width = heads * headWidth;
  Fill positions, places;
  for (int64_t b = 0; b < batch; ++b) {
    places.exactly.push_back(static_cast<double>((b + 1) % rows));
    for (int64_t i = 0, p = (3 * b + 2) % (length - n + 1); i < n; ++i)
      positions.exactly.push_back((i + b) % 3 == 2 ? -1 : static_cast<double>(p++));
  }
  std::string cache = text({rows, length, width}, "f32");
  return {.label = text({batch, n, rows, length, heads, headWidth}, ""),
          .operands = {text({batch, n, 3 * width}, "f32"), cache, cache, text({batch, n}, "i32"),
                       text({batch}, "i32")},
          .results = {text({batch, n, width}, "f32"), cache, cache},
          .text = "ds.cached_attention $0, $1, $2, $3, $4 {heads = " + std::to_string(heads) +
                  " : i64, scale = 0.25 : f64} : (#0, #1, #2, #3, #4) -> (@0, @1, @2)",
          .fills = {{0, {.low = -2, .high = 2}},
                    {1, {.low = -2, .high = 2}},
                    {3, positions},
                    {4, places}},
          .expected = [heads](const Tensors &in) { return cachedExpected(in, heads, 0.25); },
          .roundings = static_cast<double>(length + headWidth + 8),
          .magnitude = 8};
}

std::vector<OpRow> dsc::optable::attentionRows() {
  OpRow attention{"ds.attention", {}}, grad{"ds.attention_grad", {}},
      cached{"ds.cached_attention", {}};
  cached.cases = {cachedCase(1, 1, 1, 1, 1, 1), cachedCase(2, 1, 3, 37, 2, 5),
                  cachedCase(3, 1, 3, 130, 3, 33), cachedCase(1, 7, 2, 9, 2, 16),
                  cachedCase(2, 13, 2, 67, 1, 70)};
  struct Sizes {
    int64_t batch, length, heads, headWidth;
    double scale;
  };
  for (const Sizes &s : {Sizes{1, 1, 1, 1, 1}, Sizes{2, 7, 3, 5, 0.5}, Sizes{1, 17, 2, 16, 0.25},
                         Sizes{3, 37, 5, 12, 0.28867513459481287}, Sizes{1, 131, 1, 7, 0.4},
                         Sizes{2, 65, 2, 33, 0.17}}) {
    auto n = [](int64_t value) { return std::to_string(value); };
    int64_t width = s.heads * s.headWidth;
    std::string base = n(s.batch) + "x" + n(s.length) + "x";
    std::string qkv = base + n(3 * width) + "xf32", out = base + n(width) + "xf32";
    std::string lse = n(s.batch) + "x" + n(s.heads) + "x" + n(s.length) + "xf32";
    std::string label = base + n(s.heads) + "x" + n(s.headWidth);
    std::string attributes =
        " {heads = " + n(s.heads) + " : i64, scale = " + std::to_string(s.scale) + " : f64} : ";
    double scale = std::stod(std::to_string(s.scale));
    int64_t heads = s.heads;
    double length = static_cast<double>(s.length), d = static_cast<double>(s.headWidth);
    Fill positions{.exactly = packedPositions(s.batch, s.length)};
    std::string positionIds = n(s.batch) + "x" + n(s.length) + "xi32";
    Fill key{.exactly = {3000000001.0, 7, 4294967295.0, 12, 2166136261.0}};
    for (double p : {0.1, 1.0}) {
      std::string drop = " {heads = " + n(s.heads) + " : i64, scale = " + std::to_string(s.scale) +
                         " : f64, dropout = " + std::to_string(p) + " : f64} : ";
      std::string name = label + "_p" + n(static_cast<int64_t>(10 * p));
      attention.cases.push_back(
          {.label = name,
           .operands = {qkv, "5xf64"},
           .results = {out, lse},
           .text = "ds.attention $0, $1" + drop + "(#0, #1) -> (@0, @1)",
           .fills = {{0, {.low = -2, .high = 2}}, {1, key}},
           .expected = [=](const Tensors &in) { return attentionExpected(in, heads, scale, p); },
           .roundings = length + d * scale * 4 + 8,
           .magnitude = 8});
      grad.cases.push_back(
          {.label = name,
           .operands = {out, qkv, out, lse, "5xf64"},
           .results = {qkv},
           .text = "ds.attention_grad $0, $1, $2, $3, $4" + drop + "(#0, #1, #2, #3, #4) -> @0",
           .fills = {{1, {.low = -1, .high = 1}},
                     {3, {.low = std::log(length) + 1, .high = std::log(length) + 2}},
                     {4, key}},
           .expected =
               [=](const Tensors &in) { return attentionGradExpected(in, heads, scale, p); },
           .roundings = length + 2 * d + 8});
    }
    attention.cases.push_back(
        {.label = label + "_packed",
         .operands = {qkv, positionIds},
         .results = {out, lse},
         .text = "ds.attention $0 within $1" + attributes + "(#0) within #1 -> (@0, @1)",
         .fills = {{0, {.low = -2, .high = 2}}, {1, positions}},
         .expected =
             [=](const Tensors &in) { return attentionExpected(in, heads, scale, 0, true); },
         .roundings = length + d * scale * 4 + 8,
         .magnitude = 8});
    std::string dropPacked = " {heads = " + n(s.heads) +
                             " : i64, scale = " + std::to_string(s.scale) +
                             " : f64, dropout = 0.25 : f64} : ";
    grad.cases.push_back(
        {.label = label + "_packed_p",
         .operands = {out, qkv, out, lse, "5xf64", positionIds},
         .results = {qkv},
         .text = "ds.attention_grad $0, $1, $2, $3, $4 within $5" + dropPacked +
                 "(#0, #1, #2, #3, #4) within #5 -> @0",
         .fills = {{1, {.low = -1, .high = 1}},
                   {3, {.low = std::log(length) + 1, .high = std::log(length) + 2}},
                   {4, key},
                   {5, positions}},
         .expected =
             [=](const Tensors &in) { return attentionGradExpected(in, heads, scale, 0.25, true); },
         .roundings = length + 2 * d + 8});
    grad.cases.push_back(
        {.label = label + "_packed",
         .operands = {out, qkv, out, lse, positionIds},
         .results = {qkv},
         .text = "ds.attention_grad $0, $1, $2, $3 within $4" + attributes +
                 "(#0, #1, #2, #3) within #4 -> @0",
         .fills = {{1, {.low = -1, .high = 1}},
                   {3, {.low = std::log(length) + 1, .high = std::log(length) + 2}},
                   {4, positions}},
         .expected =
             [=](const Tensors &in) { return attentionGradExpected(in, heads, scale, 0, true); },
         .roundings = length + 2 * d + 8});
    attention.cases.push_back(
        {.label = label,
         .operands = {qkv},
         .results = {out, lse},
         .text = "ds.attention $0" + attributes + "(#0) -> (@0, @1)",
         .fills = {{0, {.low = -2, .high = 2}}},
         .expected = [=](const Tensors &in) { return attentionExpected(in, heads, scale, 0); },
         .roundings = length + d * scale * 4 + 8,
         .magnitude = 8});
    // lse as it comes out for such scores, so that probabilities stay below about 1.
    grad.cases.push_back(
        {.label = label,
         .operands = {out, qkv, out, lse},
         .results = {qkv},
         .text = "ds.attention_grad $0, $1, $2, $3" + attributes + "(#0, #1, #2, #3) -> @0",
         .fills = {{1, {.low = -1, .high = 1}},
                   {3, {.low = std::log(length) + 1, .high = std::log(length) + 2}}},
         .expected = [=](const Tensors &in) { return attentionGradExpected(in, heads, scale, 0); },
         .roundings = length + 2 * d + 8});
  }
  return {attention, grad, cached};
}
