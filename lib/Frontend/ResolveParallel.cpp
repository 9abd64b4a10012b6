//===- ResolveParallel.cpp - `parallel` and ZeRO ---------------------------===//
// Values here; what they demand of each other is in CheckLayout.cpp.
#include "ResolverAccess.h"

using namespace dsc;
using Kind = JsonNode::Kind;

void Resolver::resolveParallel() {
  ParallelSpec &p = spec.parallel;
  tensor = integer("parallel.tensor");
  context = integer("parallel.context");
  p.layout.tensor = tensor.value;
  p.layout.context = context.value;
  resolvePipeline();
  p.sequenceParallel = boolean("parallel.sequence_parallel").value;
  p.zeroStage = integer("train.zero_optimization.stage").value;
  resolveExchange();
  checkLayout();
}

/// What gradients travel as, in which portions, and who has how many.
void Resolver::resolveExchange() {
  static const std::pair<std::string_view, GradientCompression> compressions[] = {
      {"none", GradientCompression::None},
      {"half", GradientCompression::Half},
      {"onebit", GradientCompression::OneBit}};
  ParallelSpec &p = spec.parallel;
  const JsonNode *bucket = find("parallel.bucket_bytes");
  if (bucket && !bucket->is(Kind::Invalid))
    p.bucketBytes = bytes(*bucket, "parallel.bucket_bytes");
  record("parallel.bucket_bytes", p.bucketBytes, bucket ? shortPlace(bucket->where) : "default");
  Resolved<std::string> compression = text("parallel.compression");
  for (auto [name, value] : compressions)
    if (compression.value == name)
      p.compression = value;
  p.localSgd = integer("parallel.local_sgd").value;
  const JsonNode *speeds = find("parallel.device_speed");
  if (!speeds || !speeds->is(Kind::List) || speeds->items.empty())
    return;
  for (const JsonNode &item : speeds->items)
    p.deviceSpeed.push_back(item.number);
  record("parallel.device_speed", p.deviceSpeed, shortPlace(speeds->where));
  auto count = static_cast<int64_t>(p.deviceSpeed.size());
  if (count != data.value && !data.broken && !batch.broken)
    errors
        .error(speeds->where, "'parallel.device_speed' has " + std::to_string(count) +
                                  (count == 1 ? " item" : " items") +
                                  ", expected one for each of " + shown("parallel.data", data))
        .fix("write " + std::to_string(data.value) + " numbers");
}
