//===- Attention.cpp - float64 reference of Ops/Attention.td ---------------===//
// Row by row as the formulas stand: a row of scores is kept, never a matrix of them.
#include "Functions.h"
#include <algorithm>
#include <cmath>

using namespace dsc;
using namespace dsc::reference;

namespace {
/// Where query, key and value of one sample and head lie in a packed tensor [b, t, 3 d].
struct Packed {
  int64_t length, width, heads, headWidth;
  Packed(const Tensor &qkv, int64_t heads)
      : length(qkv.shape[1]), width(qkv.shape[2] / 3), heads(heads), headWidth(width / heads) {}
  /// Offset of part 0 (query), 1 (key) or 2 (value) at a position.
  int64_t operator()(int64_t sample, int64_t position, int64_t part, int64_t head) const {
    return ((sample * length + position) * 3 + part) * width + head * headWidth;
  }
  /// Offset in an unpacked tensor [b, t, d].
  int64_t plain(int64_t sample, int64_t position, int64_t head) const {
    return (sample * length + position) * width + head * headWidth;
  }
};
} // namespace

/// The mask of one attention, by the formula of its elements.
namespace {
struct Mask {
  const Tensor *key;
  double p;
  int64_t length;
  double operator()(int64_t sample, int64_t head, int64_t i, int64_t j) const {
    int64_t row = (length + 3) / 4 * 4;
    return key ? dropoutFactor(*key, p, sample, (head * length + i) * row + j) : 1;
  }
};
} // namespace

/// The keys that a query looks at, [first, i]: none where first is i + 1.
namespace {
struct Documents {
  const Tensor *positionIds;
  int64_t length;
  int64_t first(int64_t sample, int64_t i) const {
    return positionIds ? i - static_cast<int64_t>((*positionIds)[sample * length + i]) : 0;
  }
};
} // namespace

static double dot(const double *a, const double *b, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += a[i] * b[i];
  return sum;
}

void reference::evaluate(ds::AttentionOp op, Evaluation &at) {
  const Tensor &qkv = at(op.getQkv());
  Tensor &result = at.result(op.getResult()), &lse = at.result(op.getLse());
  Packed packed(qkv, op.getHeads());
  double scale = op.getScale().convertToDouble();
  Mask mask{at.optional(op.getKey()), op.getDropout().convertToDouble(), packed.length};
  Documents documents{at.optional(op.getPositionIds()), packed.length};
  const double *data = qkv.values.data();
  std::vector<double> scores(packed.length);
  for (int64_t b = 0; b < qkv.shape[0]; ++b)
    for (int64_t h = 0; h < packed.heads; ++h)
      for (int64_t i = 0; i < packed.length; ++i) {
        const double *query = data + packed(b, i, 0, h);
        int64_t first = documents.first(b, i);
        if (first > i) // padding: zeros
          continue;
        for (int64_t j = first; j <= i; ++j)
          scores[j] = scale * dot(query, data + packed(b, j, 1, h), packed.headWidth);
        double greatest = *std::max_element(scores.begin() + first, scores.begin() + i + 1);
        double sum = 0;
        for (int64_t j = first; j <= i; ++j)
          sum += std::exp(scores[j] - greatest);
        double logSum = greatest + std::log(sum);
        lse[(b * packed.heads + h) * packed.length + i] = logSum;
        double *out = result.values.data() + packed.plain(b, i, h);
        for (int64_t j = first; j <= i; ++j) {
          double probability = std::exp(scores[j] - logSum) * mask(b, h, i, j);
          const double *value = data + packed(b, j, 2, h);
          for (int64_t c = 0; c < packed.headWidth; ++c)
            out[c] += probability * value[c];
        }
      }
}

