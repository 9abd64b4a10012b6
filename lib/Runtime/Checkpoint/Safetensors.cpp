//===- Safetensors.cpp - the reader -------------------------------------------===//
#include "dsc/Runtime/Checkpoint/Safetensors.h"
#include "dsc/Support/HalfFloat.h"
#include "dsc/Support/Json.h"
#include "dsc/Support/Numbers.h"
#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

using namespace dsc;
using Json = nlohmann::ordered_json;

namespace {
struct TypeInfo {
  const char *name;
  int64_t size;
};
} // namespace

// In the order of SafeType.
static constexpr TypeInfo typeTable[] = {{"BOOL", 1},    {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1},
                                         {"F8_E4M3", 1}, {"I16", 2}, {"U16", 2}, {"F16", 2},
                                         {"BF16", 2},    {"I32", 4}, {"U32", 4}, {"F32", 4},
                                         {"F64", 8},     {"I64", 8}, {"U64", 8}};

const char *dsc::safeTypeName(SafeType type) { return typeTable[static_cast<int>(type)].name; }
int64_t dsc::safeTypeSize(SafeType type) { return typeTable[static_cast<int>(type)].size; }

std::optional<SafeType> dsc::parseSafeType(std::string_view name) {
  for (size_t i = 0; i < std::size(typeTable); ++i)
    if (name == typeTable[i].name)
      return static_cast<SafeType>(i);
  return std::nullopt;
}

int64_t SafeTensor::elements() const {
  return static_cast<int64_t>(end - begin) / safeTypeSize(type);
}

namespace {
/// Turns the header's JSON into a SafeHeader; `remain` is the size of the data section.
class HeaderChecker {
public:
  HeaderChecker(const std::string &path, uint64_t remain) : path(path), remain(remain) {}

  Status check(const Json &json, SafeHeader &header) {
    if (!json.is_object())
      return bad("the header is no JSON object");
    for (const auto &[name, value] : json.items()) {
      Status status =
          name == "__metadata__" ? metadata(value, header) : tensor(name, value, header);
      if (!status)
        return status;
    }
    return tiling(header);
  }

private:
  Status bad(const std::string &what) const {
    return inputError("'" + path + "' is damaged: " + what);
  }
  static std::string quote(const std::string &name) {
    return "'" + (name.size() > 200 ? name.substr(0, 200) + "..." : name) + "'";
  }

  Status metadata(const Json &value, SafeHeader &header) {
    if (!value.is_object())
      return bad("__metadata__ is no object");
    for (const auto &[key, entry] : value.items()) {
      if (!entry.is_string())
        return bad("__metadata__ " + quote(key) + " is no text");
      header.metadata.emplace_back(key, entry.get<std::string>());
    }
    return {};
  }

  Status tensor(const std::string &name, const Json &value, SafeHeader &header) {
    std::string where = "tensor " + quote(name);
    if (!value.is_object() || value.size() != 3 || !value.contains("dtype") ||
        !value.contains("shape") || !value.contains("data_offsets"))
      return bad(where + " has not exactly the keys dtype, shape, data_offsets");
    const Json &type = value["dtype"], &shape = value["shape"], &offsets = value["data_offsets"];
    SafeTensor tensor;
    tensor.name = name;
    std::optional<SafeType> known =
        type.is_string() ? parseSafeType(type.get_ref<const std::string &>()) : std::nullopt;
    if (!known)
      return bad(where + " has unknown dtype " +
                 (type.is_string() ? quote(type.get_ref<const std::string &>()) : "(no text)"));
    tensor.type = *known;
    if (!shape.is_array())
      return bad(where + " has a shape that is no list");
    std::optional<int64_t> bytes = safeTypeSize(*known);
    for (const Json &dimension : shape) {
      if (!dimension.is_number_unsigned() || dimension.get<uint64_t>() > mostInt)
        return bad(where + " has a dimension that is no whole number in [0, 2^63)");
      tensor.shape.push_back(dimension.get<int64_t>());
      if (bytes)
        bytes = checkedMultiply(*bytes, tensor.shape.back());
    }
    if (!bytes)
      return bad(where + " has a shape whose size in bytes overflows");
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned())
      return bad(where + " has data_offsets that are not two whole numbers from 0 on");
    tensor.begin = offsets[0].get<uint64_t>();
    tensor.end = offsets[1].get<uint64_t>();
    std::string range =
        "[" + std::to_string(tensor.begin) + ", " + std::to_string(tensor.end) + ")";
    if (tensor.begin > tensor.end)
      return bad(where + " has reversed data_offsets " + range);
    if (tensor.end > remain)
      return bad(where + " has data_offsets " + range + " past the " + std::to_string(remain) +
                 " bytes of data");
    if (tensor.end - tensor.begin != static_cast<uint64_t>(*bytes))
      return bad(where + " has " + std::to_string(tensor.end - tensor.begin) +
                 " bytes, but its dtype and shape need " + std::to_string(*bytes));
    header.tensors.push_back(std::move(tensor));
    return {};
  }

