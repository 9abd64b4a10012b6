//===- ResolveBatch.cpp - sequences of an update, dealt out ----------------===//
// train_batch_size = train_micro_batch_size_per_gpu × gradient_accumulation_steps × parallel.data.
// What is open follows from the rest; each inferred value tells from what.
#include "NearestNumbers.h"
#include "ResolverAccess.h"
#include <algorithm>

using namespace dsc;

static constexpr const char *batchPath = "train.train_batch_size";
static constexpr const char *microPath = "train.train_micro_batch_size_per_gpu";
static constexpr const char *accumulationPath = "train.gradient_accumulation_steps";
static constexpr const char *dataPath = "parallel.data";

void Resolver::resolveBatch() {
  batch = integer(batchPath);
  micro = integer(microPath);
  accumulation = integer(accumulationPath);
  data = integer(dataPath);
  if (batch.broken || micro.broken || accumulation.broken || data.broken || !inferBatch()) {
    batch.broken = true;
    spec.parallel.layout.data = data.value;
    return;
  }
  spec.train.batch = batch.value;
  spec.train.microBatch = micro.value;
  spec.parallel.layout.data = data.value;
  checkBatch();
}

/// Fills in what is open; false where nothing says how large a batch is.
bool Resolver::inferBatch() {
  bool fromReplay = !batch.given && replayKnown;
  if (fromReplay)
    infer(batch, batchPath, replayBatch, replayName);
  const JsonNode *dataNode = written(dataPath);
  bool isOpen = dataNode && !data.given && dataNode->is(JsonNode::Kind::String); // "auto"
  if (isOpen && (batch.given || fromReplay) && micro.given && accumulation.given)
    infer(data, dataPath, std::max<int64_t>(1, batch.value / (micro.value * accumulation.value)),
          "train_batch_size ÷ (train_micro_batch_size_per_gpu × gradient_accumulation_steps)");
  else if (isOpen)
    record(dataPath, data.value, "inferred: the batch sizes leave it open");
  // On one rank, messages do not speak of ranks.
  bool isDealt = data.value > 1;
  auto quotient = [&](const char *by) {
    return std::string("train_batch_size ÷ ") +
           (isDealt ? "(" + std::string(by) + " × parallel.data)" : by);
  };
  if (!batch.given && !fromReplay && micro.given) {
    infer(batch, batchPath,
          micro.value * (accumulation.given ? accumulation.value : 1) * data.value,
          std::string("train_micro_batch_size_per_gpu × gradient_accumulation_steps") +
              (isDealt ? " × parallel.data" : ""));
  } else if (!batch.given && !fromReplay) {
    if (options.purpose != Purpose::Train || (hasReplay && !errors.empty()))
      return false;
    // Whoever wrote "auto" has the key: to add it would be a duplicate.
    if (const JsonNode *node = written(batchPath))
      errors
          .error(node->where,
                 "'train.train_batch_size' is \"auto\", but nothing else says what it should be")
          .fix("write a whole number, such as 8");
    else
      errors.error(place("train"), "missing key 'train.train_batch_size': a whole number")
          .fix("add \"train_batch_size\": 8");
    return false;
  }
  if (!accumulation.given) {
    if (!micro.given)
      infer(micro, microPath, std::max<int64_t>(1, batch.value / data.value),
            isDealt ? "train_batch_size ÷ parallel.data" : "train_batch_size");
    infer(accumulation, accumulationPath,
          std::max<int64_t>(1, batch.value / (micro.value * data.value)),
          quotient("train_micro_batch_size_per_gpu"));
  } else if (!micro.given) {
    infer(micro, microPath, std::max<int64_t>(1, batch.value / (accumulation.value * data.value)),
          quotient("gradient_accumulation_steps"));
  }
  return true;
}

/// "train_batch_size 6 and 9, or gradient_accumulation_steps 2 and 4": what to change alone.
/// `isOpen`: a factor beside the `given` ones is inferred; `isFixed`: the batch cannot change.
static std::string nearestBatches(int64_t batch,
                                  const std::vector<std::pair<std::string, int64_t>> &given,
                                  bool isOpen, bool isFixed) {
  int64_t product = 1;
  for (const auto &[name, value] : given)
    product *= value;
  std::vector<std::string> ways;
  auto add = [&](const std::string &name, const std::string &numbers) {
    if (!numbers.empty())
      ways.push_back(name + " " + numbers);
  };
  constexpr int64_t most = 1 << 20;
  if (!isFixed)
    add("train_batch_size", isOpen            ? nearestMultiples(batch, product, most)
                            : product <= most ? std::to_string(product)
                                              : "");
  for (const auto &[name, value] : given) {
    int64_t others = product / value;
    if (batch % others == 0)
      add(name, isOpen ? nearestDivisors(value, batch / others) : std::to_string(batch / others));
  }
  std::string text;
  for (size_t i = 0; i < ways.size(); ++i)
    text += (i == 0 ? "" : i + 1 == ways.size() ? ", or " : ", ") + ways[i];
  return text;
}

void Resolver::checkBatch() {
  __int128 product = static_cast<__int128>(micro.value) * accumulation.value * data.value;
  if (product != batch.value) {
    bool all = batch.given && micro.given && accumulation.given;
    std::string ranks = data.value == 1 ? "1 rank" : std::to_string(data.value) + " ranks";
    std::vector<std::pair<std::string, int64_t>> given;
    bool isDealt = data.value > 1 || data.given;
    if (micro.given)
      given.emplace_back("train_micro_batch_size_per_gpu", micro.value);
    if (accumulation.given)
      given.emplace_back("gradient_accumulation_steps", accumulation.value);
    if (data.given && data.value > 1)
      given.emplace_back("parallel.data", data.value);
    bool dataOpen = data.origin.rfind("inferred", 0) == 0;
    Diagnostic &d = errors.error(
        batch.where, "batch arithmetic does not hold: train_batch_size " +
                         std::to_string(batch.value) + " is not train_micro_batch_size_per_gpu " +
                         std::to_string(micro.value) + " × gradient_accumulation_steps " +
                         std::to_string(accumulation.value) + " × " + ranks + " = " +
                         toString(product));
    d.note(shown(batchPath, batch) + ", " + shown(microPath, micro) + ", " +
           shown(accumulationPath, accumulation) + (isDealt ? ", " + shown(dataPath, data) : ""));
    if (all && !dataOpen)
      d.fix("leave one of the three out, or write \"auto\": it is inferred");
    std::string nearest = nearestBatches(
        batch.value, given, !micro.given || !accumulation.given || dataOpen, replayKnown);
    if (!nearest.empty())
      d.fix("the nearest: " + nearest);
    batch.broken = true;
    return;
  }
  if (replayKnown && batch.value != replayBatch) {
    errors
        .error(batch.where, "'train.train_batch_size' is " + std::to_string(batch.value) +
                                ", but " + replayName + " has batches of " +
                                std::to_string(replayBatch))
        .note(shown(batchPath, batch))
        .fix("--set train.train_batch_size=" + std::to_string(replayBatch));
    batch.broken = true;
  }
}
