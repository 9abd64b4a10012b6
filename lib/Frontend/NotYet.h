//===- NotYet.h - what a spec may ask for in time --------------------------===//
#ifndef DSC_LIB_FRONTEND_NOTYET_H
#define DSC_LIB_FRONTEND_NOTYET_H

#include "dsc/Frontend/JsonTree.h"
#include <limits>
#include <string>
#include <string_view>

namespace dsc {

/// Values of a key that are understood, but which the compiler cannot do yet.
struct NotYet {
  std::string_view path;
  /// One of these: a text, numbers in a range, or whatever is neither false nor empty.
  std::string_view text = {};
  double from = std::numeric_limits<double>::infinity();
  double to = std::numeric_limits<double>::infinity();
  bool anything = false;
  std::string_view instead; ///< what to write

  bool holds(const JsonNode &node) const;
};

/// The entry that refuses `node` at `path`, or null.
const NotYet *findNotYet(std::string_view path, const JsonNode &node);
/// "`half`, `onebit`", "from 2 on": what is refused at `path`; empty: nothing.
std::string notYetText(std::string_view path);

} // namespace dsc

#endif // DSC_LIB_FRONTEND_NOTYET_H
