//===- Frontend.h - model.json to Spec -------------------------------------===//
// readSpec reads a spec and the config.json it may name, applies --set flags, checks everything,
// fills in defaults and infers what is left open. All mistakes are reported, not the first alone;
// each points into the file or the flag it comes from.
#ifndef DSC_FRONTEND_FRONTEND_H
#define DSC_FRONTEND_FRONTEND_H

#include "dsc/Frontend/Diagnostic.h"
#include "dsc/Frontend/Spec.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dsc {

/// One resolved value and where it came from.
struct Provenance {
  std::string path;   ///< canonical name: train.optimizer.params.lr
  std::string value;  ///< as JSON
  std::string origin; ///< "model.json:12", "default", "inferred from ...", "--set"
};

/// Evaluate: nothing is trained; steps and training data may be absent, dropout has no effect.
enum class Purpose { Train, Evaluate };

struct ReadOptions {
  /// PATH=VALUE, as after --set. Paths in values are relative to the current folder.
  std::vector<std::string> overrides;
  Purpose purpose = Purpose::Train;
  /// Data and weights that the spec names must exist. When false an absent replay file is an error
  /// only if a value has to be inferred from it.
  bool needsFiles = true;
  /// For tests: take values that are refused because the compiler cannot do them yet.
  bool takesUnfinished = false;
};

struct SpecResult {
  std::optional<Spec> spec; ///< exactly when `errors` is empty
  std::vector<Diagnostic> errors;
  std::vector<Diagnostic>
      warnings; ///< what is understood but has no effect, and looks as if it should
  std::vector<Provenance> values; ///< in the order of the spec table
  /// Where each object of the spec stands, "model.json:12", by its path.
  std::map<std::string, std::string> sections;
  /// Values that only a later phase can judge: errors about them, but for the message.
  std::map<std::string, Diagnostic> places;
  bool ok() const { return spec.has_value(); }
  /// All errors, as printed to stderr.
  std::string errorText() const;
  /// All warnings, likewise.
  std::string warningText() const;
};

SpecResult readSpec(const std::string &path, const ReadOptions &options = {});

inline SpecResult readSpec(const std::string &path, const std::vector<std::string> &overrides,
                           Purpose purpose = Purpose::Train) {
  ReadOptions options;
  options.overrides = overrides;
  options.purpose = purpose;
  return readSpec(path, options);
}

/// As readSpec for a text in memory. `name` is shown in errors; relative paths start at `folder`.
SpecResult readSpecText(std::string text, const std::string &name, const std::string &folder,
                        const ReadOptions &options = {});

/// The grid of a layout of several ranks: a line for each with its coordinates and what it holds.
std::string printGrid(const Spec &spec);

/// The --print-config page: one line for each value, aligned, with its origin; then the grid, if
/// there is one.
std::string printConfig(const SpecResult &result);

} // namespace dsc

#endif // DSC_FRONTEND_FRONTEND_H
