//===- Manifest.cpp - what a plan says about its spec and its files --------===//
#include "dsc/Frontend/Spec.h"
#include "dsc/Passes/Emit.h"
#include "dsc/Runtime/Data/TokenFile.h"
#include "dsc/Support/File.h"
#include "dsc/Support/Hash.h"
#include "dsc/Support/Json.h"
#include <filesystem>

using namespace dsc;
namespace fs = std::filesystem;

namespace {
/// Paths of a spec, as the plan stores them.
class Paths {
public:
  Paths(const std::string &specFolder, const std::string &planPath)
      : specFolder(specFolder.empty() ? "." : specFolder) {
    std::error_code ignored;
    fs::path folder = fs::path(planPath).parent_path();
    from = fs::weakly_canonical(this->specFolder, ignored);
    to = fs::weakly_canonical(folder.empty() ? "." : folder, ignored);
  }
  /// Relative to the plan's folder; absolute paths stay.
  std::string inPlan(const std::string &path) const {
    if (path.empty() || fs::path(path).is_absolute() || from == to)
      return path;
    return (from / path).lexically_normal().lexically_relative(to).generic_string();
  }
  /// As the compiler opens it.
  std::string here(const std::string &path) const { return joinPath(specFolder, path); }

private:
  std::string specFolder;
  fs::path from, to;
};
} // namespace

static void rewrite(nlohmann::json &value, const Paths &paths) {
  if (value.is_string())
    value = paths.inPlan(value.get<std::string>());
}

static nlohmann::json *child(nlohmann::json *value, const char *key) {
  if (!value || !value->is_object() || !value->contains(key))
    return nullptr;
  return &(*value)[key];
}

StatusOr<JsonValue> dsc::buildManifest(const Spec &spec, const std::string &planPath,
                                       const std::vector<const Target *> &targets,
                                       const std::string &compilerVersion) {
  Paths paths(spec.folder, planPath);
  nlohmann::json manifest, files = nlohmann::json::array();
  std::string errors;
  auto addFile = [&](const std::string &path, DataFormat format, const char *formatName) {
    StatusOr<FileIdentity> identity = identifyDataFile(paths.here(path), format);
    if (!identity.ok()) {
      errors += (errors.empty() ? "" : "\n") + identity.status().message();
      return;
    }
    files.push_back({{"path", paths.inPlan(path)},
                     {"format", formatName},
                     {"bytes", identity->bytes},
                     {"xxh3", hex64(identity->hash)}});
  };
  static constexpr const char *formats[] = {"text", "megatron", "uint16", "replay"};
  for (const auto *list : {&spec.data.train, &spec.data.validation})
    for (const DataFile &file : *list) {
      addFile(file.path, file.format, formats[int(file.format)]);
      if (!file.labels.empty())
        addFile(file.labels, DataFormat::Replay, "replay");
    }
  if (spec.initFrom)
    addFile(joinPath(*spec.initFrom, "model.safetensors"), DataFormat::Replay, "safetensors");
  if (!errors.empty())
    return inputError(errors);

  nlohmann::json resolved = *spec.resolved;
  if (nlohmann::json *data = child(&resolved, "data"))
    for (const char *list : {"train", "validation"})
      if (nlohmann::json *entries = child(data, list); entries && entries->is_array())
        for (nlohmann::json &file : *entries)
          for (const char *key : {"path", "labels"})
            if (nlohmann::json *path = child(&file, key))
              rewrite(*path, paths);
  for (auto [section, key] : {std::pair("init", "from"), {"checkpoint", "dir"}, {"log", "dir"}})
    if (nlohmann::json *path = child(child(&resolved, section), key))
      rewrite(*path, paths);

  manifest["compiler"] = compilerVersion;
  manifest["ranks"] = spec.parallel.layout.ranks();
  manifest["spec"] = std::move(resolved);
  manifest["files"] = std::move(files);
  manifest["targets"] = nlohmann::json::array();
  for (const Target *target : targets)
    manifest["targets"].push_back(target->name);
  return JsonValue(std::move(manifest));
}
