//===- HuggingFaceTest.cpp - folders of config.json + model.safetensors -------===//
#include "dsc/Runtime/Checkpoint/HuggingFace.h"
#include "../Support/TempFolder.h"
#include <cstring>
#include <gtest/gtest.h>
#include <map>

using namespace dsc;
using dsc::test::append;
using dsc::test::TempFolder;
using nlohmann::json;

namespace {
/// A GPT-2 of one layer, width 2, vocabulary 3, 4 positions; values count up.
struct Model {
  explicit Model(bool tied = true) {
    add("wte.weight", {3, 2});
    add("wpe.weight", {4, 2});
    for (const char *norm : {"h.0.ln_1", "h.0.ln_2", "ln_f"})
      for (const char *part : {".weight", ".bias"})
        add(std::string(norm) + part, {2});
    linear("h.0.attn.c_attn", 2, 6);
    linear("h.0.attn.c_proj", 2, 2);
    linear("h.0.mlp.c_fc", 2, 8);
    linear("h.0.mlp.c_proj", 8, 2);
    if (!tied)
      add("lm_head.weight", {3, 2});
    float next = 1;
    for (auto &[name, tensor] : tensors)
      for (float &value : tensor.values)
        value = next, next += 0.25f;
  }
  void linear(const std::string &name, int64_t in, int64_t out) {
    add(name + ".weight", {in, out});
    add(name + ".bias", {out});
  }
  void add(const std::string &name, std::vector<int64_t> shape) {
    size_t count = 1;
    for (int64_t dimension : shape)
      count *= static_cast<size_t>(dimension);
    tensors[name] = {std::move(shape), std::vector<float>(count)};
  }
  std::vector<ConstWeightBuffer> sources() const {
    std::vector<ConstWeightBuffer> list;
    for (const auto &[name, tensor] : tensors)
      list.push_back({name, tensor.shape, SafeType::F32, tensor.values.data()});
    return list;
  }
  std::vector<WeightBuffer> targets() {
    std::vector<WeightBuffer> list;
    for (auto &[name, tensor] : tensors)
      list.push_back({name, tensor.shape, SafeType::F32, tensor.values.data()});
    return list;
  }
  void clear() {
    for (auto &[name, tensor] : tensors)
      std::fill(tensor.values.begin(), tensor.values.end(), -1.0f);
  }
  bool operator==(const Model &other) const {
    for (const auto &[name, tensor] : tensors)
      if (tensor.values != other.tensors.at(name).values)
        return false;
    return true;
  }
  struct Tensor {
    std::vector<int64_t> shape;
    std::vector<float> values;
  };
  std::map<std::string, Tensor> tensors;
};

const json config = {{"n_embd", 2},      {"n_head", 1},     {"n_layer", 1},
                     {"n_positions", 4}, {"vocab_size", 3}, {"activation_function", "gelu_new"}};

struct RawTensor {
  std::string name, dtype, shape, data;
};

/// A file whose header lists the tensors in the given order and whose data lie in reverse, with odd
/// spaces.
std::string rawFile(const std::vector<RawTensor> &tensors, const std::string &metadata) {
  std::string data;
  std::map<std::string, std::pair<size_t, size_t>> offsets;
  for (size_t i = tensors.size(); i-- > 0;) {
    offsets[tensors[i].name] = {data.size(), data.size() + tensors[i].data.size()};
    data += tensors[i].data;
  }
  std::string header = "{" + metadata;
  for (const RawTensor &tensor : tensors) {
    auto [begin, end] = offsets[tensor.name];
    header += (header.size() > 1 ? ", \"" : "\"") + tensor.name +
              "\": {\"shape\": " + tensor.shape + ", \"dtype\":\"" + tensor.dtype +
              "\",\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(end) + "]}";
  }
  header += "}     ";
  std::string bytes;
  append(bytes, static_cast<uint64_t>(header.size()));
  return bytes + header + data;
}

