//===- JsonTree.h - JSON with a place for every key and value --------------===//
// Strict JSON (RFC 8259) into a tree that keeps spelling, order and duplicates, so that the checks
// can speak about the text. Hostile input is expected: size, depth and number of values are
// limited, nothing recurses over the depth of the input while reading.
#ifndef DSC_FRONTEND_JSONTREE_H
#define DSC_FRONTEND_JSONTREE_H

#include "dsc/Frontend/Diagnostic.h"
#include "dsc/Support/Json.h"
#include <optional>
#include <string>
#include <vector>

namespace dsc {

struct JsonMember;

struct JsonNode {
  /// Invalid: an error about this value has been given; it satisfies every check.
  enum class Kind { Invalid, Null, Bool, Integer, Number, String, List, Object };

  Kind kind = Kind::Null;
  Location where;
  std::string text; ///< decoded text of a string; spelling of a number
  bool boolean = false;
  __int128 integer = 0;   ///< exact value of an Integer; one beyond 64 bits is saturated and `huge`
  double number = 0;      ///< of Integer and Number
  bool huge = false;      ///< an integer outside [-2^63, 2^64)
  bool underflow = false; ///< not zero as written, zero as a double
  std::vector<JsonNode> items;
  std::vector<JsonMember> members;

  bool is(Kind k) const { return kind == k; }
  /// The last member of that name; duplicates are found by the checks.
  const JsonNode *find(std::string_view key) const;
  JsonNode *find(std::string_view key);
  /// Integer, or Number with an integral value that a double holds exactly (12.0, 1e3).
  std::optional<__int128> asInteger() const;
};

struct JsonMember {
  std::string key;
  Location where; ///< of the key's opening quote
  JsonNode value;
};

struct JsonLimits {
  size_t bytes = 4u << 20;
  size_t depth = 64;
  size_t values = 100000; ///< a tree takes some 200 bytes for each
};

/// Reads `file.text`. Reports every mistake it can get past (numbers as `01`, `NaN`, comments,
/// trailing commas); nothing is returned when the shape of the text could not be understood.
std::optional<JsonNode> parseJson(const SourceFile &file, DiagnosticList &errors,
                                  const JsonLimits &limits = {});

/// Reads a file of at most `limits.bytes` into `result`; an error message, or empty.
std::string readSourceFile(const std::string &path, SourceFile &result,
                           const JsonLimits &limits = {});

/// The tree without places. Integers stay exact; duplicates: the last one.
nlohmann::json toJson(const JsonNode &node);

/// "a string", "the number 12.5", "null"...: for "must be X, not Y".
std::string describe(const JsonNode &node);

/// Decimal digits of a 128-bit integer.
std::string toString(__int128 value);

} // namespace dsc

#endif // DSC_FRONTEND_JSONTREE_H
