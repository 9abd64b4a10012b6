//===- NearestNumbers.cpp - legal numbers near a wrong one -----------------===//
#include "NearestNumbers.h"
#include <algorithm>

using namespace dsc;

static std::string both(int64_t below, int64_t above, int64_t most) {
  std::string text = below >= 1 ? std::to_string(below) : "";
  if (above <= most && above != below)
    text += (text.empty() ? "" : " and ") + std::to_string(above);
  return text;
}

std::string dsc::nearestLegal(int64_t value, int64_t most,
                              const std::function<bool(int64_t)> &legal) {
  int64_t below = std::min(value, most), above = std::max<int64_t>(value, 1);
  while (below >= 1 && !legal(below))
    --below;
  while (above <= most && !legal(above))
    ++above;
  return both(below, above, most);
}

std::string dsc::nearestMultiples(int64_t value, int64_t unit, int64_t most, int64_t whole) {
  auto legal = [&](int64_t number) { return !whole || whole % number == 0; };
  int64_t below = std::min(value / unit * unit, most / unit * unit);
  int64_t above = std::max(unit, (value / unit + 1) * unit);
  while (below >= unit && !legal(below))
    below -= unit;
  while (above <= most && !legal(above))
    above += unit;
  return both(below, above, most);
}

std::string dsc::nearestDivisors(int64_t value, int64_t whole) {
  return nearestLegal(value, whole, [&](int64_t number) { return whole % number == 0; });
}

std::string dsc::nearestPowersOfTwo(int64_t value) {
  return nearestLegal(value, INT64_MAX,
                      [](int64_t number) { return (number & (number - 1)) == 0; });
}