std::vector<RawTensor> rawTensors(const Model &model, const std::string &prefix) {
  std::vector<RawTensor> list;
  for (const auto &[name, tensor] : model.tensors) {
    std::string data(reinterpret_cast<const char *>(tensor.values.data()),
                     tensor.values.size() * 4);
    list.push_back({prefix + name, "F32", json(tensor.shape).dump(), data});
  }
  return list;
}

void writeFolder(const TempFolder &temp, const std::string &weights) {
  temp.write("model.safetensors", weights);
  temp.write("config.json", config.dump());
}
} // namespace

// Names, order, metadata and padding of transformers' save_pretrained.
TEST(HuggingFace, NewFilesLookLikeTransformers) {
  TempFolder temp;
  Model model(false);
  ASSERT_TRUE(saveHuggingFace(temp.folder, config, model.sources()).ok());
  std::string bytes = temp.read("model.safetensors");
  uint64_t length;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0u);
  EXPECT_EQ(bytes.substr(8, 187),
            R"({"__metadata__":{"format":"pt"},)"
            R"("lm_head.weight":{"dtype":"F32","shape":[3,2],"data_offsets":[0,24]},)"
            R"("transformer.h.0.attn.c_attn.bias":)"
            R"({"dtype":"F32","shape":[6],"data_offsets":[24,48]},)");
  json saved = json::parse(temp.read("config.json"));
  EXPECT_EQ(saved["architectures"], json({"GPT2LMHeadModel"}));
  EXPECT_EQ(saved["model_type"], "gpt2");
  EXPECT_EQ(saved["bos_token_id"], nullptr);
  EXPECT_EQ(saved["n_embd"], 2);
  Model loaded(false);
  loaded.clear();
  auto source = loadHuggingFace(temp.folder, loaded.targets(), &config);
  ASSERT_TRUE(source.ok()) << source.status().message();
  EXPECT_TRUE(loaded == model);
  EXPECT_TRUE(source->notes.empty());
}

TEST(HuggingFace, TokenIdsLieInTheVocabulary) {
  auto eos = [](const json &given) { return json::parse(exportedConfig(given))["eos_token_id"]; };
  EXPECT_EQ(eos({{"vocab_size", 257}}), 256);
  EXPECT_EQ(eos({{"vocab_size", 257}, {"eos_token_id", 50256}}), 256);
  EXPECT_EQ(eos({{"vocab_size", 300}, {"eos_token_id", 50256}}), nullptr);
  EXPECT_EQ(eos({{"vocab_size", 300}, {"eos_token_id", 7}}), 7);
  EXPECT_FALSE(json::parse(exportedConfig({{"vocab_size", 50257}})).contains("eos_token_id"));
}

TEST(HuggingFace, LoadAndSaveGiveEqualBytes) {
  for (const char *prefix : {"", "transformer."})
    for (const char *metadata : {"", R"("__metadata__": {"z":"1", "a":"\u00e9"})"}) {
      TempFolder temp, out;
      Model model;
      std::vector<RawTensor> tensors = rawTensors(model, prefix);
      // What old files hold beside the weights: a mask, its fill value, the tied head.
      tensors.insert(tensors.begin() + 3, {std::string(prefix) + "h.0.attn.bias", "U8", "[1,1,2,2]",
                                           std::string("\1\0\1\1", 4)});
      tensors.push_back({std::string(prefix) + "h.0.attn.masked_bias", "F32", "[]", "mask"});
      tensors.push_back(
          {"lm_head.weight", "F32", "[3,2]", tensors[model.tensors.size() + 1 - 1].data});
      for (const RawTensor &tensor : tensors)
        if (tensor.name == std::string(prefix) + "wte.weight")
          tensors.back().data = tensor.data;
      writeFolder(temp, rawFile(tensors, metadata));
      Model loaded;
      loaded.clear();
      auto source = loadHuggingFace(temp.folder, loaded.targets(), &config);
      ASSERT_TRUE(source.ok()) << source.status().message();
      EXPECT_TRUE(loaded == model);
      EXPECT_EQ(source->ignored.size(), 3u);
      ASSERT_EQ(source->notes.size(), 2u);
      EXPECT_EQ(
          source->notes[0],
          "'lm_head.weight' is ignored: the model's head is tied to wte.weight, which equals it");
      EXPECT_EQ(source->notes[1], "mask buffers are ignored: " + std::string(prefix) +
                                      "h.0.attn.bias, " + prefix + "h.0.attn.masked_bias");
      SaveOptions options;
      options.source = &*source;
      ASSERT_TRUE(saveHuggingFace(out.folder, config, loaded.sources(), options).ok());
      EXPECT_EQ(out.read("model.safetensors"), temp.read("model.safetensors"));
      EXPECT_EQ(out.read("config.json"), temp.read("config.json"));
      // Over itself: the mapped file stays what it was.
      ASSERT_TRUE(saveHuggingFace(temp.folder, config, loaded.sources(), options).ok());
      EXPECT_EQ(out.read("model.safetensors"), temp.read("model.safetensors"));
      // A trained embedding shows in the head that repeats it.
      loaded.tensors["wte.weight"].values[0] = 77;
      ASSERT_TRUE(saveHuggingFace(out.folder, config, loaded.sources(), options).ok());
      auto file = SafetensorsFile::open(out.path("model.safetensors"));
      ASSERT_TRUE(file.ok());
      float head;
      std::memcpy(&head, (*file)->data(*(*file)->find("lm_head.weight")), 4);
      EXPECT_EQ(head, 77);
    }
}

