//===- SpecBuilder.h - specs with one key placed on purpose ----------------===//
// A small valid spec, and texts made from it in which the place of one key or value is known.
#ifndef DSC_TEST_UNIT_FRONTEND_SPECBUILDER_H
#define DSC_TEST_UNIT_FRONTEND_SPECBUILDER_H

#include "dsc/Frontend/Frontend.h"
#include "dsc/Frontend/SpecTable.h"
#include "dsc/Support/Json.h"
#include <gtest/gtest.h>

namespace dsc::test {

using Json = nlohmann::ordered_json;

inline Json smallSpec() {
  return Json::parse(R"({
    "schema_version": 1,
    "model": {"n_layer": 2, "n_embd": 12, "n_head": 3, "n_positions": 16, "vocab_size": 300,
              "embd_pdrop": 0, "attn_pdrop": 0, "resid_pdrop": 0},
    "data": {"train": [{"path": "a.txt"}], "validation": [{"path": "b.txt"}]},
    "train": {"train_batch_size": 2, "steps": 10}})");
}

inline SpecResult readText(const std::string &text, std::vector<std::string> overrides = {},
                           Purpose purpose = Purpose::Train) {
  ReadOptions options;
  options.overrides = std::move(overrides);
  options.purpose = purpose;
  options.needsFiles = false;
  return readSpecText(text, "model.json", ".", options);
}

/// The container of the last part of `path`, made if absent. "[]" is the first item.
inline Json *container(Json &spec, std::string_view path) {
  Json *at = &spec;
  for (size_t dot; (dot = path.find('.')) != std::string_view::npos; path.remove_prefix(dot + 1)) {
    std::string part(path.substr(0, dot));
    bool item = part.size() > 2 && part.substr(part.size() - 2) == "[]";
    if (item)
      part.resize(part.size() - 2);
    at = &(*at)[part];
    if (item)
      at = &(at->is_array() && !at->empty() ? (*at)[0] : (*at = Json::array({Json::object()}))[0]);
    else if (!at->is_object())
      *at = Json::object();
  }
  return at;
}

/// A text, and where in it the value (or key) is.
struct Placed {
  std::string text;
  int64_t line, column;
};

inline Placed place(std::string text, const std::string &marker, const std::string &replacement) {
  size_t at = text.find(marker);
  EXPECT_NE(at, std::string::npos) << marker << " in " << text;
  text.replace(at, marker.size(), replacement);
  size_t lineStart = text.rfind('\n', at) + 1;
  return {text, 1 + std::count(text.begin(), text.begin() + at, '\n'),
          static_cast<int64_t>(at - lineStart) + 1};
}

/// The small spec with `value` (JSON text, perhaps malformed) at the key.
inline Placed withValue(const SpecKey &key, const std::string &value, Json spec = smallSpec()) {
  std::string path(key.path);
  if (path.size() > 2 && path.substr(path.size() - 2) == "[]") {
    path.resize(path.size() - 2);
    (*container(spec, path))[std::string(key.name())] = Json::array({"@HERE@"});
  } else {
    (*container(spec, path))[std::string(key.name())] = "@HERE@";
  }
  return place(spec.dump(2), "\"@HERE@\"", value);
}

/// Whether an error stands exactly there and its message contains `part`.
inline testing::AssertionResult hasError(const SpecResult &result, const Placed &where,
                                         const std::string &part) {
  for (const Diagnostic &d : result.errors)
    if (d.line == where.line && d.column == where.column &&
        d.message.find(part) != std::string::npos)
      return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "expected \"" << part << "\" at " << where.line << ":" << where.column << ", found\n"
         << result.errorText() << "in\n"
         << where.text;
}

inline testing::AssertionResult hasError(const SpecResult &result, const std::string &part) {
  if (result.errorText().find(part) != std::string::npos)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << "expected \"" << part << "\", found\n"
                                     << result.errorText();
}

} // namespace dsc::test

#endif // DSC_TEST_UNIT_FRONTEND_SPECBUILDER_H
