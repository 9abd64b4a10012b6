//===- Digest.cpp - hash and norm of every tensor, step by step ------------===//
#include "dsc/Runtime/Core/Digest.h"
#include "dsc/Support/HalfFloat.h"
#include "dsc/Support/Hash.h"
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

using namespace dsc;
using namespace dsc::plan;

template <typename T> static double normOf(const std::byte *data, uint64_t bytes) {
  double sum = 0;
  for (uint64_t i = 0; i + sizeof(T) <= bytes; i += sizeof(T)) {
    T value;
    std::memcpy(&value, data + i, sizeof value);
    sum += static_cast<double>(value) * static_cast<double>(value);
  }
  return std::sqrt(sum);
}

static double normOfHalves(const std::byte *data, uint64_t bytes, float (*widen)(uint16_t)) {
  double sum = 0;
  for (uint64_t i = 0; i + 2 <= bytes; i += 2) {
    uint16_t half;
    std::memcpy(&half, data + i, 2);
    double value = static_cast<double>(widen(half));
    sum += value * value;
  }
  return std::sqrt(sum);
}

Digest::Entry Digest::digest(const std::string &name, DType dtype, const std::byte *data,
                             uint64_t bytes) {
  double norm = dtype == DType::F32    ? normOf<float>(data, bytes)
                : dtype == DType::F64  ? normOf<double>(data, bytes)
                : dtype == DType::I32  ? normOf<int32_t>(data, bytes)
                : dtype == DType::F16  ? normOfHalves(data, bytes, halfToFloat)
                : dtype == DType::BF16 ? normOfHalves(data, bytes, bfloatToFloat)
                                       : 0;
  return {name, hex64(hash64(data, bytes)), norm};
}

StatusOr<std::unique_ptr<Digest>> Digest::create(const std::string &path, Executor &executor,
                                                 std::optional<size_t> update) {
  std::FILE *file = std::fopen(path.c_str(), "we");
  if (!file)
    return inputError("cannot write the digest " + path + ": " + std::strerror(errno));
  std::unique_ptr<Digest> digest(new Digest(path, file, executor));
  if (!update)
    return digest;
  executor.beforeUpdate([d = digest.get(), program = *update](size_t running) {
    if (running != program)
      return;
    d->entries.clear();
    for (const Buffer &buffer : d->executor.plan().programs[program].buffers)
      if (buffer.kind == Kind::Gradient ||
          (buffer.kind == Kind::Window && buffer.name.starts_with("grad:")))
        d->entries.push_back(
            Digest::digest(buffer.name, buffer.dtype, d->executor.data(buffer), buffer.bytes));
  });
  return digest;
}

Digest::~Digest() {
  executor.beforeUpdate(nullptr);
  std::fclose(file);
}

Status Digest::write(int64_t step) {
  const auto &variables = executor.plan().variables;
  for (size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].role == Kind::Cache)
      continue;
    uint64_t bytes = static_cast<uint64_t>(byteSize(variables[i].dtype));
    for (int64_t dimension : variables[i].shape)
      bytes *= static_cast<uint64_t>(dimension);
    entries.push_back(digest(variables[i].name, variables[i].dtype, executor.variable(i), bytes));
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry &a, const Entry &b) { return a.name < b.name; });
  std::string lines;
  for (const Entry &entry : entries)
    lines +=
        nlohmann::json{
            {"step", step}, {"name", entry.name}, {"hash", entry.hash}, {"norm", entry.norm}}
            .dump() +
        "\n";
  entries.clear();
  if (std::fwrite(lines.data(), 1, lines.size(), file) != lines.size() || std::fflush(file))
    return inputError("cannot write the digest " + path + ": " + std::strerror(errno));
  return {};
}
