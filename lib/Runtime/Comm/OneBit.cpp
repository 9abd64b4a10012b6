//===- OneBit.cpp - sums of signs, with error feedback ----------------------------------------===//
#include "dsc/Runtime/Comm/OneBit.h"
#include "Sum.h"
#include "Tags.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace dsc;
using Request = Communicator::Request;

static constexpr uint64_t scaleBytes = sizeof(float), scaleBlock = 1024;

uint64_t onebit::encodedBytes(uint64_t elements) { return scaleBytes + (elements + 7) / 8; }

void onebit::encode(std::span<const float> values, std::span<std::byte> message) {
  double sum = 0;
  for (size_t begin = 0; begin < values.size(); begin += scaleBlock) {
    double block = 0;
    for (float value : values.subspan(begin, std::min(scaleBlock, values.size() - begin)))
      block += std::fabs(static_cast<double>(value));
    sum += block;
  }
  float scale = values.empty() ? 0 : static_cast<float>(sum / static_cast<double>(values.size()));
  std::memcpy(message.data(), &scale, scaleBytes);
  std::byte *bits = message.data() + scaleBytes;
  for (size_t begin = 0; begin < values.size(); begin += 8) {
    unsigned byte = 0;
    for (size_t i = 0; i < std::min<size_t>(8, values.size() - begin); ++i)
      byte |= unsigned(values[begin + i] < 0) << i; // neither zero is negative, nor NaN
    bits[begin / 8] = static_cast<std::byte>(byte);
  }
}

static float scaleOf(std::span<const std::byte> message) {
  float scale;
  std::memcpy(&scale, message.data(), scaleBytes);
  return scale;
}

static bool negative(std::span<const std::byte> message, size_t i) {
  return (std::to_integer<unsigned>(message[scaleBytes + i / 8]) >> i % 8) & 1;
}

void onebit::decode(std::span<const std::byte> message, std::span<float> values) {
  float scale = scaleOf(message);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = negative(message, i) ? -scale : scale;
}

void onebit::residual(std::span<const float> values, std::span<const std::byte> message,
                      std::span<float> residual) {
  float scale = scaleOf(message);
  for (size_t i = 0; i < values.size(); ++i)
    residual[i] = values[i] - (negative(message, i) ? -scale : scale);
}

Share onebit::ownShare(uint64_t elements, uint64_t index, uint64_t ranks) {
  return shareOf(elements, 8, index, ranks);
}

Traffic onebit::trafficOf(uint64_t elements, uint64_t index, uint64_t ranks) {
  uint64_t mine = encodedBytes(ownShare(elements, index, ranks).size()), others = 0;
  for (uint64_t k = 0; k < ranks; ++k)
    others += k == index ? 0 : encodedBytes(ownShare(elements, k, ranks).size());
  uint64_t bytes = others + (ranks - 1) * mine;
  return {bytes, bytes};
}

namespace {
/// A round of messages, one to and one from each other rank.
struct Round {
  Communicator &communicator;
  std::span<const int> group;
  uint64_t index, tag;
  std::vector<Request> &requests;

  template <typename Out, typename In> Status run(Out out, In in) const {
    uint64_t n = group.size();
    requests.assign(2 * n, {});
    for (uint64_t k = 0; k < n; ++k)
      if (k != index) {
        std::span<std::byte> to = in(k);
        auto started = communicator.receive(group[k], tag, to.data(), to.size());
        if (!started)
          return started.status();
        requests[k] = *started;
      }
    for (uint64_t k = 0; k < n; ++k)
      if (k != index) {
        std::span<const std::byte> from = out(k);
        auto started = communicator.send(group[k], tag, from.data(), from.size());
        if (!started)
          return started.status();
        requests[n + k] = *started;
      }
    for (Request &request : requests)
      if (request.pending())
        if (Status status = communicator.wait(request); !status)
          return status;
    return {};
  }
};
} // namespace

Status onebit::allReduce(Communicator &communicator, std::span<const int> group,
                         const Operation &operation, std::span<float> values,
                         std::span<float> residual, std::span<float> ownResidual,
                         Scratch &scratch) {
  auto self = std::find(group.begin(), group.end(), communicator.rank());
  if (self == group.end())
    return {ErrorCode::Internal, "rank " + std::to_string(communicator.rank()) +
                                     " is not in the group of " + describe(operation)};
  uint64_t n = group.size(), index = static_cast<uint64_t>(self - group.begin());
  auto shareOfRank = [&](uint64_t k) { return ownShare(values.size(), k, n); };
  Share own = shareOfRank(index);
  if (residual.size() != values.size() || ownResidual.size() != own.size())
    return {ErrorCode::Internal, "residuals of " + describe(operation) + " have other lengths"};

  // Decoded terms of this rank's share, then messages out and in, each on lines of their own.
  auto lines = [](uint64_t bytes) { return (bytes + 63) / 64 * 64; };
  uint64_t termBytes = lines(own.size() * sizeof(float));
  uint64_t messageBytes = lines(encodedBytes(largestShare(values.size(), 8, n)));
  std::byte *terms = scratch.bytes(n * termBytes + 2 * n * messageBytes);
  std::byte *messages = terms + n * termBytes;
  auto message = [&](bool in, uint64_t k, uint64_t share) {
    return std::span(messages + (in * n + k) * messageBytes, encodedBytes(share));
  };

  communicator.enter(operation);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] += residual[i];
  for (uint64_t k = 0; k < n; ++k) {
    Share share = shareOfRank(k);
    auto part = values.subspan(share.begin, share.size());
    encode(part, message(false, k, share.size()));
    onebit::residual(part, message(false, k, share.size()),
                     residual.subspan(share.begin, share.size()));
  }
  Round round{communicator, group, index, tag::collective(operation.id), scratch.requests()};
  Status status = round.run([&](uint64_t k) { return message(false, k, shareOfRank(k).size()); },
                            [&](uint64_t k) { return message(true, k, own.size()); });
  if (!status)
    return status;

  auto &pointers = scratch.pointers();
  pointers.resize(n);
  for (uint64_t k = 0; k < n; ++k) {
    pointers[k] = terms + k * termBytes;
    decode(message(k != index, k, own.size()),
           {reinterpret_cast<float *>(pointers[k]), own.size()});
  }
  auto sum = values.subspan(own.begin, own.size());
  auto *target = reinterpret_cast<std::byte *>(sum.data());
  sumTree(plan::DType::F32, pointers, 1, {&target, 1}, own.size());
  for (size_t i = 0; i < sum.size(); ++i)
    sum[i] += ownResidual[i];
  auto result = message(false, index, own.size());
  encode(sum, result);
  onebit::residual(sum, result, ownResidual);
  status = round.run([&](uint64_t) { return result; },
                     [&](uint64_t k) { return message(true, k, shareOfRank(k).size()); });
  if (!status)
    return status;
  for (uint64_t k = 0; k < n; ++k) {
    Share share = shareOfRank(k);
    decode(message(k != index, k, share.size()), values.subspan(share.begin, share.size()));
  }
  communicator.leave();
  return {};
}
