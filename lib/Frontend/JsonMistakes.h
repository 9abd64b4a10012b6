//===- JsonMistakes.h - slips that people make in JSON ---------------------===//
#ifndef DSC_LIB_FRONTEND_JSONMISTAKES_H
#define DSC_LIB_FRONTEND_JSONMISTAKES_H

#include <string>
#include <utility>

namespace dsc {

/// A character of a number or a bare word.
bool isWordCharacter(char c);

/// What is wrong with a word or a number that JSON does not know; a fix where one is plain, else
/// empty.
std::pair<std::string, std::string> explainWord(const std::string &word);

/// First byte that is not part of valid UTF-8, or npos.
size_t invalidUtf8(const std::string &text);

} // namespace dsc

#endif // DSC_LIB_FRONTEND_JSONMISTAKES_H