void reference::evaluate(ds::AttentionGradOp op, Evaluation &at) {
  const Tensor &gradient = at(op.getGradient()), &qkv = at(op.getQkv());
  const Tensor &output = at(op.getOutput()), &lse = at(op.getLse());
  Tensor &result = at.result(op.getResult());
  Packed packed(qkv, op.getHeads());
  double scale = op.getScale().convertToDouble();
  Mask mask{at.optional(op.getKey()), op.getDropout().convertToDouble(), packed.length};
  Documents documents{at.optional(op.getPositionIds()), packed.length};
  int64_t d = packed.headWidth;
  const double *data = qkv.values.data();
  double *out = result.values.data();
  for (int64_t b = 0; b < qkv.shape[0]; ++b)
    for (int64_t h = 0; h < packed.heads; ++h)
      for (int64_t i = 0; i < packed.length; ++i) {
        const double *query = data + packed(b, i, 0, h);
        const double *dout = gradient.values.data() + packed.plain(b, i, h);
        double delta = dot(dout, output.values.data() + packed.plain(b, i, h), d);
        double logSum = lse[(b * packed.heads + h) * packed.length + i];
        double *dquery = out + packed(b, i, 0, h);
        for (int64_t j = documents.first(b, i); j <= i; ++j) {
          const double *key = data + packed(b, j, 1, h), *value = data + packed(b, j, 2, h);
          double *dkey = out + packed(b, j, 1, h), *dvalue = out + packed(b, j, 2, h);
          double probability = std::exp(scale * dot(query, key, d) - logSum);
          double kept = mask(b, h, i, j);
          double dscore = probability * (kept * dot(dout, value, d) - delta);
          for (int64_t c = 0; c < d; ++c) {
            dvalue[c] += kept * probability * dout[c];
            dquery[c] += scale * dscore * key[c];
            dkey[c] += scale * dscore * query[c];
          }
        }
      }
}

void reference::evaluate(ds::CachedAttentionOp op, Evaluation &at) {
  const Tensor &qkv = at(op.getQkv()), &positionIds = at(op.getPositionIds());
  Tensor &result = at.result(op.getResult());
  Tensor &keys = at.result(op.getNewKeys()), &values = at.result(op.getNewValues());
  keys.values = at(op.getKeys()).values;
  values.values = at(op.getValues()).values;
  Packed packed(qkv, op.getHeads());
  double scale = op.getScale().convertToDouble();
  int64_t length = keys.shape[1], d = packed.headWidth;
  const double *data = qkv.values.data();
  std::vector<double> scores(length);
  for (int64_t b = 0; b < qkv.shape[0]; ++b) {
    auto row = static_cast<int64_t>(at(op.getRows())[b]);
    auto position = [&](int64_t i) {
      return static_cast<int64_t>(positionIds[b * packed.length + i]);
    };
    for (int64_t i = 0; i < packed.length; ++i)
      if (row < 0 || row >= keys.shape[0] || position(i) >= length)
        return at.fail("position " + llvm::Twine(position(i)) + " of row " + llvm::Twine(row) +
                       " is outside caches of " + llvm::Twine(keys.shape[0]) + " rows of " +
                       llvm::Twine(length));
    for (int64_t h = 0; h < packed.heads; ++h) {
      auto place = [&](int64_t p) { return (row * length + p) * packed.width + h * d; };
      for (int64_t i = 0; i < packed.length; ++i)
        for (int64_t c = 0; c < d && position(i) >= 0; ++c) {
          keys[place(position(i)) + c] = data[packed(b, i, 1, h) + c];
          values[place(position(i)) + c] = data[packed(b, i, 2, h) + c];
        }
      for (int64_t i = 0; i < packed.length; ++i) {
        int64_t last = position(i);
        double sum = 0;
        for (int64_t j = 0; j <= last; ++j)
          scores[j] = scale * dot(data + packed(b, i, 0, h), &keys[place(j)], d);
        double greatest =
            *std::max_element(scores.begin(), scores.begin() + std::max<int64_t>(last, 0) + 1);
        for (int64_t j = 0; j <= last; ++j)
          sum += scores[j] = std::exp(scores[j] - greatest);
        for (int64_t j = 0; j <= last; ++j)
          for (int64_t c = 0; c < d; ++c)
            result[packed.plain(b, i, h) + c] += scores[j] / sum * values[place(j) + c];
      }
    }
  }
}
