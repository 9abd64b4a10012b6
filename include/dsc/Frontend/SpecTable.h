//===- SpecTable.h - every key of model.json, once -------------------------===//
// The one list behind the checks, the defaults, --print-config, docs/model.schema.json and
// docs/Spec.md. To add a key: add its row in lib/Frontend/SpecTable*.cpp, read it in Resolve*.cpp,
// regenerate the two documents
// (`dsc --emit-schema`, `dsc --emit-spec-reference`); the tests for unknown neighbours, types,
// ranges and duplicates follow from the row.
#ifndef DSC_FRONTEND_SPECTABLE_H
#define DSC_FRONTEND_SPECTABLE_H

#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dsc {

/// What a value may be; combined with |.
enum SpecType : unsigned {
  TInteger = 1,
  TNumber = 2, ///< includes integers
  TString = 4,
  TBool = 8,
  TObject = 16,
  TList = 32,
  TNull = 64,
  TAuto = 128, ///< the string "auto": as if the key were absent
  TPath = 256, ///< a string; relative to the folder of the spec
  TAny = 512,
};

enum class KeyUse {
  Used,    ///< read by this compiler
  Ignored, ///< understood, without effect here; `reason` says why
  Limited, ///< only the values in `only` exist today, others are refused as not available yet
  Absent,  ///< a section of which nothing exists yet; may be null, false or {"enabled": false}
};

struct SpecKey {
  /// Dotted; "[]" stands for each item of a list: "data.train[].path".
  std::string_view path;
  unsigned types = TAny;
  /// JSON text of the default; empty: none, see `inferred`.
  std::string_view fallback = {};
  /// What stands in for an absent value, in words.
  std::string_view inferred = {};
  bool required = false;
  /// Range of numbers, both ends included unless said otherwise.
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool aboveMin = false, belowMax = false;
  /// Legal strings.
  std::vector<std::string_view> choices = {};
  /// Strings other systems know, refused as not available yet rather than as wrong.
  std::vector<std::string_view> later = {};
  /// Other names of the key.
  std::vector<std::string_view> aliases = {};
  KeyUse use = KeyUse::Used;
  /// JSON list, for Limited.
  std::string_view only = {};
  std::string_view reason = {};
  /// Optimizer or scheduler types that have this parameter; empty: all.
  std::vector<std::string_view> belongsTo = {};
  std::string_view unit = {};
  std::string_view doc = {};
  /// The contents of this object or list are not looked at.
  bool opaque = false;
  bool ignoreCase = false; ///< of the strings in `choices`

  std::string_view name() const; ///< last part of the path, without "[]"
};

/// All rows, in the order of the documents.
const std::vector<SpecKey> &specTable();

/// The table as a tree.
struct SpecSection {
  const SpecKey *key = nullptr;
  std::map<std::string, SpecSection, std::less<>> children; ///< canonical names
  std::map<std::string, std::string, std::less<>> aliases;  ///< to canonical names
  std::vector<SpecSection> element;                         ///< of a list: none or one
  const SpecSection *child(std::string_view name) const;    ///< by canonical name or alias
  std::vector<std::string> names() const;                   ///< canonical, then aliases
};
const SpecSection &specTree();
const SpecKey *findSpecKey(std::string_view path);

/// "a whole number", "a number or \"auto\"", ...
std::string typeNames(const SpecKey &key);
/// "at least 1", "from 0 to below 1", ...; empty without limits.
std::string rangeText(const SpecKey &key);

/// docs/model.schema.json and docs/Spec.md.
std::string emitSpecSchema();
std::string emitSpecReference();

/// Value, default and meaning of the key at `path`, or of all keys whose last part it is, with the
/// keys below; empty if there is none.
std::string explainSpecKey(std::string_view path);
/// The path or last part that is spelled most like `path`; empty if none comes near.
std::string nearestSpecKey(std::string_view path);

} // namespace dsc

#endif // DSC_FRONTEND_SPECTABLE_H
