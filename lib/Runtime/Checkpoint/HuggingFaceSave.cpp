//===- HuggingFaceSave.cpp - weights to a folder -------------------------------===//
// The file is planned as a list of tensors in data order, each from a buffer or, byte for byte,
// from the file that was loaded; then header and data are written in one go.
#include "HuggingFaceConfig.h"
#include "dsc/Runtime/Checkpoint/HuggingFace.h"
#include "dsc/Support/HalfFloat.h"
#include "dsc/Support/Json.h"
#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>

using namespace dsc;
using nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

namespace {
struct Entry {
  SafeTensor tensor;                         ///< offsets of the new file
  const ConstWeightBuffer *buffer = nullptr; ///< else copied from the source
  const uint8_t *copied = nullptr;
};

struct Layout {
  std::vector<Entry> entries; ///< in data order
  std::vector<size_t> keys;   ///< in header order
  std::vector<std::pair<std::string, std::string>> metadata;
  bool sameHeader = false; ///< the source's header holds for the new file as it is
};
} // namespace

static Status saveError(const std::string &what) {
  return {ErrorCode::Damaged, "the weights could not be saved: " + what};
}

static void assignOffsets(Layout &layout) {
  uint64_t end = 0;
  for (Entry &entry : layout.entries) {
    uint64_t bytes = static_cast<uint64_t>(safeTypeSize(entry.tensor.type));
    for (int64_t dimension : entry.tensor.shape)
      bytes *= static_cast<uint64_t>(dimension);
    entry.tensor.begin = end;
    entry.tensor.end = end += bytes;
  }
}

/// As transformers' save_pretrained: by name, since all have one type.
static Layout newLayout(std::span<const ConstWeightBuffer> buffers, SafeType type) {
  Layout layout;
  for (const ConstWeightBuffer &buffer : buffers) {
    std::string name = buffer.name == "lm_head.weight" ? buffer.name : "transformer." + buffer.name;
    layout.entries.push_back({{name, type, buffer.shape, 0, 0}, &buffer, nullptr});
  }
  std::sort(layout.entries.begin(), layout.entries.end(),
            [](const Entry &a, const Entry &b) { return a.tensor.name < b.tensor.name; });
  layout.keys.resize(layout.entries.size());
  std::iota(layout.keys.begin(), layout.keys.end(), size_t{0});
  layout.metadata = {{"format", "pt"}};
  return layout;
}

static StatusOr<Layout> sourceLayout(const WeightSource &source,
                                     std::span<const ConstWeightBuffer> buffers,
                                     std::optional<SafeType> type) {
  std::map<std::string_view, const ConstWeightBuffer *> byName;
  for (const ConstWeightBuffer &buffer : buffers)
    byName.emplace(buffer.name, &buffer);
  const std::vector<SafeTensor> &tensors = source.file->header().tensors;
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tie(tensors[a].begin, tensors[a].end, a) <
           std::tie(tensors[b].begin, tensors[b].end, b);
  });
  Layout layout;
  layout.metadata = source.file->header().metadata;
  layout.keys.resize(tensors.size());
  layout.sameHeader = true;
  size_t used = 0;
  for (size_t i : order) {
    Entry entry{tensors[i], nullptr, nullptr};
    std::string_view name = shortName(tensors[i].name);
    auto found = byName.find(name);
    used += found != byName.end();
    if (found == byName.end() && name == "lm_head.weight") // tied: the file repeats the embedding
      found = byName.find("wte.weight");
    if (found != byName.end()) {
      entry.buffer = found->second;
      if (entry.buffer->shape != tensors[i].shape)
        return Status(ErrorCode::Internal, "'" + tensors[i].name + "' has changed its shape");
      layout.sameHeader &= !type || *type == entry.tensor.type;
      entry.tensor.type = type.value_or(entry.tensor.type);
    } else {
      entry.copied = source.file->data(tensors[i]);
    }
    layout.keys[i] = layout.entries.size();
    layout.entries.push_back(std::move(entry));
  }
  if (used != buffers.size())
    return Status(ErrorCode::Internal, "the source's file has no place for " +
                                           std::to_string(buffers.size() - used) + " variables");
  return layout;
}

