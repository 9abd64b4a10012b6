//===- JsonReader.cpp - nlohmann's SAX events into a tree with places ------===//
// The lexer is nlohmann's; a counting iterator tells how far it has read, which gives each token
// its place. nlohmann stops at the first error. To report all of them, a mistake of a known kind is
// blanked out in a copy of the text (same length, so places stay) and the text is read again.
#include "JsonMistakes.h"
#include "dsc/Frontend/JsonTree.h"
#include <set>

using namespace dsc;

namespace {

/// Reads characters and counts them.
class CountingIterator {
public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char *;
  using reference = const char &;

  CountingIterator(const char *at, size_t *count) : at(at), count(count) {}
  reference operator*() const { return *at; }
  CountingIterator &operator++() {
    ++at;
    ++*count;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator old = *this;
    ++*this;
    return old;
  }
  bool operator==(const CountingIterator &other) const { return at == other.at; }
  bool operator!=(const CountingIterator &other) const { return at != other.at; }

private:
  const char *at;
  size_t *count;
};

/// Why reading stopped, in terms of the text.
struct Stop {
  size_t offset = 0;
  int id = 0; ///< nlohmann's exception id; 0: a limit, already reported
  std::string detail;
};

class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
public:
  TreeBuilder(const SourceFile &file, const std::string &text, const std::set<size_t> &invalid,
              DiagnosticList &errors, const JsonLimits &limits)
      : file(file), text(text), invalid(invalid), errors(errors), limits(limits) {}

  size_t consumed = 0; ///< bytes the lexer has taken
  std::optional<Stop> stop;
  JsonNode root;
  std::vector<JsonNode *> open; ///< containers around the current place

  bool null() override { return add(JsonNode::Kind::Null) != nullptr; }
  bool boolean(bool value) override {
    JsonNode *node = add(JsonNode::Kind::Bool);
    if (node)
      node->boolean = value;
    return node;
  }
  bool number_integer(int64_t value) override { return addInteger(value); }
  bool number_unsigned(uint64_t value) override { return addInteger(value); }
  bool number_float(double value, const std::string &) override {
    JsonNode *node = add(JsonNode::Kind::Number);
    if (!node)
      return false;
    size_t length = 0;
    while (node->where.offset + length < text.size() &&
           isWordCharacter(text[node->where.offset + length]))
      ++length;
    node->text = text.substr(node->where.offset, length);
    cursor = node->where.offset + length;
    node->number = value;
    if (node->text.find_first_of(".eE") == std::string::npos) {
      if (!node->is(JsonNode::Kind::Invalid))
        node->kind = JsonNode::Kind::Integer;
      node->huge = true;
      node->integer =
          value < 0 ? -(static_cast<__int128>(1) << 100) : static_cast<__int128>(1) << 100;
    }
    std::string_view mantissa =
        std::string_view(node->text).substr(0, node->text.find_first_of("eE"));
    node->underflow = value == 0 && mantissa.find_first_of("123456789") != std::string_view::npos;
    return true;
  }
  bool string(std::string &value) override {
    JsonNode *node = add(JsonNode::Kind::String);
    if (!node)
      return false;
    node->text = std::move(value);
    cursor = consumed;
    return true;
  }
  bool binary(nlohmann::json::binary_t &) override { return false; }
  bool start_object(size_t) override { return enter(JsonNode::Kind::Object); }
  bool start_array(size_t) override { return enter(JsonNode::Kind::List); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool key(std::string &value) override {
    size_t at = tokenStart();
    open.back()->members.push_back({std::move(value), {&file, at}, JsonNode()});
    cursor = consumed;
    return true;
  }
  bool parse_error(size_t position, const std::string &,
                   const nlohmann::json::exception &e) override {
    stop = Stop{position == 0 ? 0 : position - 1, e.id, e.what()};
    return false;
  }

private:
  const SourceFile &file;
  const std::string &text;
  const std::set<size_t> &invalid;
  DiagnosticList &errors;
  const JsonLimits &limits;
  size_t cursor = 0; ///< end of the last token
  size_t values = 0;

  size_t tokenStart() const {
    size_t at = text.find_first_not_of(" \t\r\n,:", cursor);
    return at == std::string::npos ? text.size() : at;
  }

  JsonNode *add(JsonNode::Kind kind) {
    size_t at = tokenStart();
    cursor = consumed;
    if (++values > limits.values) {
      errors.error({&file, at},
                   "the file has more than " + std::to_string(limits.values) + " values");
      stop = Stop{at, 0, ""};
      return nullptr;
    }
    JsonNode *node = &root;
    if (!open.empty() && open.back()->is(JsonNode::Kind::List))
      node = &open.back()->items.emplace_back();
    else if (!open.empty())
      node = &open.back()->members.back().value;
    node->kind = invalid.count(at) ? JsonNode::Kind::Invalid : kind;
    node->where = {&file, at};
    return node;
  }

  bool addInteger(__int128 value) {
    JsonNode *node = add(JsonNode::Kind::Integer);
    if (!node)
      return false;
    size_t length = 0;
    while (node->where.offset + length < text.size() &&
           isWordCharacter(text[node->where.offset + length]))
      ++length;
    node->text = text.substr(node->where.offset, length);
    cursor = node->where.offset + length;
    node->integer = value;
    node->number = static_cast<double>(value);
    return true;
  }

  bool enter(JsonNode::Kind kind) {
    JsonNode *node = add(kind);
    if (!node)
      return false;
    if (open.size() >= limits.depth) {
      errors.error(node->where, "nested deeper than " + std::to_string(limits.depth) + " levels");
      stop = Stop{node->where.offset, 0, ""};
      return false;
    }
    open.push_back(node);
    return true;
  }
  bool leave() {
    cursor = consumed;
    open.pop_back();
    return true;
  }
};

/// Reads a text until it is understood or a mistake cannot be blanked out.
class Reader {
public:
  Reader(const SourceFile &file, DiagnosticList &errors, const JsonLimits &limits)
      : file(file), errors(errors), limits(limits), text(file.text) {}

