//===- ParamGroups.cpp - `train.param_groups`: parameters by pattern -------===//
// Patterns are matched against the names that weights have in a Hugging Face file, so that what a
// spec freezes can be read off a list of its tensors.
#include "ResolverAccess.h"
#include <algorithm>

using namespace dsc;
using Kind = JsonNode::Kind;

/// More entries than anybody writes, and few enough to match all names of the largest model.
static constexpr size_t maxGroups = 256;

std::vector<std::string> dsc::parameterNames(const ModelSpec &model) {
  std::vector<std::string> names{"wte.weight", "wpe.weight"};
  for (int64_t i = 0; i < model.layers; ++i)
    for (const char *part :
         {"ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj"})
      for (const char *kind : {".weight", ".bias"})
        names.push_back("h." + std::to_string(i) + "." + part + kind);
  names.insert(names.end(), {"ln_f.weight", "ln_f.bias"});
  if (!model.tiedHead)
    names.push_back("lm_head.weight");
  return names;
}

/// `*` any run of characters, `?` any one. Linear but for backtracking to the last star.
static bool matches(std::string_view pattern, std::string_view name) {
  size_t p = 0, n = 0, star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || (pattern[p] == name[n] && pattern[p] != '*'))) {
      ++p;
      ++n;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*')
    ++p;
  return p == pattern.size();
}

int64_t dsc::groupOf(const std::vector<ParamGroup> &groups, std::string_view name) {
  for (size_t i = 0; i < groups.size(); ++i)
    if (matches(groups[i].match, name))
      return static_cast<int64_t>(i);
  return -1;
}

/// Edits that make `name` match `pattern`; what a star stands for costs nothing.
static size_t patternDistance(std::string_view pattern, std::string_view name) {
  std::vector<size_t> above(name.size() + 1), row(name.size() + 1);
  for (size_t j = 0; j <= name.size(); ++j)
    above[j] = j;
  for (char c : pattern) {
    row[0] = above[0] + (c == '*' ? 0 : 1);
    for (size_t j = 1; j <= name.size(); ++j) {
      size_t same = above[j - 1] + (c == '?' || c == name[j - 1] ? 0 : 1);
      row[j] = c == '*' ? std::min(above[j], row[j - 1])
                        : std::min({above[j] + 1, row[j - 1] + 1, same});
    }
    std::swap(above, row);
  }
  return above.back();
}

/// "a, b, c": the names that miss the pattern least.
static std::string nearestNames(std::string_view pattern, const std::vector<std::string> &names) {
  std::vector<std::pair<size_t, size_t>> order;
  for (size_t i = 0; i < names.size(); ++i)
    order.emplace_back(patternDistance(pattern.substr(0, 64), names[i]), i);
  std::sort(order.begin(), order.end());
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(3, order.size()); ++i)
    text += (i ? ", " : "") + names[order[i].second];
  return text;
}

void Resolver::resolveParamGroups() {
  const JsonNode *list = find("train.param_groups");
  if (!list || !list->is(Kind::List))
    return;
  if (list->items.size() > maxGroups) {
    errors.error(list->where, "'train.param_groups' has " + std::to_string(list->items.size()) +
                                  " entries, at most " + std::to_string(maxGroups) + " are taken");
    return;
  }
  bool namesKnown = spec.model.layers >= 1 && spec.model.layers <= 4096;
  std::vector<std::string> names;
  if (namesKnown)
    names = parameterNames(spec.model);
  nlohmann::json resolved = nlohmann::json::array();
  for (const JsonNode &item : list->items) {
    const JsonNode *match = item.is(Kind::Object) ? item.find("match") : nullptr;
    if (!match || !match->is(Kind::String))
      return; // said already
    ParamGroup group;
    group.match = match->text;
    nlohmann::json entry = {{"match", group.match}};
    auto number = [&](const char *key) -> std::optional<double> {
      const JsonNode *node = item.find(key);
      if (!node || !(node->is(Kind::Integer) || node->is(Kind::Number)))
        return std::nullopt;
      entry[key] = node->number;
      return node->number;
    };
    group.lrScale = number("lr_scale");
    group.weightDecay = number("weight_decay");
    const JsonNode *frozen = item.find("frozen");
    if (frozen && frozen->is(Kind::Bool))
      entry["frozen"] = group.frozen = frozen->boolean;
    if (group.frozen && (group.lrScale || group.weightDecay))
      errors.error(frozen->where, "a frozen group takes no '" +
                                      std::string(group.lrScale ? "lr_scale" : "weight_decay") +
                                      "'");
    bool found = std::any_of(names.begin(), names.end(),
                             [&](const std::string &name) { return matches(group.match, name); });
    if (namesKnown && !found)
      errors.error(match->where, "no parameter matches " + inQuotes(group.match))
          .note("the nearest names are " + nearestNames(group.match, names));
    spec.train.groups.push_back(std::move(group));
    resolved.push_back(std::move(entry));
  }
  record("train.param_groups", std::move(resolved), shortPlace(list->where));
  bool trained =
      !namesKnown || std::any_of(names.begin(), names.end(), [&](const std::string &name) {
        int64_t group = groupOf(spec.train.groups, name);
        return group < 0 || !spec.train.groups[static_cast<size_t>(group)].frozen;
      });
  if (!trained)
    errors.error(list->where,
                 "'train.param_groups' freezes every parameter: nothing is left to train");
}
