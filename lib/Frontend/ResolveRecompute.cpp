//===- ResolveRecompute.cpp - `train.recompute` and its budget -------------===//
#include "ResolverAccess.h"
#include "dsc/Support/Numbers.h"
#include <algorithm>
#include <cmath>

using namespace dsc;
using Kind = JsonNode::Kind;

/// Bytes of "512 MiB", "1.5 GB", "4096": nothing where it is none, is negative or overflows.
static std::optional<int64_t> parseBytes(std::string_view text) {
  size_t digits = text.find_first_not_of("0123456789.");
  std::optional<double> value = parseDouble(text.substr(0, digits));
  std::string_view unit = digits == std::string_view::npos ? "" : text.substr(digits);
  while (!unit.empty() && unit.front() == ' ')
    unit.remove_prefix(1);
  static const std::pair<std::string_view, double> units[] = {
      {"", 1},     {"B", 1},    {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30},
      {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9},     {"TiB", 0x1p40}, {"TB", 1e12}};
  for (auto [name, factor] : units)
    if (value && unit == name && *value * factor >= 1 && *value * factor <= 1e18)
      return static_cast<int64_t>(std::floor(*value * factor));
  return std::nullopt;
}

int64_t Resolver::bytes(const JsonNode &node, std::string_view path) {
  if (node.is(Kind::Integer))
    return static_cast<int64_t>(node.integer);
  if (std::optional<int64_t> value = parseBytes(node.text))
    return *value;
  errors
      .error(node.where, "'" + std::string(path) + "' is " + inQuotes(node.text) +
                             ", expected a number of bytes from 1 to 1e18 with or without a unit")
      .fix("write \"2 GiB\"; units are B, KiB, MiB, GiB, TiB, KB, MB, GB, TB");
  return 0;
}

void Resolver::resolveRecomputeBlocks(const JsonNode &list) {
  std::vector<int64_t> &blocks = spec.train.recomputeBlocks;
  spec.train.recompute = RecomputeMode::Blocks;
  for (const JsonNode &item : list.items) {
    if (item.is(Kind::Invalid))
      return;
    int64_t block = static_cast<int64_t>(item.integer);
    if (block >= spec.model.layers)
      errors.error(item.where, "'train.recompute' names block " + std::to_string(block) +
                                   ", the model has " + std::to_string(spec.model.layers) +
                                   ": 0 to " + std::to_string(spec.model.layers - 1));
    else if (std::find(blocks.begin(), blocks.end(), block) != blocks.end())
      errors.error(item.where, "'train.recompute' names block " + std::to_string(block) + " twice");
    else
      blocks.push_back(block);
  }
  std::sort(blocks.begin(), blocks.end());
  record("train.recompute", blocks, shortPlace(list.where));
}

void Resolver::resolveRecompute() {
  const JsonNode *node = find("train.recompute"), *budget = find("train.memory_budget");
  if (node && node->is(Kind::List)) {
    resolveRecomputeBlocks(*node);
  } else {
    Resolved<std::string> mode = text("train.recompute");
    static const std::pair<std::string_view, RecomputeMode> modes[] = {
        {"none", RecomputeMode::None},
        {"selective", RecomputeMode::Selective},
        {"full", RecomputeMode::Full},
        {"auto", RecomputeMode::Auto}};
    for (auto [name, value] : modes)
      if (mode.value == name)
        spec.train.recompute = value;
    if (mode.broken)
      return;
  }
  bool isAuto = spec.train.recompute == RecomputeMode::Auto;
  if (isAuto && !budget)
    errors
        .error(node->where, "'train.recompute' is \"auto\", but there is no "
                            "'train.memory_budget' that it could fit")
        .fix("add \"memory_budget\": \"2 GiB\"");
  if (!budget || budget->is(Kind::Invalid))
    return;
  spec.train.memoryBudget = bytes(*budget, "train.memory_budget");
  record("train.memory_budget", spec.train.memoryBudget, shortPlace(budget->where));
  judgedLater["train.memory_budget"] = budget->where;
  if (!isAuto)
    warnings.error(budget->where,
                   "'train.memory_budget' has no effect: 'train.recompute' is not \"auto\"");
}