  std::optional<JsonNode> read() {
    if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
      errors.error({&file, text.size()}, "the file is empty, expected a JSON object");
      return std::nullopt;
    }
    if (size_t bad = invalidUtf8(text); bad != std::string::npos) {
      char code[8];
      std::snprintf(code, sizeof code, "0x%02x", static_cast<unsigned char>(text[bad]));
      errors.error({&file, bad}, "byte " + std::string(code) + " at offset " + std::to_string(bad) +
                                     " is not UTF-8");
      return std::nullopt;
    }
    if (text.rfind("\xEF\xBB\xBF", 0) == 0) {
      errors.error({&file, 0}, "a second byte order mark");
      return std::nullopt;
    }
    constexpr int mostRepairs = 20;
    for (int attempt = 0; attempt <= mostRepairs; ++attempt) {
      TreeBuilder builder(file, text, invalid, errors, limits);
      CountingIterator begin(text.data(), &builder.consumed),
          end(text.data() + text.size(), &builder.consumed);
      bool done = nlohmann::json::sax_parse(begin, end, &builder);
      if (done)
        return std::move(builder.root);
      if (!builder.stop || builder.stop->id == 0 || !repair(builder))
        return std::nullopt;
    }
    return std::nullopt;
  }

private:
  const SourceFile &file;
  DiagnosticList &errors;
  const JsonLimits &limits;
  std::string text; ///< with the mistakes so far blanked out
  std::set<size_t> invalid;

  bool inKey(const Stop &stop) const { return stop.detail.find("object key") != std::string::npos; }

  /// Reports the mistake at the stop; false when the rest cannot be understood.
  bool repair(const TreeBuilder &builder) {
    const Stop &stop = *builder.stop;
    size_t at = std::min(stop.offset, text.size());
    if (stop.id != 406 && at < text.size() && (text[at] == '}' || text[at] == ']')) {
      size_t before = at == 0 ? std::string::npos : text.find_last_not_of(" \t\r\n", at - 1);
      if (before != std::string::npos && text[before] == ',') {
        errors.error({&file, before}, "comma before " + inQuotes(text.substr(at, 1)))
            .fix("remove the comma");
        text[before] = ' ';
        return true;
      }
    }
    if (at < text.size() && (text[at] == '/' || text[at] == '#') && stop.id != 406)
      return repairComment(at);
    // The lexer may have read one character past a word.
    size_t begin = at;
    bool lexical = stop.id == 406 || stop.detail.find("invalid number") != std::string::npos;
    if (lexical && (begin >= text.size() || !isWordCharacter(text[begin])) && begin > 0)
      --begin;
    if (begin < text.size() && isWordCharacter(text[begin]) &&
        stop.detail.find("invalid string") == std::string::npos) {
      while (begin > 0 && isWordCharacter(text[begin - 1]))
        --begin;
      size_t end = begin;
      while (end < text.size() && isWordCharacter(text[end]))
        ++end;
      return repairWord(stop, begin, end, builder.open.empty());
    }
    explain(builder, at);
    return false;
  }

