//===- Evaluate.cpp - the loss over validation data ------------------------===//
#include "dsc/Runtime/Core/Interrupt.h"
#include "dsc/Runtime/Core/Trainer.h"
#include "dsc/Runtime/Monitor/Evaluation.h"
#include "dsc/Support/Numbers.h"
#include <cmath>
#include <cstring>

using namespace dsc;
using namespace dsc::plan;

static double scalarAt(const std::byte *data) {
  double value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

namespace {

/// Where program `evaluate` takes batches and leaves results.
struct Ports {
  size_t program = 0;
  int32_t *tokens = nullptr, *labels = nullptr, *positions = nullptr;
  const std::byte *loss = nullptr, *count = nullptr;
};

} // namespace

static StatusOr<Ports> openPorts(Executor &executor, const DataConfig &config) {
  Ports ports;
  const char *name = "evaluate";
  auto program = executor.program(name);
  if (!program.ok())
    return program.status();
  ports.program = *program;
  auto input = [&](const char *buffer, int32_t *&out) -> Status {
    auto found = executor.find(*program, buffer, Kind::Input, DType::I32);
    if (!found.ok())
      return found.status();
    if ((*found)->shape != std::vector<int64_t>{config.microBatch, config.seq})
      return damagedError(std::string("program '") + name + "': input '" + buffer +
                          "' does not have the shape [" + std::to_string(config.microBatch) + ", " +
                          std::to_string(config.seq) +
                          "] of train_micro_batch_size_per_gpu and seq_length");
    out = reinterpret_cast<int32_t *>(executor.data(**found));
    return {};
  };
  auto output = [&](const char *buffer, const std::byte *&out) -> Status {
    auto found = executor.find(*program, buffer, Kind::Output, DType::F64);
    if (!found.ok())
      return found.status();
    out = executor.data(**found);
    return {};
  };
  for (Status status : {input("tokens", ports.tokens), input("labels", ports.labels),
                        output("loss", ports.loss), output("tokens", ports.count)})
    if (!status.ok())
      return status;
  if (config.packDocuments)
    if (Status status = input("position_ids", ports.positions); !status.ok())
      return status;
  return ports;
}

StatusOr<EvaluationResult> dsc::evaluate(Session &session, EvaluationStream &stream, int64_t limit,
                                         const std::function<void()> &between) {
  Executor &executor = session.executor();
  auto config = session.dataConfig();
  if (!config.ok())
    return config.status();
  auto ports = openPorts(executor, *config);
  if (!ports.ok())
    return ports.status();
  EvaluationResult result;
  EvaluationSum sum(config->validationIsBytes());
  stream.rewind();
  while (!limit || result.batches < limit) {
    int64_t counted = 0;
    auto more = stream.next(ports->tokens, ports->labels, counted, ports->positions);
    if (!more.ok())
      return more.status();
    if (!*more)
      break;
    ++result.batches;
    if (counted == 0)
      continue;
    sum.see({ports->labels, static_cast<size_t>(config->microBatch * config->seq)});
    executor.run(ports->program);
    sum.add(scalarAt(ports->loss), counted);
    between();
    if (interruptSignal()) {
      result.complete = false;
      break;
    }
  }
  result.loss = sum.loss();
  result.tokens = sum.tokens();
  result.bitsPerByte = sum.bitsPerByte();
  return result;
}

Status dsc::evaluateOnly(Session &session) {
  auto config = session.dataConfig();
  if (!config.ok())
    return config.status();
  if (Status status = session.checkFiles(false); !status.ok())
    return status;
  auto stream = EvaluationStream::open(*config);
  if (!stream.ok())
    return stream.status();
  if (!*stream)
    return inputError("the plan has no validation data: give data.validation or "
                      "data.validation_fraction and compile again");
  if (Status status = session.finalWeights(); !status.ok())
    return status;
  auto result = evaluate(session, **stream, session.integer("evaluation.batches"));
  if (!result.ok())
    return result.status();
  if (!result->complete)
    return {};
  if (!result->tokens)
    return inputError("the validation data has no token that counts");
  if (!std::isfinite(result->loss))
    return {ErrorCode::Numeric, "the loss is " + printShortest(result->loss)};
  std::string bits;
  if (result->bitsPerByte)
    bits = ", " + printFixed(*result->bitsPerByte, 4) + " bits a byte";
  std::printf("loss %s nats a token, perplexity %s%s, over %s tokens in %s batches\n",
              print17(result->loss).c_str(), printFixed(perplexityOf(result->loss), 3).c_str(),
              bits.c_str(), printGrouped(result->tokens).c_str(),
              printGrouped(result->batches).c_str());
  return {};
}
