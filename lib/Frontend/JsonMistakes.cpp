//===- JsonMistakes.cpp - slips that people make in JSON -------------------===//
#include "JsonMistakes.h"
#include "dsc/Frontend/Diagnostic.h"
#include <algorithm>

using namespace dsc;

bool dsc::isWordCharacter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' ||
         c == '-' || c == '.' || c == '_';
}

std::pair<std::string, std::string> dsc::explainWord(const std::string &word) {
  std::string lower;
  for (char c : word)
    lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  std::string bare = lower.substr(
      lower.find_first_not_of("+-") == std::string::npos ? 0 : lower.find_first_not_of("+-"));
  if (bare == "nan" || bare == "inf" || bare == "infinity")
    return {inQuotes(word) + " is not a finite number, which JSON does not have", ""};
  if (bare == "true" || bare == "false")
    return {inQuotes(word) + " is not JSON", "write " + bare};
  if (bare == "none" || bare == "nil" || bare == "undefined")
    return {inQuotes(word) + " is not JSON", "write null"};
  char first = bare.empty() ? '\0' : bare[0];
  if ((first < '0' || first > '9') && first != '.')
    return {inQuotes(word) + " is not JSON: text stands in double quotes",
            "write \"" + word + "\""};
  if (bare.find('_') != std::string::npos)
    return {"malformed number " + inQuotes(word) + ": underscores do not belong in numbers", ""};
  if (bare.rfind("0x", 0) == 0)
    return {"malformed number " + inQuotes(word) + ": numbers are decimal", ""};
  if (word[0] == '+')
    return {"malformed number " + inQuotes(word) + ": no plus sign before a number",
            "write " + word.substr(1)};
  if (first == '.')
    return {"malformed number " + inQuotes(word) + ": a digit stands before the point",
            "write " + std::string(word[0] == '-' ? "-" : "") + "0" + bare};
  if (bare.size() > 1 && first == '0' && bare[1] >= '0' && bare[1] <= '9') {
    size_t digit = std::min(bare.find_first_not_of('0'), bare.size() - 1);
    return {"malformed number " + inQuotes(word) + ": no zeros before a number",
            "write " + std::string(word[0] == '-' ? "-" : "") + bare.substr(digit)};
  }
  if (bare.back() == '.' && bare.find('.') == bare.size() - 1)
    return {"malformed number " + inQuotes(word) + ": a digit stands after the point",
            "write " + word + "0"};
  return {"malformed number " + inQuotes(word), ""};
}

size_t dsc::invalidUtf8(const std::string &s) {
  for (size_t i = 0; i < s.size();) {
    auto byte = [&](size_t k) {
      return i + k < s.size() ? static_cast<unsigned char>(s[i + k]) : 0u;
    };
    unsigned a = byte(0), b = byte(1);
    size_t length = a < 0x80                 ? 1
                    : a >= 0xC2 && a <= 0xDF ? 2
                    : (a & 0xF0) == 0xE0     ? 3
                    : a >= 0xF0 && a <= 0xF4 ? 4
                                             : 0;
    bool fine = length != 0;
    for (size_t k = 1; k < length; ++k)
      fine = fine && (byte(k) & 0xC0) == 0x80;
    if ((a == 0xE0 && b < 0xA0) || (a == 0xED && b >= 0xA0) || (a == 0xF0 && b < 0x90) ||
        (a == 0xF4 && b >= 0x90))
      fine = false;
    if (!fine)
      return i;
    i += length;
  }
  return std::string::npos;
}