  Status tiling(const SafeHeader &header) const {
    std::vector<size_t> order(header.tensors.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      const SafeTensor &x = header.tensors[a], &y = header.tensors[b];
      return std::tie(x.begin, x.end, a) < std::tie(y.begin, y.end, b);
    });
    uint64_t end = 0;
    for (size_t i : order) {
      const SafeTensor &tensor = header.tensors[i];
      if (tensor.begin != end)
        return bad("tensor " + quote(tensor.name) + " starts at byte " +
                   std::to_string(tensor.begin) + " of the data, expected " + std::to_string(end) +
                   (tensor.begin < end ? " (overlap)" : " (gap)"));
      end = tensor.end;
    }
    if (end != remain)
      return bad(std::to_string(remain - end) + " bytes follow the last tensor");
    return {};
  }

  static constexpr uint64_t mostInt = std::numeric_limits<int64_t>::max();
  const std::string &path;
  uint64_t remain;
};
} // namespace

StatusOr<SafeHeader> dsc::parseSafetensors(std::string_view file, const std::string &path) {
  return parseSafetensorsHeader(file, file.size(), path);
}

StatusOr<SafeHeader> dsc::parseSafetensorsHeader(std::string_view file, uint64_t fileBytes,
                                                 const std::string &path) {
  if (file.size() < 8)
    return inputError("'" + path + "' is damaged: " + std::to_string(file.size()) +
                      " bytes, fewer than the 8 of the header's length");
  uint64_t length = 0;
  for (int i = 0; i < 8; ++i)
    length |= uint64_t{static_cast<unsigned char>(file[i])} << (8 * i);
  // The reference implementation's limit, too.
  constexpr uint64_t most = 100'000'000;
  if (length > file.size() - 8 || length > most)
    return inputError("'" + path + "' is damaged: it announces a header of " +
                      std::to_string(length) + " bytes, but " + std::to_string(fileBytes - 8) +
                      " remain (at most " + std::to_string(most) + " are allowed)");
  std::string_view text = file.substr(8, length);
  if (!text.starts_with('{'))
    return inputError("'" + path + "' is damaged: its header does not start with '{'");
  StatusOr<Json> json = parseStrictJson(text, "'" + path + "' is damaged: header", 8);
  if (!json)
    return json.status();
  SafeHeader header;
  header.dataOffset = 8 + length;
  if (Status status = HeaderChecker(path, fileBytes - header.dataOffset).check(*json, header);
      !status)
    return status;
  return header;
}

std::string dsc::safetensorsHeader(std::vector<SafeTensor> &tensors) {
  Json header = Json::object();
  auto &list = static_cast<Json::object_t::Container &>(
      header.get_ref<Json::object_t &>()); // appended to: insertion searches linearly
  uint64_t end = 0;
  for (SafeTensor &tensor : tensors) {
    uint64_t bytes = static_cast<uint64_t>(safeTypeSize(tensor.type));
    for (int64_t dimension : tensor.shape)
      bytes *= static_cast<uint64_t>(dimension);
    tensor.begin = end;
    tensor.end = end += bytes;
    list.emplace_back(tensor.name, Json{{"dtype", safeTypeName(tensor.type)},
                                        {"shape", tensor.shape},
                                        {"data_offsets", {tensor.begin, tensor.end}}});
  }
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string length(8, '\0');
  for (int i = 0; i < 8; ++i)
    length[i] = static_cast<char>(text.size() >> (8 * i));
  return length + text;
}

StatusOr<std::shared_ptr<const SafetensorsFile>> SafetensorsFile::open(const std::string &path) {
  StatusOr<MappedFile> file = MappedFile::open(path);
  if (!file)
    return file.status();
  StatusOr<SafeHeader> header = parseSafetensors(file->bytes(), path);
  if (!header)
    return header.status();
  auto opened = std::make_shared<SafetensorsFile>();
  opened->file = std::move(*file);
  opened->head = std::move(*header);
  for (size_t i = 0; i < opened->head.tensors.size(); ++i)
    opened->index.emplace(opened->head.tensors[i].name, i);
  return std::shared_ptr<const SafetensorsFile>(std::move(opened));
}

const SafeTensor *SafetensorsFile::find(std::string_view name) const {
  auto found = index.find(name);
  return found == index.end() ? nullptr : &head.tensors[found->second];
}

template <typename Float>
static void convert(const uint8_t *source, SafeType type, int64_t begin, int64_t count,
                    Float *out) {
  auto each = [&]<typename Stored>(Stored, auto toFloat) {
    for (int64_t i = 0; i < count; ++i) {
      Stored stored;
      std::memcpy(&stored, source + (begin + i) * static_cast<int64_t>(sizeof stored),
                  sizeof stored);
      out[i] = static_cast<Float>(toFloat(stored));
    }
  };
  switch (type) {
  case SafeType::F16:
    return each(uint16_t{}, halfToFloat);
  case SafeType::BF16:
    return each(uint16_t{}, bfloatToFloat);
  case SafeType::F32:
    return each(float{}, [](float x) { return x; });
  case SafeType::F64:
    return each(double{}, [](double x) { return x; });
  default:
    return; // callers have checked the type
  }
}

void dsc::convertElements(const uint8_t *source, SafeType type, int64_t begin, int64_t count,
                          float *out) {
  convert(source, type, begin, count, out);
}

void dsc::convertElements(const uint8_t *source, SafeType type, int64_t begin, int64_t count,
                          double *out) {
  convert(source, type, begin, count, out);
}
