//===- Inference.cpp - logits from trained weights -------------------------===//
#include "dsc/Runtime/Core/Inference.h"
#include "dsc/Runtime/CPU/Arena.h"
#include "dsc/Runtime/Data/Npy.h"
#include "dsc/Support/Numbers.h"
#include <algorithm>
#include <cstring>
#include <optional>

using namespace dsc;
using namespace dsc::plan;

StatusOr<LogitsProgram> LogitsProgram::open(Executor &executor) {
  LogitsProgram out;
  out.executor = &executor;
  auto program = executor.program("logits");
  if (!program.ok())
    return program.status();
  out.program = *program;
  auto tokens = executor.find(*program, "tokens", Kind::Input, DType::I32);
  if (!tokens.ok())
    return tokens.status();
  auto logits = executor.find(*program, "logits", Kind::Output, DType::F32);
  if (!logits.ok())
    return logits.status();
  const auto &in = (*tokens)->shape, &result = (*logits)->shape;
  if (in.size() != 2 || in[0] != 1 || result.size() != 3 || result[0] != 1 || result[1] != in[1])
    return damagedError("program 'logits': expected tokens [1, T] and logits [1, T, V]");
  out.tokens = reinterpret_cast<int32_t *>(executor.data(**tokens));
  out.logits = reinterpret_cast<const float *>(executor.data(**logits));
  out.positions = in[1];
  out.entries = result[2];
  return out;
}

std::span<const float> LogitsProgram::run(std::span<const int32_t> ids) {
  std::copy(ids.begin(), ids.end(), tokens);
  std::fill(tokens + ids.size(), tokens + positions, 0);
  executor->run(program);
  return {logits, ids.size() * static_cast<size_t>(entries)};
}

//===----------------------------------------------------------------------===//
// Caches
//===----------------------------------------------------------------------===//

bool CachedProgram::exists(const Executor &executor) {
  return findProgram(executor.plan(), "decode") >= 0;
}

Status CachedProgram::openInputs(Executor &executor, const char *name, Inputs &inputs) {
  auto program = executor.program(name);
  if (!program.ok())
    return program.status();
  inputs.program = *program;
  std::vector<int64_t> shape;
  for (auto [input, place] : {std::pair{"tokens", &inputs.tokens},
                              {"position_ids", &inputs.positions},
                              {"rows", &inputs.rows}}) {
    auto buffer = executor.find(*program, input, Kind::Input, DType::I32);
    if (!buffer.ok())
      return buffer.status();
    *place = reinterpret_cast<int32_t *>(executor.data(**buffer));
    if (shape.empty())
      shape = (*buffer)->shape;
    std::vector<int64_t> expected = shape;
    if (place == &inputs.rows)
      expected.resize(1);
    if (shape.size() != 2 || (*buffer)->shape != expected)
      return damagedError(std::string("program '") + name +
                          "': expected tokens and position_ids [rows, n] and rows [rows]");
  }
  inputs.samples = shape[0];
  inputs.count = shape[1];
  return {};
}

StatusOr<CachedProgram> CachedProgram::open(Executor &executor) {
  CachedProgram out;
  out.executor = &executor;
  for (auto [name, inputs] : {std::pair{"prefill", &out.prefilling}, {"decode", &out.decoding}})
    if (Status status = openInputs(executor, name, *inputs); !status.ok())
      return status;
  auto logits = executor.find(out.decoding.program, "logits", Kind::Output, DType::F32);
  if (!logits.ok())
    return logits.status();
  for (const Variable &variable : executor.plan().variables)
    if (variable.role == Kind::Cache && variable.shape.size() == 3) {
      out.cacheRows = variable.shape[0];
      out.positions = variable.shape[1];
    }
  const auto &shape = (*logits)->shape;
  if (shape.size() != 3 || shape[0] != out.cacheRows || shape[1] != 1 ||
      out.decoding.samples != out.cacheRows || out.decoding.count != 1 ||
      out.prefilling.samples != 1 || out.prefilling.count > out.positions)
    return damagedError("programs 'prefill' and 'decode' do not fit the caches");
  out.logitsAt = reinterpret_cast<const float *>(executor.data(**logits));
  out.entries = shape[2];
  out.used.assign(static_cast<size_t>(out.cacheRows), 0);
  return out;
}

