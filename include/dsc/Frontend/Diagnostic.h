//===- Diagnostic.h - errors that point into model.json --------------------===//
// A message belongs to a byte of a source: a file, or a --set flag. It prints as
//
//   model.json:7:23: error: 'train.steps' must be a whole number, not a string
//     "train": {"steps": "20"}
//                        ^
//   fix: write 20, without quotes
//
// Messages are lower case without full stop; they say what was expected and what was found.
#ifndef DSC_FRONTEND_DIAGNOSTIC_H
#define DSC_FRONTEND_DIAGNOSTIC_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dsc {

/// A text that errors can point into.
struct SourceFile {
  std::string name;         ///< as shown: the path as given, or the flag
  std::string text;         ///< without a leading byte order mark
  bool commandLine = false; ///< the text is the argument of one --set
};

/// A byte of a source. Without a file: nowhere in particular.
struct Location {
  const SourceFile *file = nullptr;
  size_t offset = 0;
};

/// Line and column, both from 1; columns count characters, not bytes.
struct LineColumn {
  int64_t line = 1, column = 1;
};
LineColumn lineColumn(const Location &where);

/// "model.json:7" or "--set", for notes and --print-config.
std::string shortPlace(const Location &where);

struct Diagnostic {
  /// `kind` is "fix" or "note".
  struct Note {
    std::string kind, text;
  };

  std::string file; ///< empty: a message without place
  int64_t line = 0, column = 0;
  bool commandLine = false;
  bool isWarning = false; ///< the spec is read all the same
  std::string message;
  std::string sourceLine; ///< cut to a window around the column when long
  int64_t caret = 0;      ///< characters before the caret in `sourceLine`
  std::vector<Note> notes;

  Diagnostic &fix(std::string text) {
    notes.push_back({"fix", std::move(text)});
    return *this;
  }
  Diagnostic &note(std::string text) {
    notes.push_back({"note", std::move(text)});
    return *this;
  }
  /// All lines, each ended by a newline.
  std::string str() const;
};

/// Collects the errors of one reading. After `limit` errors more are counted, not kept.
class DiagnosticList {
public:
  static constexpr size_t limit = 100;

  /// The reference stays valid until the next call.
  Diagnostic &error(const Location &where, std::string message);
  /// Errors of this file come after those of the files announced before.
  void announce(const SourceFile &file) { fileOrder.push_back(&file); }
  bool empty() const { return entries.empty(); }
  /// Errors from here on are counted only: what costs time to say about them can be left out.
  bool full() const { return entries.size() >= limit; }
  size_t size() const { return entries.size() + dropped; }
  /// In the order of the text: files as they were opened, then position.
  std::vector<Diagnostic> take();

private:
  struct Entry {
    Diagnostic diagnostic;
    const SourceFile *file;
    size_t offset, order;
  };
  std::vector<Entry> entries;
  std::vector<const SourceFile *> fileOrder;
  Diagnostic overflow;
  size_t dropped = 0;
};

/// `text` in single quotes, control characters escaped, cut when long.
std::string inQuotes(std::string_view text);

/// The candidate nearest to `name` by edit distance (a transposition counts one), or empty when
/// none is near.
std::string nearestName(std::string_view name, const std::vector<std::string> &candidates);

} // namespace dsc

#endif // DSC_FRONTEND_DIAGNOSTIC_H
