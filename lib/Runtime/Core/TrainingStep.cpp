//===- TrainingStep.cpp - one window of data through the plan's schedule ---===//
#include "dsc/Runtime/Core/TrainingStep.h"
#include "dsc/Support/Fault.h"
#include <algorithm>
#include <cstring>
#include <map>

using namespace dsc;
using namespace dsc::plan;

double TrainingStep::read(const std::byte *at) {
  double value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

StatusOr<TrainingStep> TrainingStep::open(Executor &executor, const DataConfig &config) {
  TrainingStep step(executor);
  auto train = executor.program("train");
  if (!train.ok())
    return train.status();
  std::vector<Phase> schedule = executor.plan().schedule;
  if (schedule.empty())
    schedule.push_back({static_cast<uint32_t>(*train), 1});
  std::map<uint32_t, int64_t> parts; // of the batch, by program
  for (const Phase &phase : schedule)
    parts[phase.program] += static_cast<int64_t>(phase.times);
  std::map<uint32_t, int64_t> given;
  for (const Phase &phase : schedule) {
    if (Status status = step.openRow(phase, parts[phase.program], config); !status.ok())
      return status;
    step.rows.back().first = given[phase.program];
    // Stages take part in each other's micro-batches, so none leaves one out.
    step.rows.back().alone = parts[phase.program] == static_cast<int64_t>(phase.times) &&
                             executor.plan().layout.pipeline == 1;
    given[phase.program] += static_cast<int64_t>(phase.times);
  }
  if (Status status = step.openOutputs(); !status.ok())
    return status;
  step.seq = config.seq;
  step.filled = config.batch;
  size_t elements = static_cast<size_t>(config.batch * config.seq);
  step.theTokens.resize(elements);
  step.theLabels.resize(elements);
  for (const Row &row : step.rows)
    if (row.positions)
      step.thePositions.resize(elements);
  return step;
}

Status TrainingStep::openRow(const Phase &phase, int64_t parts, const DataConfig &config) {
  Row row{phase.program, static_cast<int64_t>(phase.times), 0, 0};
  const Program &program = executor->plan().programs[phase.program];
  for (auto [name, place] : {std::pair{"tokens", &row.tokens},
                             {"labels", &row.labels},
                             {"position_ids", &row.positions}}) {
    int64_t index = findBuffer(program, name);
    if (index < 0)
      continue;
    const Buffer &buffer = program.buffers[static_cast<size_t>(index)];
    if (buffer.kind != Kind::Input)
      continue;
    bool fits = buffer.dtype == DType::I32 && buffer.shape.size() == 2 &&
                buffer.shape[1] == config.seq && buffer.shape[0] <= config.batch / parts &&
                buffer.shape[0] * parts == config.batch;
    if (!fits)
      return damagedError(
          "program '" + program.name + "', which a step runs " + std::to_string(parts) +
          " times: input '" + name + "' does not take the [" + std::to_string(config.batch) + ", " +
          std::to_string(config.seq) + "] of train_batch_size and seq_length in equal parts");
    row.elements = buffer.shape[0] * buffer.shape[1];
    *place = reinterpret_cast<int32_t *>(executor->data(buffer));
  }
  rows.push_back(row);
  return {};
}

Status TrainingStep::openOutputs() {
  for (auto [name, place] : {std::pair{"loss", &lossAt},
                             {"tokens", &countAt},
                             {"grad_norm", &normAt},
                             {"learning_rate", &rateAt}}) {
    auto found = executor->find(rows.back().program, name, Kind::Output, DType::F64);
    if (!found.ok())
      return found.status();
    *place = executor->data(**found);
  }
  if (auto scale = executor->find(rows.back().program, "loss_scale", Kind::Output, DType::F64);
      scale.ok())
    scaleAt = executor->data(**scale);
  return {};
}

void TrainingStep::give(const Row &row, int64_t part) {
  size_t bytes = static_cast<size_t>(row.elements) * sizeof(int32_t);
  if (row.tokens)
    std::memcpy(row.tokens, theTokens.data() + part * row.elements, bytes);
  if (row.labels)
    std::memcpy(row.labels, theLabels.data() + DSC_FAULT(80, part, 0) * row.elements, bytes);
  if (row.positions)
    std::memcpy(row.positions, thePositions.data() + part * row.elements, bytes);
}

int64_t TrainingStep::end(const Row &row) const {
  int64_t each = row.elements / seq, last = row.first + row.times;
  if (row.times == 1 || !row.alone || !each)
    return last;
  return std::min(last, DSC_FAULT(100, (filled + each - 1) / each, filled / each - 1));
}

int64_t TrainingStep::leftOut(size_t program) const {
  int64_t runs = 0;
  for (const Row &row : rows)
    if (row.program == program)
      runs += row.first + row.times - end(row);
  return runs;
}

Outcome TrainingStep::run(int64_t rowsOfData) {
  filled = rowsOfData;
  executor->rememberStepState();
  for (const Row &row : rows)
    for (int64_t part = row.first; part < end(row); ++part) {
      give(row, part);
      if (Outcome outcome = executor->run(row.program, part); outcome != Outcome::Done)
        return outcome;
    }
  return Outcome::Done;
}

std::string TrainingStep::firstNonFinite() {
  executor->restoreStepState();
  if (std::string found = executor->badVariable(); !found.empty())
    return found + ", before the step";
  for (const Row &row : rows)
    for (int64_t part = row.first; part < end(row); ++part) {
      give(row, part);
      std::string found = executor->badTensor(row.program);
      if (found.empty())
        continue;
      if (row.tokens && row.elements < static_cast<int64_t>(theTokens.size()))
        found += " of micro-batch " + std::to_string(part + 1);
      return found;
    }
  return "no tensor before the guard";
}
