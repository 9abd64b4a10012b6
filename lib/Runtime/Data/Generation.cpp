//===- Generation.cpp - sampling and the byte vocabulary ----------------------===//
#include "dsc/Runtime/Data/Generation.h"
#include "dsc/Runtime/Data/TokenFile.h"
#include "dsc/Support/Philox.h"
#include "dsc/Support/PortableMath.h"
#include <algorithm>
#include <cmath>
#include <numeric>

using namespace dsc;

Status Sampler::readLogits(std::span<const float> logits, std::span<const int32_t> seen) {
  if (static_cast<int64_t>(logits.size()) < vocabulary || vocabulary < 1)
    return Status(ErrorCode::Internal, "sampling needs " + std::to_string(vocabulary) +
                                           " logits, got " + std::to_string(logits.size()));
  auto count = static_cast<size_t>(vocabulary);
  values.assign(logits.begin(), logits.begin() + vocabulary);
  for (size_t i = 0; i < count; ++i)
    if (std::isnan(values[i]) || (std::isinf(values[i]) && values[i] > 0))
      return Status(ErrorCode::Numeric,
                    "logit " + std::to_string(i) + " is not finite: the weights are broken");
  if (options.repetitionPenalty == 1)
    return {};
  std::vector<bool> met(count);
  for (int32_t id : seen)
    if (id >= 0 && id < vocabulary && !met[static_cast<size_t>(id)]) {
      met[static_cast<size_t>(id)] = true;
      double &value = values[static_cast<size_t>(id)];
      value = value > 0 ? value / options.repetitionPenalty : value * options.repetitionPenalty;
    }
  return {};
}

/// Weights of what neither top k nor top p keeps become 0.
void Sampler::keepBest(size_t best) {
  bool limited = options.topK > 0 && options.topK < vocabulary;
  if (!limited && options.topP >= 1)
    return;
  order.resize(weights.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    double x = weights[static_cast<size_t>(a)], y = weights[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  });
  size_t kept = limited ? static_cast<size_t>(options.topK) : order.size();
  double sum = 0, running = 0;
  for (size_t i = 0; i < kept; ++i)
    sum += weights[static_cast<size_t>(order[i])];
  for (size_t i = 0; i < kept && options.topP < 1; ++i) {
    running += weights[static_cast<size_t>(order[i])];
    if (running >= options.topP * sum)
      kept = i + 1;
  }
  double greatest = weights[best];
  for (size_t i = kept; i < order.size(); ++i)
    weights[static_cast<size_t>(order[i])] = 0;
  weights[best] = greatest;
}

StatusOr<int32_t> Sampler::draw(std::span<const float> logits, std::span<const int32_t> seen) {
  if (Status status = readLogits(logits, seen); !status.ok())
    return status;
  size_t count = values.size();
  auto best = static_cast<size_t>(std::max_element(values.begin(), values.end()) - values.begin());
  if (std::isinf(values[best]))
    return Status(ErrorCode::Numeric, "all logits are -inf: the weights are broken");
  uint64_t draw = draws++;
  if (options.temperature == 0)
    return static_cast<int32_t>(best);
  weights.resize(count);
  for (size_t i = 0; i < count; ++i)
    weights[i] = portableExp((values[i] - values[best]) / options.temperature);
  keepBest(best);
  double sum = 0;
  for (double weight : weights)
    sum += weight;
  double target = openUniform(philox64(options.seed, draw, 0x73616d706c65)) * sum;
  size_t last = best; // rounding may leave the running sum just below the target
  double running = 0;
  for (size_t i = 0; i < count; ++i) {
    if (weights[i] == 0)
      continue;
    running += weights[i];
    last = i;
    if (target < running)
      break;
  }
  return static_cast<int32_t>(last);
}

std::vector<std::string> dsc::readPrompts(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf"))
    text.remove_prefix(3);
  std::vector<std::string> prompts;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    if (!line.empty())
      prompts.emplace_back(line);
  }
  return prompts;
}

static constexpr std::string_view replacement = "\xef\xbf\xbd";

/// Bytes of the character that starts `text`: its length; 0 when it is incomplete; minus the length
/// of the maximal part that cannot become one.
static int characterLength(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned lead = byte(0);
  if (lead < 0x80)
    return 1;
  if (lead < 0xc2 || lead > 0xf4)
    return -1;
  int length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  // The second byte's range keeps out overlong forms, surrogates and what lies above U+10FFFF.
  unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  unsigned high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  for (int i = 1; i < length; ++i) {
    if (static_cast<size_t>(i) == text.size())
      return 0;
    if (byte(i) < low || byte(i) > high)
      return -i;
    low = 0x80, high = 0xbf;
  }
  return length;
}

std::string Utf8Stream::push(std::string_view bytes) {
  pending += bytes;
  std::string out;
  std::string_view rest = pending;
  while (!rest.empty()) {
    int length = characterLength(rest);
    if (length == 0)
      break;
    out += length > 0 ? rest.substr(0, static_cast<size_t>(length)) : replacement;
    rest.remove_prefix(static_cast<size_t>(length > 0 ? length : -length));
  }
  pending = std::string(rest);
  return out;
}

std::string Utf8Stream::finish() {
  std::string out(pending.empty() ? std::string_view() : replacement);
  pending.clear();
  return out;
}

std::vector<int32_t> dsc::encodeBytes(std::string_view text) {
  std::vector<int32_t> ids;
  for (unsigned char byte : text)
    ids.push_back(byte);
  return ids;
}

std::string dsc::tokenBytes(int32_t id) {
  return id >= 0 && id < 256 ? std::string(1, static_cast<char>(id)) : std::string();
}
