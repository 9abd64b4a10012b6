//===- Generation.cpp - sampling and the byte vocabulary ----------------------===//
#include "dsc/Runtime/Data/Generation.h"
#include "dsc/Runtime/Data/TokenFile.h"
#include "dsc/Support/Philox.h"
#include "dsc/Support/PortableMath.h"
#include <cmath>

using namespace dsc;

StatusOr<int32_t> Sampler::draw(std::span<const float> logits) {
  if (static_cast<int64_t>(logits.size()) < vocabulary || vocabulary < 1)
    return Status(ErrorCode::Internal, "sampling needs " + std::to_string(vocabulary) +
                                           " logits, got " + std::to_string(logits.size()));
  auto count = static_cast<size_t>(vocabulary);
  size_t best = 0;
  for (size_t i = 0; i < count; ++i) {
    if (std::isnan(logits[i]) || (std::isinf(logits[i]) && logits[i] > 0))
      return Status(ErrorCode::Numeric,
                    "logit " + std::to_string(i) + " is not finite: the weights are broken");
    if (logits[i] > logits[best])
      best = i;
  }
  if (std::isinf(logits[best]))
    return Status(ErrorCode::Numeric, "all logits are -inf: the weights are broken");
  uint64_t draw = draws++;
  if (temperature == 0)
    return static_cast<int32_t>(best);
  weights.resize(count);
  double sum = 0;
  for (size_t i = 0; i < count; ++i)
    sum += weights[i] = portableExp(
        (static_cast<double>(logits[i]) - static_cast<double>(logits[best])) / temperature);
  double target = openUniform(philox64(seed, draw, 0x73616d706c65)) * sum;
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
