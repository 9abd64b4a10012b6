//===- FuzzTest.cpp - a short run of the fuzz target ---------------------------===//
#include "../../Fuzz/Mutate.h"
#include "../../Fuzz/manifest/ManifestFuzz.h"
#include "../../Fuzz/safetensors/SafetensorsFuzz.h"
#include "../Support/TempFolder.h"
#include <gtest/gtest.h>

using namespace dsc;

static std::string file(const std::string &header, size_t bytes) {
  std::string text;
  test::append(text, static_cast<uint64_t>(header.size()));
  return text + header + std::string(bytes, '\1');
}

TEST(Fuzz, SafetensorsShortRun) {
  std::vector<std::string> samples = {
      file(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8),
      file(
          R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F16","shape":[1,2],"data_offsets":[0,4]},)"
          R"("a":{"dtype":"BF16","shape":[],"data_offsets":[4,6]},)"
          R"("c":{"dtype":"U8","shape":[0],"data_offsets":[6,6]}} )",
          6),
      file("{}", 0)};
  for (const std::string &sample : samples)
    fuzz::safetensors(sample);
  fuzz::mutate(samples, 30000, fuzz::safetensors);
}

TEST(Fuzz, ManifestShortRun) {
  CheckpointInfo info;
  info.plan = "p";
  info.spec = {{"train", {{"steps", 3}, {"betas", {0.9, 0.999}}}}};
  info.evaluations = {{3, 0.5}};
  info.files = {{"state", 10, 1}};
  info.tensors = {{"a", "parameter", SafeType::F32, {2, 3}}, {"b", "counter", SafeType::F64, {}}};
  std::vector<std::string> samples = {manifestText(info), manifestText({})};
  for (const std::string &sample : samples)
    fuzz::manifest(sample);
  fuzz::mutate(samples, 10000, fuzz::manifest);
}