  bool repairWord(const Stop &stop, size_t begin, size_t end, bool atRoot) {
    std::string word = text.substr(begin, end - begin);
    bool wellFormed = stop.id != 406 && !parseJson(word).is_discarded();
    if (wellFormed) { // a value where none is expected
      explainUnexpected(begin, stop, word);
      return false;
    }
    if (inKey(stop)) {
      errors.error({&file, begin}, "a key stands in double quotes").fix("write \"" + word + "\"");
      return false;
    }
    if (invalid.count(begin))
      return false;
    if (stop.id == 406) {
      errors.error({&file, begin},
                   "number " + inQuotes(word) + " is out of range: the largest is about 1.8e308");
    } else {
      auto [message, fix] = explainWord(word);
      Diagnostic &d = errors.error({&file, begin}, message);
      if (!fix.empty())
        d.fix(fix);
    }
    if (atRoot) // hardly a spec
      return false;
    text.replace(begin, end - begin, "0" + std::string(end - begin - 1, ' '));
    invalid.insert(begin);
    return true;
  }

  bool repairComment(size_t at) {
    bool block = text.compare(at, 2, "/*") == 0;
    if (text[at] == '/' && !block && text.compare(at, 2, "//") != 0) {
      errors.error({&file, at}, "unexpected '/'");
      return false;
    }
    errors.error({&file, at}, "JSON has no comments").fix("remove the comment");
    size_t end = block ? text.find("*/", at + 2) : text.find('\n', at);
    end = end == std::string::npos ? text.size() : block ? end + 2 : end;
    for (size_t i = at; i < end; ++i)
      if (text[i] != '\n')
        text[i] = ' ';
    return true;
  }

  void explainUnexpected(size_t at, const Stop &stop, const std::string &word) {
    if (stop.detail.find("expected end of input") != std::string::npos)
      errors.error({&file, at}, "text after the end of the JSON value");
    else if (stop.detail.find("expected ':'") != std::string::npos)
      errors.error({&file, at}, "expected ':' before " + inQuotes(word));
    else if (inKey(stop))
      errors.error({&file, at}, "expected a key in double quotes, found " + inQuotes(word));
    else
      errors.error({&file, at}, "expected ',' before " + inQuotes(word));
  }

  void explain(const TreeBuilder &builder, size_t at) {
    const std::string &detail = builder.stop->detail;
    auto has = [&](const char *part) { return detail.find(part) != std::string::npos; };
    if (has("missing closing quote")) {
      errors.error({&file, at}, "a string is not closed").fix("add '\"'");
    } else if (has("must be escaped")) {
      errors.error({&file, at}, "a line break or control character inside a string")
          .fix(text[at] == '\n' || text[at] == '\r' ? "close the string, or write \\n"
                                                    : "write it as \\u00XX");
    } else if (has("surrogate") || has("forbidden character after backslash") ||
               has("hexadecimal digits") || has("invalid string")) {
      size_t slash = text.rfind('\\', at);
      errors.error(
          {&file, slash == std::string::npos ? at : slash},
          has("surrogate")
              ? "half of a surrogate pair in a string"
              : "unknown escape in a string: JSON has \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX");
    } else if (at < text.size() && text[at] == '\0') {
      // The lexer takes a zero byte for the end of its input; the file goes on.
      errors.error({&file, at}, std::string(inKey(*builder.stop) ? "expected a key in double quotes"
                                                                 : "expected a value") +
                                    ", found '\\x00'");
    } else if (at >= text.size() || has("unexpected end of input")) {
      Diagnostic &d = errors.error({&file, text.size()}, "the file ends too early");
      if (!builder.open.empty()) {
        const JsonNode &last = *builder.open.back();
        d.note(std::string(last.is(JsonNode::Kind::Object) ? "'{'" : "'['") + " of " +
               shortPlace(last.where) + " is not closed");
      }
    } else if (text[at] == '\'') {
      errors.error({&file, at}, "text stands in double quotes, not single ones");
    } else if (has("expected end of input")) {
      errors.error({&file, at}, "text after the end of the JSON value");
    } else if (has("unexpected string literal")) {
      // The place is the closing quote; the mistake is before the opening one.
      size_t quote = at;
      while (quote > 0 && (text[--quote] != '"' || (quote > 0 && text[quote - 1] == '\\')))
        ;
      errors.error({&file, quote},
                   has("expected ':'") ? "expected ':' after the key" : "expected ',' before this");
    } else {
      size_t expected = detail.rfind("expected ");
      std::string tail = has("; expected ")     ? detail.substr(expected)
                         : inKey(*builder.stop) ? "expected a key in double quotes"
                                                : "expected a value";
      errors.error({&file, at}, tail + ", found " + inQuotes(std::string_view(text).substr(at, 1)));
    }
  }
};

} // namespace

std::optional<JsonNode> dsc::parseJson(const SourceFile &file, DiagnosticList &errors,
                                       const JsonLimits &limits) {
  if (file.text.size() > limits.bytes) {
    errors.error({&file, 0}, "the file has " + std::to_string(file.text.size()) +
                                 " bytes, more than the limit of " + std::to_string(limits.bytes));
    return std::nullopt;
  }
  return Reader(file, errors, limits).read();
}
