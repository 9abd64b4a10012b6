//===- HuggingFace.h - a GPT-2 as a folder of config.json + model.safetensors ===//
// Variables are named as in the IR: wte.weight, h.0.attn.c_attn.weight, ..., lm_head.weight. Files
// may prefix "transformer.". Matrices keep Conv1D's layout [in, out]; nothing is transposed.
#ifndef DSC_RUNTIME_CHECKPOINT_HUGGINGFACE_H
#define DSC_RUNTIME_CHECKPOINT_HUGGINGFACE_H

#include "dsc/Runtime/Checkpoint/Safetensors.h"
#include "dsc/Support/Status.h"
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

namespace dsc {

/// A variable in memory, C order. `type` is F32 or F64.
struct WeightBuffer {
  std::string name;
  std::vector<int64_t> shape;
  SafeType type;
  void *data;
};
struct ConstWeightBuffer {
  std::string name;
  std::vector<int64_t> shape;
  SafeType type;
  const void *data;
};

/// What a folder held beside the weights; keeps its file mapped so that saving can repeat order,
/// names and what was ignored.
struct WeightSource {
  std::string folder;
  std::shared_ptr<const SafetensorsFile> file;
  std::string configText;           ///< config.json as it was
  std::vector<std::string> ignored; ///< mask buffers, and the head of a tied model
  std::vector<std::string> notes;   ///< one line each, to be shown
};

/// Fills every buffer from `folder`. All of what is missing, left over or of another shape is
/// listed in one error (Input). `config`, if not null, is the model's configuration in Hugging Face
/// keys; a folder whose config.json says otherwise (heads, activation, epsilon, ... ) is refused,
/// listing every key.
StatusOr<WeightSource> loadHuggingFace(const std::string &folder,
                                       std::span<const WeightBuffer> buffers,
                                       const nlohmann::json *config = nullptr);

/// Checks names and shapes only: for the compiler. Buffers' data are not used.
StatusOr<WeightSource> checkHuggingFace(const std::string &folder,
                                        std::span<const WeightBuffer> buffers,
                                        const nlohmann::json *config = nullptr);

struct SaveOptions {
  /// Of the file: F32, F64; F16 and BF16 round to nearest even. Absent: the source's own types,
  /// without a source F32.
  std::optional<SafeType> type = SafeType::F32;
  /// Loaded from here: same names, order and metadata again. Null: as transformers writes a new
  /// GPT2LMHeadModel.
  const WeightSource *source = nullptr;
};

/// Writes folder/config.json and folder/model.safetensors, each atomically, weights first.
/// `config`: Hugging Face keys as in the spec's `model`; what transformers needs (architectures,
/// model_type, token ids) is added. Errors carry code Damaged (exit 6).
Status saveHuggingFace(const std::string &folder, const nlohmann::json &config,
                       std::span<const ConstWeightBuffer> buffers, const SaveOptions &options = {});

/// config.json as saveHuggingFace writes it for weights of `type`.
std::string exportedConfig(const nlohmann::json &config, SafeType type = SafeType::F32);

} // namespace dsc

#endif // DSC_RUNTIME_CHECKPOINT_HUGGINGFACE_H