static std::string headerBytes(const Layout &layout) {
  OrderedJson header = OrderedJson::object();
  auto &list = static_cast<OrderedJson::object_t::Container &>(
      header.get_ref<OrderedJson::object_t &>()); // appended to: insertion searches linearly
  if (!layout.metadata.empty()) {
    OrderedJson metadata = OrderedJson::object();
    for (const auto &[key, value] : layout.metadata)
      metadata[key] = value;
    list.emplace_back("__metadata__", std::move(metadata));
  }
  for (size_t key : layout.keys) {
    const SafeTensor &tensor = layout.entries[key].tensor;
    list.emplace_back(tensor.name, OrderedJson{{"dtype", safeTypeName(tensor.type)},
                                               {"shape", tensor.shape},
                                               {"data_offsets", {tensor.begin, tensor.end}}});
  }
  std::string text = header.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string length(8, '\0');
  for (int i = 0; i < 8; ++i)
    length[i] = static_cast<char>(text.size() >> (8 * i));
  return length + text;
}

/// Elements of f32 or f64 memory as the bytes of the file's type.
template <typename From>
static void encode(const From *source, int64_t count, SafeType type, uint8_t *out) {
  auto each = [&](auto convert) {
    for (int64_t i = 0; i < count; ++i) {
      auto value = convert(source[i]);
      std::memcpy(out + i * static_cast<int64_t>(sizeof value), &value, sizeof value);
    }
  };
  switch (type) {
  case SafeType::F64:
    return each([](From x) { return static_cast<double>(x); });
  case SafeType::F16:
    return each([](From x) { return floatToHalf(static_cast<float>(x)); });
  case SafeType::BF16:
    return each([](From x) { return floatToBfloat(static_cast<float>(x)); });
  default:
    return each([](From x) { return static_cast<float>(x); });
  }
}

static Status writeEntry(AtomicFile &file, const Entry &entry) {
  uint64_t bytes = entry.tensor.end - entry.tensor.begin;
  if (entry.copied)
    return file.write(entry.copied, bytes);
  const ConstWeightBuffer &buffer = *entry.buffer;
  if (buffer.type == entry.tensor.type)
    return file.write(buffer.data, bytes);
  constexpr int64_t block = 1 << 16;
  std::vector<uint8_t> encoded(static_cast<size_t>(block * safeTypeSize(entry.tensor.type)));
  for (int64_t at = 0; at < entry.tensor.elements(); at += block) {
    int64_t count = std::min(block, entry.tensor.elements() - at);
    if (buffer.type == SafeType::F64)
      encode(static_cast<const double *>(buffer.data) + at, count, entry.tensor.type,
             encoded.data());
    else
      encode(static_cast<const float *>(buffer.data) + at, count, entry.tensor.type,
             encoded.data());
    if (Status status = file.write(encoded.data(),
                                   static_cast<size_t>(count * safeTypeSize(entry.tensor.type)));
        !status)
      return status;
  }
  return {};
}

static Status writeWeights(const std::string &path, const Layout &layout,
                           const WeightSource *source) {
  StatusOr<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.status();
  Status status = layout.sameHeader ? file->write(source->file->headerBytes())
                                    : file->write(headerBytes(layout));
  for (const Entry &entry : layout.entries) {
    if (!status)
      return status;
    status = writeEntry(*file, entry);
  }
  return status ? file->commit() : status;
}

Status dsc::saveHuggingFace(const std::string &folder, const json &config,
                            std::span<const ConstWeightBuffer> buffers,
                            const SaveOptions &options) {
  for (const ConstWeightBuffer &buffer : buffers)
    if (buffer.type != SafeType::F32 && buffer.type != SafeType::F64)
      return Status(ErrorCode::Internal, "'" + buffer.name + "' is neither f32 nor f64");
  if (Status status = makeFolders(folder); !status)
    return saveError(status.message());
  Layout layout;
  if (options.source) {
    StatusOr<Layout> planned = sourceLayout(*options.source, buffers, options.type);
    if (!planned)
      return planned.status();
    layout = std::move(*planned);
  } else {
    layout = newLayout(buffers, options.type.value_or(SafeType::F32));
  }
  assignOffsets(layout);
  if (Status status = writeWeights(joinPath(folder, "model.safetensors"), layout, options.source);
      !status)
    return saveError(status.message());
  SafeType type = options.type.value_or(SafeType::F32);
  std::string text;
  if (layout.sameHeader) // the source's folder again
    text = options.source->configText;
  else if (options.source)
    text = exportedConfig(parseJson(options.source->configText), type);
  else
    text = exportedConfig(config, type);
  if (Status status = writeFileAtomically(joinPath(folder, "config.json"), text); !status)
    return saveError(status.message());
  return {};
}
