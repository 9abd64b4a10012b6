//===- Inference.cpp - logits and text from trained weights ----------------===//
#include "dsc/Runtime/Core/Inference.h"
#include "dsc/Runtime/CPU/Arena.h"
#include "dsc/Runtime/Core/Interrupt.h"
#include "dsc/Runtime/Core/Settings.h"
#include "dsc/Runtime/Data/Generation.h"
#include "dsc/Runtime/Data/Npy.h"
#include "dsc/Runtime/Data/TokenFile.h"
#include "dsc/Support/Numbers.h"
#include <algorithm>
#include <cstdio>
#include <cstring>

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

Status dsc::writeLogits(Session &session, const std::string &idsPath, const std::string &outPath) {
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
    auto logits = program->run(ids);
    result.insert(result.end(), logits.begin(), logits.end());
  }
  auto shape = head.shape;
  shape.push_back(program->vocabulary());
  return writeNpy(outPath, NpyType::Float32, shape, result.data());
}

//===----------------------------------------------------------------------===//
// --generate
//===----------------------------------------------------------------------===//

/// Bytes are the vocabulary of text files; other ids have no meaning that the plan knows.
static Status checkByteVocabulary(const nlohmann::json &spec, int64_t vocabulary) {
  if (vocabulary == byteVocabularySize)
    return {};
  for (int64_t i = 0;; ++i) {
    const nlohmann::json *format = findSetting(spec, "data.train." + std::to_string(i) + ".format");
    if (!format)
      break;
    if (*format == "text" && vocabulary > byteVocabularySize)
      return {};
  }
  return inputError("cannot turn ids into text: the model has a vocabulary of " +
                    std::to_string(vocabulary) + ", the built-in byte vocabulary has " +
                    std::to_string(byteVocabularySize) +
                    "; take --logits=OUT.npy --input=IDS.npy with a tokenizer of your own");
}

Status dsc::generate(Session &session, const GenerateOptions &options) {
  auto program = LogitsProgram::open(session.executor());
  if (!program.ok())
    return program.status();
  if (Status status = checkByteVocabulary(session.spec(), program->vocabulary()); !status.ok())
    return status;
  if (Status status = session.finalWeights(); !status.ok())
    return status;

  auto vocabulary = static_cast<size_t>(program->vocabulary());
  // Without a prompt a text starts, as texts in the training data do, after end-of-text.
  std::vector<int32_t> ids = encodeBytes(options.prompt);
  if (ids.empty())
    ids.push_back(endOfTextId);
  Sampler sampler(byteVocabularySize, options.temperature, options.seed);
  Utf8Stream text;
  std::string out = text.push(options.prompt);
  auto flush = [&] {
    std::fwrite(out.data(), 1, out.size(), stdout);
    std::fflush(stdout);
    out.clear();
  };
  flush();
  for (int64_t n = 0; n < options.newTokens && !interruptSignal(); ++n) {
    // What does not fit is forgotten from the front.
    size_t keep = std::min(ids.size(), static_cast<size_t>(program->length()));
    auto logits = program->run({ids.data() + ids.size() - keep, keep});
    auto id = sampler.draw(logits.subspan((keep - 1) * vocabulary, vocabulary));
    if (!id.ok())
      return id.status();
    if (*id == endOfTextId)
      break;
    ids.push_back(*id);
    out += text.push(tokenBytes(*id));
    flush();
  }
  out += text.finish() + "\n";
  flush();
  return {};
}