TEST(HuggingFace, DoublesKeepNamesAndOrder) {
  TempFolder temp, out;
  Model model;
  writeFolder(temp, rawFile(rawTensors(model, ""), R"("__metadata__": {"format":"pt"})"));
  auto source = loadHuggingFace(temp.folder, model.targets());
  ASSERT_TRUE(source.ok());
  SaveOptions options;
  options.source = &*source;
  options.type = SafeType::F64;
  ASSERT_TRUE(saveHuggingFace(out.folder, config, model.sources(), options).ok());
  auto file = SafetensorsFile::open(out.path("model.safetensors"));
  ASSERT_TRUE(file.ok()) << file.status().message();
  const SafeHeader &before = source->file->header(), &after = (*file)->header();
  EXPECT_EQ(after.dataOffset % 8, 0u);
  EXPECT_EQ(after.metadata, before.metadata);
  for (size_t i = 0; i < before.tensors.size(); ++i) {
    EXPECT_EQ(after.tensors[i].name, before.tensors[i].name);
    EXPECT_EQ(after.tensors[i].type, SafeType::F64);
    EXPECT_EQ(after.tensors[i].begin, 2 * before.tensors[i].begin);
  }
  EXPECT_EQ(json::parse(out.read("config.json"))["dtype"], "float64");
  Model loaded;
  loaded.clear();
  ASSERT_TRUE(loadHuggingFace(out.folder, loaded.targets()).ok());
  EXPECT_TRUE(loaded == model);
}

TEST(HuggingFace, HalfPrecisionSourcesComeBackInTheirOwnType) {
  for (const char *type : {"F16", "BF16"}) {
    TempFolder temp, out;
    Model model;
    std::vector<RawTensor> tensors = rawTensors(model, "");
    for (RawTensor &tensor : tensors) {
      // 1.0 and 2.5 alternate: exact in both types.
      uint16_t one = type[0] == 'F' ? 0x3c00 : 0x3f80, other = type[0] == 'F' ? 0x4100 : 0x4020;
      size_t count = tensor.data.size() / 4;
      tensor.dtype = type;
      tensor.data.clear();
      for (size_t i = 0; i < count; ++i)
        append(tensor.data, i % 2 ? other : one);
    }
    writeFolder(temp, rawFile(tensors, ""));
    auto source = loadHuggingFace(temp.folder, model.targets());
    ASSERT_TRUE(source.ok());
    EXPECT_EQ(model.tensors["wte.weight"].values, (std::vector<float>{1, 2.5, 1, 2.5, 1, 2.5}));
    SaveOptions options;
    options.source = &*source;
    options.type.reset();
    ASSERT_TRUE(saveHuggingFace(out.folder, config, model.sources(), options).ok());
    EXPECT_EQ(out.read("model.safetensors"), temp.read("model.safetensors"));
  }
}

