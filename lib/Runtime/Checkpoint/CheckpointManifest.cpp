//===- CheckpointManifest.cpp - manifest.json, written and checked ----------===//
// The first key is a hash over the whole text with zeros in its own place, so that no byte of the
// file can change unnoticed. What follows it is checked all the same: a manifest may come from
// another version.
#include "dsc/Runtime/Checkpoint/Checkpoint.h"
#include "dsc/Support/Hash.h"
#include "dsc/Support/Json.h"
#include "dsc/Support/Numbers.h"
#include <cmath>

using namespace dsc;
using Json = nlohmann::ordered_json;

static constexpr std::string_view manifestStart = "{\n  \"manifest_hash\": \"",
                                  noHash = "0000000000000000", format = "dsc checkpoint 2";

uint64_t StateTensor::bytes() const {
  uint64_t bytes = static_cast<uint64_t>(safeTypeSize(type));
  for (int64_t dimension : shape)
    bytes *= static_cast<uint64_t>(dimension);
  return bytes;
}

std::string dsc::manifestText(const CheckpointInfo &info) {
  Json out;
  out["manifest_hash"] = noHash;
  out["format"] = format;
  out["step"] = info.step;
  out["plan"] = info.plan;
  out["data"] = {
      {"epoch", info.epoch}, {"row", info.row}, {"windows_per_epoch", info.windowsPerEpoch}};
  out["log_bytes"] = info.logBytes;
  out["evaluation_due"] = info.evaluationDue;
  Json evaluations = Json::array();
  for (const auto &[step, loss] : info.evaluations)
    evaluations.push_back(Json{step, loss});
  out["evaluations"] = std::move(evaluations);
  Json files = Json::array();
  for (const CheckpointFile &file : info.files)
    files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"xxh3", hex64(file.hash)}});
  out["files"] = std::move(files);
  out["spec"] = info.spec;
  Json tensors = Json::array();
  for (const StateTensor &tensor : info.tensors)
    tensors.push_back({{"name", tensor.name},
                       {"role", tensor.role},
                       {"dtype", safeTypeName(tensor.type)},
                       {"shape", tensor.shape}});
  out["tensors"] = std::move(tensors);
  std::string text = out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  return text.replace(manifestStart.size(), noHash.size(), hex64(hash64(text)));
}

namespace {

/// Reads fields; the first that is wrong ends up in `error`.
class Fields {
public:
  Fields(const Json &json, std::string where) : json(json), where(std::move(where)) {}

  const Json *get(const char *key) {
    auto found = json.is_object() ? json.find(key) : json.end();
    if (json.is_object() && found != json.end())
      return &*found;
    complain(key, "is absent");
    return nullptr;
  }
  std::string text(const char *key) {
    const Json *value = get(key);
    if (value && value->is_string())
      return value->get<std::string>();
    complain(key, "is no text");
    return {};
  }
  int64_t count(const char *key) {
    const Json *value = get(key);
    if (value && value->is_number_unsigned() && value->get<uint64_t>() <= uint64_t{1} << 60)
      return value->get<int64_t>();
    complain(key, "is no whole number from 0 to 2^60");
    return 0;
  }
  bool boolean(const char *key) {
    const Json *value = get(key);
    if (value && value->is_boolean())
      return value->get<bool>();
    complain(key, "is neither true nor false");
    return false;
  }
  const Json &list(const char *key) {
    static const Json none = Json::array();
    const Json *value = get(key);
    if (value && value->is_array())
      return *value;
    complain(key, "is no list");
    return none;
  }
  void complain(const std::string &key, const std::string &what) {
    if (error.empty())
      error = where + "'" + key + "' " + what;
  }

  std::string error;

private:
  const Json &json;
  std::string where;
};

} // namespace

static std::string parseFile(const Json &json, size_t index, CheckpointFile &file) {
  Fields fields(json, "files[" + std::to_string(index) + "]: ");
  file.name = fields.text("name");
  file.bytes = static_cast<uint64_t>(fields.count("bytes"));
  std::string hash = fields.text("xxh3");
  if (file.name.empty() || file.name[0] == '.' || file.name.find('/') != file.name.npos)
    fields.complain("name", "is no name of a file in the folder");
  if (hash.size() != 16 || hash.find_first_not_of("0123456789abcdef") != hash.npos)
    fields.complain("xxh3", "is no hash of 16 hexadecimal digits");
  else
    file.hash = std::stoull(hash, nullptr, 16);
  return fields.error;
}