void CachedProgram::prefill(int64_t row, std::span<const int32_t> ids) {
  const Inputs &in = prefilling;
  *in.rows = static_cast<int32_t>(row);
  int64_t &held = used[static_cast<size_t>(row)];
  while (!ids.empty()) {
    size_t now = std::min(ids.size(), static_cast<size_t>(in.count));
    for (size_t i = 0; i < static_cast<size_t>(in.count); ++i) {
      in.tokens[i] = i < now ? ids[i] : 0;
      in.positions[i] = i < now ? static_cast<int32_t>(held) + static_cast<int32_t>(i) : -1;
    }
    executor->run(in.program);
    held += static_cast<int64_t>(now);
    ids = ids.subspan(now);
  }
}

void CachedProgram::decode(std::span<const int32_t> ids) {
  for (size_t r = 0; r < ids.size(); ++r) {
    bool given = ids[r] >= 0;
    decoding.tokens[r] = given ? ids[r] : 0;
    decoding.positions[r] = given ? static_cast<int32_t>(used[r]++) : -1;
    decoding.rows[r] = static_cast<int32_t>(r);
  }
  executor->run(decoding.program);
}

//===----------------------------------------------------------------------===//
// --logits
//===----------------------------------------------------------------------===//

/// Element `index` of an integer array.
static int64_t idAt(const NpyArray &array, int64_t index) {
  const uint8_t *at = array.data() + index * npyTypeSize(array.header().type);
  if (array.header().type == NpyType::Int64) {
    int64_t id;
    std::memcpy(&id, at, sizeof id);
    return id;
  }
  int32_t id;
  std::memcpy(&id, at, sizeof id);
  return id;
}

Status dsc::writeLogits(Session &session, const std::string &idsPath, const std::string &outPath,
                        bool cached) {
  std::optional<CachedProgram> caches;
  if (cached) {
    auto opened = CachedProgram::open(session.executor());
    if (!opened.ok())
      return opened.status();
    caches = std::move(*opened);
  }
  auto program = LogitsProgram::open(session.executor());
  if (!program.ok())
    return program.status();
  auto array = NpyArray::open(idsPath);
  if (!array.ok())
    return array.status();
  const NpyHeader &head = array->header();
  if ((head.type != NpyType::Int32 && head.type != NpyType::Int64) || head.shape.empty() ||
      head.shape.size() > 2)
    return inputError(idsPath + ": expected int32 or int64 token ids [n] or [rows, n], found " +
                      npyTypeName(head.type) + " with " + std::to_string(head.shape.size()) +
                      " dimensions");
  int64_t rows = head.shape.size() == 2 ? head.shape[0] : 1, length = head.shape.back();
  if (rows < 1 || length < 1 || length > program->length())
    return inputError(idsPath + ": rows of " + std::to_string(length) +
                      " ids, the plan takes 1 to " + std::to_string(program->length()) +
                      " (its seq_length)");
  for (int64_t i = 0; i < head.elements; ++i)
    if (int64_t id = idAt(*array, i); id < 0 || id >= program->vocabulary())
      return inputError(idsPath + ": id " + std::to_string(id) + " in row " +
                        std::to_string(i / length) + " at position " + std::to_string(i % length) +
                        " is outside the vocabulary of " + std::to_string(program->vocabulary()));
  auto elements = checkedMultiply(head.elements, program->vocabulary());
  MemoryLimit limit = availableMemory();
  if (!elements || static_cast<uint64_t>(*elements) > limit.bytes / sizeof(float))
    return {ErrorCode::Memory, "logits of " + std::to_string(head.elements) + " ids times " +
                                   std::to_string(program->vocabulary()) + " need " +
                                   (elements ? printBytes(static_cast<uint64_t>(*elements) * 4)
                                             : std::string("more than 2^63 bytes")) +
                                   ", " + printBytes(limit.bytes) + " are available (" +
                                   limit.source + ")"};
  if (Status status = session.finalWeights(); !status.ok())
    return status;

  std::vector<float> result;
  result.reserve(static_cast<size_t>(*elements));
  std::vector<int32_t> ids(static_cast<size_t>(length));
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < length; ++i)
      ids[static_cast<size_t>(i)] = static_cast<int32_t>(idAt(*array, row * length + i));
    if (!caches) {
      auto logits = program->run(ids);
      result.insert(result.end(), logits.begin(), logits.end());
      continue;
    }
    // Rows of the input take turns in the rows of the caches, so that each is tried.
    int64_t place = row % caches->rows();
    std::vector<int32_t> next(static_cast<size_t>(caches->rows()), -1);
    caches->clear(place);
    for (int32_t id : ids) {
      next[static_cast<size_t>(place)] = id;
      caches->decode(next);
      auto logits = caches->logits(place);
      result.insert(result.end(), logits.begin(), logits.end());
    }
  }
  auto shape = head.shape;
  shape.push_back(program->vocabulary());
  return writeNpy(outPath, NpyType::Float32, shape, result.data());
}
