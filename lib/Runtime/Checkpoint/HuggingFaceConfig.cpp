//===- HuggingFaceConfig.cpp - config.json -------------------------------------===//
#include "HuggingFaceConfig.h"
#include "dsc/Runtime/Checkpoint/HuggingFace.h"

using namespace dsc;
using nlohmann::json;

/// Keys that decide what a GPT-2 computes, with transformers' defaults.
static const json &defaults() {
  static const json table = {{"activation_function", "gelu_new"},
                             {"layer_norm_epsilon", 1e-5},
                             {"model_type", "gpt2"},
                             {"n_embd", 768},
                             {"n_head", 12},
                             {"n_inner", nullptr},
                             {"n_layer", 12},
                             {"n_positions", 1024},
                             {"scale_attn_by_inverse_layer_idx", false},
                             {"scale_attn_weights", true},
                             {"tie_word_embeddings", true},
                             {"vocab_size", 50257}};
  return table;
}

/// The value that counts: defaults filled in, two names of one thing made one.
static json effective(const json &config, const std::string &key) {
  auto found = config.find(key);
  json value = found == config.end() ? defaults()[key] : *found;
  if (key == "n_inner" && value.is_null()) {
    json width = effective(config, "n_embd");
    return width.is_number_integer() ? json(4 * width.get<int64_t>()) : value;
  }
  if (key == "activation_function" && value == "gelu_pytorch_tanh")
    return "gelu_new";
  return value;
}

std::vector<std::string> dsc::compareConfigs(const json &folder, const json &spec) {
  std::vector<std::string> differences;
  for (const auto &[key, unused] : defaults().items()) {
    json theirs = effective(folder, key), ours = effective(spec, key);
    if (theirs != ours) {
      constexpr auto replace = json::error_handler_t::replace;
      differences.push_back("config.json has " + key + " " + theirs.dump(-1, ' ', false, replace) +
                            ", the model has " + ours.dump(-1, ' ', false, replace));
    }
  }
  return differences;
}

std::string dsc::exportedConfig(const json &config, SafeType type) {
  json out = config.is_object() ? config : json::object();
  out["architectures"] = {"GPT2LMHeadModel"};
  out["model_type"] = "gpt2";
  out.erase("torch_dtype"); // the name that "dtype" had
  out["dtype"] = type == SafeType::F64    ? "float64"
                 : type == SafeType::F16  ? "float16"
                 : type == SafeType::BF16 ? "bfloat16"
                                          : "float32";
  // transformers warns of ids outside the vocabulary, such as its default of 50256 in a smaller
  // one.
  json size = effective(out, "vocab_size");
  for (const char *key : {"bos_token_id", "eos_token_id"}) {
    json id = out.contains(key) ? out[key] : json(50256);
    if (!size.is_number_integer() || id.is_array() ||
        (id.is_number_integer() && id >= 0 && id < size))
      continue;
    out[key] = size == 257 ? json(256) : json(nullptr);
  }
  return out.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}