TEST(HuggingFace, EveryDifferenceIsListed) {
  TempFolder temp;
  Model model;
  std::vector<RawTensor> tensors = rawTensors(model, "transformer.");
  tensors[0].shape = "[3,2]"; // h.0.attn.c_attn.bias: was [6]
  tensors[1].name = "transformer.extra";
  tensors[2].dtype = "I32";
  tensors.push_back({"wte.weight", "F32", "[0]", ""});
  writeFolder(temp, rawFile(tensors, ""));
  json other = config;
  other["n_head"] = 2;
  other["activation_function"] = "relu";
  auto source = checkHuggingFace(temp.folder, model.targets(), &other);
  ASSERT_FALSE(source.ok());
  EXPECT_EQ(source.status().code(), ErrorCode::Input);
  EXPECT_EQ(source.status().message(),
            "the weights in '" + temp.folder + R"(' do not fit the model, 7 problems:
  config.json has activation_function "gelu_new", the model has "relu"
  config.json has n_head 1, the model has 2
  'wte.weight' is there twice, with and without 'transformer.'
  'transformer.h.0.attn.c_attn.bias' has shape [3, 2], expected [6]
  'h.0.attn.c_attn.weight' [2, 6] is missing
  'transformer.h.0.attn.c_proj.bias' has type I32, expected F32, F16, BF16 or F64
  'transformer.extra' [2, 6] is not part of the model)");
}

TEST(HuggingFace, HeadsTiedAndUntied) {
  TempFolder temp;
  Model tied, untied(false);
  writeFolder(temp, rawFile(rawTensors(tied, ""), ""));
  EXPECT_NE(checkHuggingFace(temp.folder, untied.targets())
                .status()
                .message()
                .find("'lm_head.weight' [3, 2] is missing (the file's head is tied: set "
                      "model.tie_word_embeddings to true)"),
            std::string::npos);
  writeFolder(temp, rawFile(rawTensors(untied, ""), ""));
  auto source = checkHuggingFace(temp.folder, tied.targets());
  ASSERT_TRUE(source.ok());
  ASSERT_EQ(source->notes.size(), 1u);
  EXPECT_NE(source->notes[0].find("WHICH DIFFERS"), std::string::npos);
}

TEST(HuggingFace, FoldersThatCannotBeUsed) {
  TempFolder temp;
  Model model;
  auto error = [&](const std::string &folder) {
    auto source = loadHuggingFace(folder, model.targets());
    return source ? "none" : source.status().message();
  };
  EXPECT_NE(error(temp.path("none")).find("there is no folder"), std::string::npos);
  EXPECT_EQ(error(temp.folder), "there is no '" + temp.path("model.safetensors") + "'");
  temp.write("pytorch_model.bin", "");
  EXPECT_NE(error(temp.folder).find("safe_serialization=True"), std::string::npos);
  temp.write("model.safetensors.index.json", "");
  EXPECT_NE(error(temp.folder).find("in several files"), std::string::npos);
  temp.write("model.safetensors", "");
  EXPECT_NE(error(temp.folder).find("is damaged"), std::string::npos);
  temp.write("model.safetensors", rawFile(rawTensors(model, ""), ""));
  EXPECT_NE(error(temp.folder).find("config.json': No such file"), std::string::npos);
  temp.write("config.json", "{\"n_embd\": 2, \"n_embd\": 2}");
  EXPECT_NE(error(temp.folder).find("duplicate key 'n_embd'"), std::string::npos);
}

TEST(HuggingFace, FailedSaveHasItsOwnExitCode) {
  TempFolder temp;
  Model model;
  std::string inTheWay = temp.write("file", "");
  Status status = saveHuggingFace(inTheWay + "/folder", config, model.sources());
  EXPECT_EQ(status.code(), ErrorCode::Damaged);
  EXPECT_NE(status.message().find("the weights could not be saved: cannot make the folder"),
            std::string::npos);
}
