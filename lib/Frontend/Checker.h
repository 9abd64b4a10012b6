//===- Checker.h - a JSON tree against the spec table ----------------------===//
// What the table says about single values: known keys, duplicates, types, ranges, choices, features
// that do not exist yet. A value found wrong becomes Invalid, so that later checks do not speak
// about it again; aliases become canonical names.
#ifndef DSC_LIB_FRONTEND_CHECKER_H
#define DSC_LIB_FRONTEND_CHECKER_H

#include "dsc/Frontend/Frontend.h"
#include "dsc/Frontend/JsonTree.h"
#include "dsc/Frontend/SpecTable.h"

namespace dsc {

class Checker {
public:
  Checker(DiagnosticList &errors, const ReadOptions &options)
      : errors(errors), purpose(options.purpose), takesUnfinished(options.takesUnfinished) {}
  void checkRoot(JsonNode &root);

private:
  DiagnosticList &errors;
  Purpose purpose;
  bool takesUnfinished;

  void check(JsonNode &node, const SpecSection &section, const std::string &path);
  bool checkType(JsonNode &node, const SpecKey &key, const std::string &path);
  void checkUnfinished(JsonNode &node, std::string_view key, const std::string &path);
  bool checkAvailable(JsonNode &node, const SpecKey &key, const std::string &path);
  bool checkRange(JsonNode &node, const SpecKey &key, const std::string &path);
  bool checkChoice(JsonNode &node, const SpecKey &key, const std::string &path);
  void checkMembers(JsonNode &node, const SpecSection &section, const std::string &path);
  void unknownKey(const JsonMember &member, const SpecSection &section, const std::string &path);
  void missingKey(const SpecKey &key, const Location &where, const std::string &path);
};

/// Puts the values of --set flags into the tree. `folder`: of the spec, to which paths in values
/// are rewritten. `only`: empty, or the one path whose flags are applied ("model", whose file is
/// opened before the others).
class Overrides {
public:
  Overrides(std::string folder, DiagnosticList &errors)
      : folder(std::move(folder)), errors(errors) {}
  /// Splits the flags; each owns a source that errors point into.
  void parse(const std::vector<std::string> &flags);
  void applyModelPath(JsonNode &root) { apply(root, true); }
  void applyRest(JsonNode &root) { apply(root, false); }

private:
  struct Flag {
    std::unique_ptr<SourceFile> source;
    size_t equals = 0;
  };
  std::string folder;
  DiagnosticList &errors;
  std::vector<Flag> flags;

  void apply(JsonNode &root, bool modelPath);
  void applyFlag(JsonNode &root, const Flag &flag);
  JsonNode value(const Flag &flag, const SpecKey *key);
};

} // namespace dsc

#endif // DSC_LIB_FRONTEND_CHECKER_H
