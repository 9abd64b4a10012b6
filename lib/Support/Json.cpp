//===- Json.cpp - strict JSON through nlohmann's event interface ------------===//
// Objects are built by appending, with names checked in a set: the library's own ordered map
// searches linearly.
#include "dsc/Support/Json.h"
#include <set>
#include <vector>

template std::string nlohmann::basic_json<>::dump(int, char, bool, error_handler_t) const;
template std::string nlohmann::basic_json<nlohmann::ordered_map>::dump(int, char, bool,
                                                                       error_handler_t) const;

using namespace dsc;
using Json = nlohmann::ordered_json;

namespace {
class Builder : public nlohmann::json_sax<Json> {
public:
  explicit Builder(int maxDepth) : maxDepth(maxDepth) {}
  Json result;
  std::string error;

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t &) override { return add(value); }
  bool string(string_t &value) override { return add(std::move(value)); }
  bool binary(binary_t &) override { return fail("binary value"); }
  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t &name) override {
    if (!levels.back().names.insert(name).second)
      return fail("duplicate key '" + name + "'");
    levels.back().key = std::move(name);
    return true;
  }

  bool parse_error(size_t position, const std::string &,
                   const nlohmann::detail::exception &reason) override {
    if (reason.id == 406)
      return fail("number out of range at byte " + std::to_string(position));
    std::string what = reason.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 3: syntax error ..."
    size_t start = what.find(": ");
    return fail("no valid JSON at byte " + std::to_string(position) +
                (start == std::string::npos ? "" : what.substr(start)));
  }

private:
  struct Level {
    Json value;
    std::string key;
    std::set<std::string> names;
  };

  bool fail(std::string reason) {
    if (error.empty())
      error = std::move(reason);
    return false;
  }
  bool open(Json value) {
    if (static_cast<int>(levels.size()) >= maxDepth)
      return fail("nested deeper than " + std::to_string(maxDepth) + " levels");
    levels.push_back({std::move(value), {}, {}});
    return true;
  }
  bool close() {
    Json value = std::move(levels.back().value);
    levels.pop_back();
    return add(std::move(value));
  }
  bool add(Json value) {
    if (levels.empty()) {
      result = std::move(value);
      return true;
    }
    Level &top = levels.back();
    if (top.value.is_array())
      top.value.push_back(std::move(value));
    else
      static_cast<Json::object_t::Container &>(top.value.get_ref<Json::object_t &>())
          .emplace_back(std::move(top.key), std::move(value));
    return true;
  }

  int maxDepth;
  std::vector<Level> levels;
};
} // namespace

nlohmann::json dsc::parseJson(std::string_view text) {
  return nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
}

StatusOr<Json> dsc::parseStrictJson(std::string_view text, const std::string &what, int maxDepth) {
  if (text.starts_with("\xef\xbb\xbf"))
    text.remove_prefix(3);
  Builder builder(maxDepth);
  if (!Json::sax_parse(text.begin(), text.end(), &builder, Json::input_format_t::json, true))
    return inputError(what + ": " +
                      (builder.error.empty() ? std::string("no valid JSON") : builder.error));
  return std::move(builder.result);
}
