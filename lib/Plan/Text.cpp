//===- Text.cpp - is it text that may be printed? --------------------------===//
#include "Verify.h"

using namespace dsc;

bool plan::isText(std::string_view bytes, bool multiline) {
  for (size_t i = 0; i < bytes.size();) {
    auto at = [&](size_t k) { return static_cast<unsigned char>(bytes[k]); };
    unsigned char lead = at(i);
    if (lead < 0x80) {
      if ((lead < 0x20 || lead == 0x7f) && !(multiline && (lead == '\n' || lead == '\t')))
        return false;
      ++i;
      continue;
    }
    size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || bytes.size() - i < length)
      return false;
    uint32_t code = lead & (0xff >> (length + 1));
    for (size_t k = 1; k < length; ++k) {
      if ((at(i + k) & 0xc0) != 0x80)
        return false;
      code = code << 6 | (at(i + k) & 0x3f);
    }
    static constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ||
        (code >= 0x80 && code < 0xa0))
      return false;
    i += length;
  }
  return true;
}
