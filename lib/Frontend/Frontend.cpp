//===- Frontend.cpp - reading a spec from file to Spec ---------------------===//
#include "dsc/Frontend/Frontend.h"
#include "Checker.h"
#include "Resolver.h"
#include <algorithm>
#include <filesystem>

using namespace dsc;
using Kind = JsonNode::Kind;

/// Puts the tree of the config.json that "model" names in place of its path.
static void loadModel(JsonNode &root, const std::string &folder, SourceFile &file,
                      DiagnosticList &errors) {
  JsonNode *model = root.find("model");
  if (!model || !model->is(Kind::String))
    return;
  std::filesystem::path path(model->text);
  std::string full = (path.is_absolute() ? path : std::filesystem::path(folder) / path)
                         .lexically_normal()
                         .generic_string();
  Location where = model->where;
  if (model->text.empty()) {
    errors.error(where, "'model' is an empty path");
    model->kind = Kind::Invalid;
    return;
  }
  if (std::string problem = readSourceFile(full, file); !problem.empty()) {
    std::error_code code;
    Diagnostic &d = errors.error(where, "'model': " + inQuotes(full) + ": " + problem);
    if (std::filesystem::is_regular_file(std::filesystem::path(full) / "config.json", code))
      d.fix("write \"" + (path / "config.json").generic_string() + "\"");
    model->kind = Kind::Invalid;
    return;
  }
  std::optional<JsonNode> tree = parseJson(file, errors);
  if (!tree) {
    model->kind = Kind::Invalid;
    return;
  }
  if (!tree->is(Kind::Object)) {
    errors.error(tree->where, "a model configuration is a JSON object, not " + describe(*tree));
    tree->kind = Kind::Invalid;
  }
  *model = std::move(*tree);
}

static void collectSections(const JsonNode &node, const std::string &path,
                            std::map<std::string, std::string> &out) {
  if (!node.is(Kind::Object))
    return;
  if (!path.empty())
    out[path] = shortPlace(node.where);
  for (const JsonMember &member : node.members)
    collectSections(member.value, path.empty() ? member.key : path + "." + member.key, out);
}

static SpecResult readSource(const SourceFile &source, const std::string &folder,
                             const ReadOptions &options) {
  SpecResult result;
  DiagnosticList errors, warnings;
  SourceFile config;
  errors.announce(source);
  errors.announce(config);
  Overrides overrides(folder, errors);
  overrides.parse(options.overrides);
  std::optional<JsonNode> root = parseJson(source, errors);
  if (root) {
    if (root->is(Kind::Object)) {
      overrides.applyModelPath(*root);
      loadModel(*root, folder, config, errors);
      overrides.applyRest(*root);
    }
    Checker(errors, options).checkRoot(*root);
    if (root->is(Kind::Object)) {
      Spec spec;
      spec.path = source.name;
      spec.folder = folder;
      Resolver resolver(*root, spec, errors, warnings, options);
      resolver.resolve();
      result.values = resolver.provenance();
      for (const auto &[path, where] : resolver.judgedLater) {
        DiagnosticList place;
        result.places[path] = place.error(where, "");
      }
      if (errors.empty()) {
        result.spec = std::move(spec);
        collectSections(*root, "", result.sections); // known ones alone, so they are few
      }
    }
  }
  result.errors = errors.take();
  result.warnings = warnings.take();
  for (Diagnostic &warning : result.warnings)
    warning.isWarning = true;
  return result;
}

SpecResult dsc::readSpec(const std::string &path, const ReadOptions &options) {
  SourceFile source;
  if (std::string problem = readSourceFile(path, source); !problem.empty()) {
    SpecResult result;
    Diagnostic error;
    error.file = path;
    error.message = problem;
    result.errors.push_back(std::move(error));
    return result;
  }
  std::string folder = std::filesystem::path(path).parent_path().generic_string();
  return readSource(source, folder.empty() ? "." : folder, options);
}

SpecResult dsc::readSpecText(std::string text, const std::string &name, const std::string &folder,
                             const ReadOptions &options) {
  SourceFile source{name, std::move(text), false};
  if (source.text.rfind("\xEF\xBB\xBF", 0) == 0)
    source.text.erase(0, 3);
  return readSource(source, folder, options);
}

std::string SpecResult::errorText() const {
  std::string text;
  for (const Diagnostic &error : errors)
    text += error.str();
  if (errors.size() > 1)
    text += std::to_string(errors.size()) + " errors\n";
  return text;
}

std::string SpecResult::warningText() const {
  std::string text;
  for (const Diagnostic &warning : warnings)
    text += warning.str();
  return text;
}

std::string dsc::printConfig(const SpecResult &result) {
  size_t pathWidth = 0, valueWidth = 0;
  constexpr size_t widest = 28; // longer values push their origin out
  for (const Provenance &v : result.values) {
    pathWidth = std::max(pathWidth, v.path.size());
    if (v.value.size() <= widest)
      valueWidth = std::max(valueWidth, v.value.size());
  }
  std::string text;
  for (const Provenance &v : result.values) {
    std::string value =
        v.value + std::string(valueWidth > v.value.size() ? valueWidth - v.value.size() : 0, ' ');
    text += v.path + std::string(pathWidth - v.path.size(), ' ') + " = " + value + "  # " +
            v.origin + "\n";
  }
  if (result.ok() && result.spec->parallel.layout.ranks() > 1)
    text += printGrid(*result.spec);
  return text;
}
