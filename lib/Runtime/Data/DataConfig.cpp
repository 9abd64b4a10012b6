//===- DataConfig.cpp - what the data needs of a resolved spec ----------------===//
// The spec comes out of a plan, so nothing is taken for granted about its types.
#include "dsc/Runtime/Data/BatchStream.h"
#include "dsc/Runtime/Data/TokenFile.h"

using namespace dsc;
using nlohmann::json;

static const json *find(const json &object, const char *key) {
  auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && !found->is_null() ? &*found : nullptr;
}

static Status wrong(const std::string &path, const char *expected) {
  return damagedError("the plan's resolved spec has no valid " + path + ", expected " + expected);
}

static Status integer(const json &object, const std::string &section, const char *key,
                      int64_t &out) {
  const json *value = find(object, key);
  if (!value || !value->is_number_integer())
    return wrong(section + "." + key, "an integer");
  out = value->get<int64_t>();
  return {};
}

static Status files(const json &data, const char *key, std::vector<DataFile> &out) {
  const json *list = find(data, key);
  if (!list)
    return {};
  std::string where = std::string("data.") + key;
  if (!list->is_array())
    return wrong(where, "a list");
  for (const json &entry : *list) {
    const json *path = find(entry, "path"), *format = find(entry, "format"),
               *labels = find(entry, "labels"), *separator = find(entry, "separator");
    if (separator && !separator->is_string())
      return wrong(where + ".separator", "a text");
    if (!path || !path->is_string())
      return wrong(where + ".path", "a text");
    if (!format || !format->is_string())
      return wrong(where + ".format", "a text");
    if (labels && !labels->is_string())
      return wrong(where + ".labels", "a text");
    DataFile file;
    file.path = path->get<std::string>();
    file.separator = separator ? separator->get<std::string>() : "";
    file.labels = labels ? labels->get<std::string>() : "";
    const auto &name = format->get_ref<const std::string &>();
    if (name == "text")
      file.format = DataFormat::Text;
    else if (name == "megatron")
      file.format = DataFormat::Megatron;
    else if (name == "uint16")
      file.format = DataFormat::Uint16;
    else if (name == "replay")
      file.format = DataFormat::Replay;
    else
      return wrong(where + ".format", "text, megatron, uint16 or replay");
    out.push_back(std::move(file));
  }
  return {};
}

bool DataConfig::validationIsBytes() const {
  const std::vector<DataFile> &files = validation.empty() ? train : validation;
  bool text = !files.empty();
  for (const DataFile &file : files)
    text &= file.format == DataFormat::Text;
  return text || vocabulary == byteVocabularySize;
}

StatusOr<DataConfig> DataConfig::fromResolved(const json &spec, const std::string &folder) {
  static const json none = json::object();
  auto section = [&](const char *key) -> const json & {
    const json *found = find(spec, key);
    return found ? *found : none;
  };
  const json &data = section("data");
  DataConfig config;
  config.folder = folder;
  for (auto [key, list] : {std::pair{"train", &config.train}, {"validation", &config.validation}})
    if (Status status = files(data, key, *list); !status)
      return status;
  if (Status status = integer(data, "data", "seq_length", config.seq); !status)
    return status;
  if (Status status = integer(section("train"), "train", "train_batch_size", config.batch); !status)
    return status;
  config.microBatch = config.batch;
  if (const json *micro = find(section("train"), "train_micro_batch_size_per_gpu");
      micro && micro->is_number_integer())
    config.microBatch = micro->get<int64_t>();
  if (config.microBatch < 1 || config.batch % config.microBatch)
    return wrong("train.train_micro_batch_size_per_gpu", "a divisor of train_batch_size");
  if (const json *ramp = find(section("train"), "batch_ramp")) {
    for (auto [key, place] : {std::pair{"start", &config.ramp.start},
                              {"increment", &config.ramp.increment},
                              {"samples", &config.ramp.samples}})
      if (Status status = integer(*ramp, "train.batch_ramp", key, *place); !status)
        return status;
    if (!config.ramp.fits(config.batch, config.microBatch))
      return wrong("train.batch_ramp",
                   "a start and an increment that lead to train_batch_size in whole micro-batches");
  }
  if (Status status = integer(section("model"), "model", "vocab_size", config.vocabulary); !status)
    return status;
  if (const json *seed = find(data, "seed")) {
    if (!seed->is_number_integer())
      return wrong("data.seed", "an integer");
    config.seed = seed->get<uint64_t>();
  }
  if (const json *packing = find(data, "packing"))
    config.packDocuments = *packing == "documents";
  if (const json *longer = find(data, "long_documents"))
    config.longDocuments = *longer == "truncate" ? LongDocuments::Truncate
                           : *longer == "drop"   ? LongDocuments::Drop
                                                 : LongDocuments::Split;
  if (const json *fraction = find(data, "validation_fraction")) {
    if (!fraction->is_number())
      return wrong("data.validation_fraction", "a number");
    config.validationFraction = fraction->get<double>();
  }
  return config;
}