static std::string parseTensor(const Json &json, size_t index, StateTensor &tensor) {
  Fields fields(json, "tensors[" + std::to_string(index) + "]: ");
  tensor.name = fields.text("name");
  tensor.role = fields.text("role");
  std::string type = fields.text("dtype");
  if (auto known = parseSafeType(type))
    tensor.type = *known;
  else
    fields.complain("dtype", "is unknown");
  auto bytes = std::optional(safeTypeSize(tensor.type));
  for (const Json &dimension : fields.list("shape")) {
    if (!dimension.is_number_unsigned() || dimension.get<uint64_t>() > uint64_t{1} << 62) {
      fields.complain("shape", "holds something else than whole numbers");
      break;
    }
    tensor.shape.push_back(dimension.get<int64_t>());
    if (bytes)
      bytes = checkedMultiply(*bytes, tensor.shape.back());
  }
  if (!bytes)
    fields.complain("shape", "has more bytes than a machine can hold");
  return fields.error;
}

/// The first thing that is wrong, or nothing.
static std::string parseInfo(const Json &json, CheckpointInfo &info) {
  Fields fields(json, "");
  if (std::string found = fields.text("format"); fields.error.empty() && found != format)
    return "its format is '" + found + "', this version reads '" + std::string(format) + "'";
  info.step = fields.count("step");
  info.plan = fields.text("plan");
  if (const Json *data = fields.get("data")) {
    Fields position(*data, "data: ");
    info.epoch = position.count("epoch");
    info.row = position.count("row");
    info.windowsPerEpoch = position.count("windows_per_epoch");
    if (!position.error.empty())
      return position.error;
  }
  info.logBytes = static_cast<uint64_t>(fields.count("log_bytes"));
  info.evaluationDue = fields.boolean("evaluation_due");
  for (const Json &entry : fields.list("evaluations")) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_number_unsigned() ||
        entry[0].get<uint64_t>() > uint64_t{1} << 60 ||
        !(entry[1].is_number() || entry[1].is_null()))
      return "'evaluations' holds something else than pairs of step and loss";
    info.evaluations.emplace_back(entry[0].get<int64_t>(),
                                  entry[1].is_null() ? NAN : entry[1].get<double>());
  }
  if (const Json *spec = fields.get("spec")) {
    if (!spec->is_object())
      return "'spec' is no object";
    info.spec = *spec;
  }
  size_t index = 0;
  for (const Json &entry : fields.list("files"))
    if (std::string error = parseFile(entry, index++, info.files.emplace_back()); !error.empty())
      return error;
  index = 0;
  for (const Json &entry : fields.list("tensors"))
    if (std::string error = parseTensor(entry, index++, info.tensors.emplace_back());
        !error.empty())
      return error;
  return fields.error;
}

StatusOr<CheckpointInfo> dsc::parseManifest(std::string_view text, const std::string &path) {
  auto bad = [&](const std::string &what) {
    return damagedError("'" + path + "' is damaged: " + what);
  };
  size_t end = manifestStart.size() + noHash.size();
  if (!text.starts_with(manifestStart) || text.size() < end)
    return bad("it does not start as a manifest of a checkpoint does");
  std::string zeroed(text);
  zeroed.replace(manifestStart.size(), noHash.size(), noHash);
  std::string found(text.substr(manifestStart.size(), noHash.size())),
      expected = hex64(hash64(zeroed));
  if (found != expected)
    return bad("it says that its hash is " + found + ", but it is " + expected);
  auto json = parseStrictJson(text, "'" + path + "' is damaged: line", 64);
  if (!json)
    return Status(ErrorCode::Damaged, json.status().message());
  CheckpointInfo info;
  if (std::string error = parseInfo(*json, info); !error.empty())
    return bad(error);
  return info;
}
