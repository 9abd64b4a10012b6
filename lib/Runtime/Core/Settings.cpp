//===- Settings.cpp - what dsrun --set may change --------------------------===//
#include "dsc/Runtime/Core/Settings.h"
#include "dsc/Support/Numbers.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

using namespace dsc;
using nlohmann::json;

namespace {

enum class ValueKind { Number, Integer, Path, IntegerOrAll, Boolean };

/// `*` stands for one part of a path.
struct Rule {
  const char *path;
  ValueKind kind;
  double least = 0, greatest = std::numeric_limits<double>::infinity();
  bool below = false; ///< `greatest` itself is out
};

} // namespace

static constexpr double inf = std::numeric_limits<double>::infinity();

/// Ranges as in the table of the spec.
static constexpr Rule rules[] = {
    {"train.optimizer.params.lr", ValueKind::Number},
    {"train.optimizer.params.betas.*", ValueKind::Number, 0, 1, true},
    {"train.optimizer.params.eps", ValueKind::Number},
    {"train.optimizer.params.weight_decay", ValueKind::Number},
    {"train.optimizer.params.momentum", ValueKind::Number, 0, 1, true},
    {"train.scheduler.params.warmup_steps", ValueKind::Integer},
    {"train.scheduler.params.total_steps", ValueKind::Integer, 1},
    {"train.scheduler.params.min_lr", ValueKind::Number},
    {"train.scheduler.params.timescale", ValueKind::Number},
    {"train.scheduler.params.decay_steps", ValueKind::Integer},
    {"train.scheduler.params.warmup_min_lr", ValueKind::Number},
    {"train.scheduler.params.warmup_max_lr", ValueKind::Number},
    {"train.scheduler.params.warmup_min_ratio", ValueKind::Number, 0, 1},
    {"train.scheduler.params.cos_min_ratio", ValueKind::Number, 0, 1},
    {"train.optimizer.params.min_coeff", ValueKind::Number},
    {"train.optimizer.params.max_coeff", ValueKind::Number},
    {"train.param_groups.*.lr_scale", ValueKind::Number},
    {"train.param_groups.*.weight_decay", ValueKind::Number},
    {"train.gradient_clipping", ValueKind::Number},
    {"train.gradient_clipping_value", ValueKind::Number},
    {"objective.label_smoothing", ValueKind::Number, 0, 1, true},
    {"train.steps", ValueKind::Integer},
    {"train.epochs", ValueKind::Integer},
    {"train.seed", ValueKind::Integer},
    {"init.seed", ValueKind::Integer},
    {"init.from", ValueKind::Path},
    {"data.seed", ValueKind::Integer},
    {"data.train.*.path", ValueKind::Path},
    {"data.train.*.labels", ValueKind::Path},
    {"data.validation.*.path", ValueKind::Path},
    {"data.validation_fraction", ValueKind::Number, 0, 1, true},
    {"evaluation.every", ValueKind::Integer},
    {"evaluation.batches", ValueKind::IntegerOrAll},
    {"evaluation.patience", ValueKind::Integer},
    {"evaluation.min_delta", ValueKind::Number},
    {"checkpoint.dir", ValueKind::Path},
    {"checkpoint.every", ValueKind::Integer},
    {"checkpoint.keep", ValueKind::Integer, 1},
    {"checkpoint.keep_best", ValueKind::Boolean},
    {"checkpoint.async", ValueKind::Boolean},
    {"log.dir", ValueKind::Path},
    {"log.every", ValueKind::Integer, 1},
    {"log.csv", ValueKind::Boolean},
    {"log.tensorboard", ValueKind::Boolean},
};

static std::vector<std::string> split(const std::string &path) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (;;) {
    size_t end = path.find('.', begin);
    parts.push_back(path.substr(begin, end == path.npos ? end : end - begin));
    if (end == path.npos)
      return parts;
    begin = end + 1;
  }
}

const json *dsc::findSetting(const json &spec, const std::string &path) {
  const json *at = &spec;
  for (const std::string &part : split(path)) {
    if (at->is_object()) {
      auto found = at->find(part);
      if (found == at->end())
        return nullptr;
      at = &*found;
    } else if (at->is_array()) {
      auto index = parseInt(part);
      if (!index || *index < 0 || static_cast<size_t>(*index) >= at->size())
        return nullptr;
      at = &(*at)[static_cast<size_t>(*index)];
    } else {
      return nullptr;
    }
  }
  return at;
}

static const Rule *findRule(const std::string &path) {
  auto parts = split(path);
  for (const Rule &rule : rules) {
    auto pattern = split(rule.path);
    if (std::equal(parts.begin(), parts.end(), pattern.begin(), pattern.end(),
                   [](const std::string &part, const std::string &wanted) {
                     return wanted == "*" || part == wanted;
                   }))
      return &rule;
  }
  return nullptr;
}

/// Levenshtein's distance.
static size_t distance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row.back();
}

static void leaves(const json &value, const std::string &path, std::vector<std::string> &out) {
  if (!value.is_structured() || value.empty()) {
    out.push_back(path);
    return;
  }
  size_t index = 0;
  for (const auto &[key, element] : value.items()) {
    std::string name = value.is_array() ? std::to_string(index++) : key;
    leaves(element, path.empty() ? name : path + "." + name, out);
  }
}

/// A rule about hyper-parameters holds for the plan's scalars only: others are not in its code.
static bool isHyperparameter(std::string_view path) {
  return path.starts_with("train.optimizer.") || path.starts_with("train.scheduler.") ||
         path.starts_with("train.param_groups.") || path.starts_with("train.gradient_clipping") ||
         path == "objective.label_smoothing";
}

static std::string nearest(const std::string &path, const plan::Plan &plan, const json &spec) {
  std::vector<std::string> names;
  leaves(spec, "", names);
  for (const plan::Scalar &scalar : plan.scalars)
    names.push_back(scalar.path);
  for (const Rule &rule : rules)
    if (std::string_view(rule.path).find('*') == std::string_view::npos &&
        !isHyperparameter(rule.path))
      names.push_back(rule.path);
  // Who knows the last part, such as lr, has most often left out what is before it.
  std::string last = "." + split(path).back();
  std::set<std::string> same;
  for (const std::string &name : names)
    if (name.ends_with(last))
      same.insert(name);
  if (same.size() == 1)
    return *same.begin();
  std::string best;
  size_t least = std::numeric_limits<size_t>::max();
  for (const std::string &name : names)
    if (size_t d = distance(path, name); d < least) {
      least = d;
      best = name;
    }
  return best;
}

static std::string rangeOf(const Rule &rule) {
  std::string from = "from " + printShortest(rule.least);
  if (rule.greatest == inf)
    return "at least " + printShortest(rule.least);
  return from + (rule.below ? " to below " : " to ") + printShortest(rule.greatest);
}

/// The value, or why it is none.
static StatusOr<json> parseValue(const std::string &text, const Rule &rule) {
  auto wrong = [&](const std::string &expected) {
    return Status(ErrorCode::Usage,
                  "'" + text + "' is out of range or of the wrong type, expected " + expected);
  };
  if (rule.kind == ValueKind::Path)
    return json(text);
  if (rule.kind == ValueKind::Boolean) {
    if (text == "true" || text == "false")
      return json(text == "true");
    return wrong("true or false");
  }
  if (rule.kind == ValueKind::IntegerOrAll && text == "all")
    return json(0);
  if (rule.kind == ValueKind::Number) {
    auto number = parseDouble(text);
    bool good = number && std::isfinite(*number) && *number >= rule.least &&
                (rule.below ? *number < rule.greatest : *number <= rule.greatest);
    return good ? StatusOr<json>(json(*number)) : wrong("a number " + rangeOf(rule));
  }
  auto number = parseInt(text);
  if (!number || static_cast<double>(*number) < rule.least)
    return wrong("a whole number " + rangeOf(rule));
  return json(*number);
}

static void store(json &spec, const std::string &path, const json &value) {
  json *at = &spec;
  for (const std::string &part : split(path)) {
    if (at->is_array()) {
      auto index = parseInt(part);
      if (!index || *index < 0 || static_cast<size_t>(*index) >= at->size())
        return;
      at = &(*at)[static_cast<size_t>(*index)];
      continue;
    }
    if (!at->is_object() && !at->is_null())
      return;
    at = &(*at)[part];
  }
  *at = value;
}

/// Kernels that draw masks read the seed in two halves, each exact in f64.
static void setSeed(plan::Plan &plan, uint64_t seed) {
  for (plan::Scalar &scalar : plan.scalars) {
    if (scalar.path == "train.seed.low")
      scalar.value = static_cast<double>(seed & 0xFFFFFFFFu);
    if (scalar.path == "train.seed.high")
      scalar.value = static_cast<double>(seed >> 32);
  }
}

static Status applyOne(plan::Plan &plan, json &spec, const std::string &assignment) {
  size_t equals = assignment.find('=');
  auto usage = [&](const std::string &text) {
    return Status(ErrorCode::Usage, "--set " + assignment + ": " + text);
  };
  if (equals == assignment.npos || equals == 0)
    return usage("expected PATH=VALUE, such as train.optimizer.params.lr=3e-4");
  std::string path = assignment.substr(0, equals), text = assignment.substr(equals + 1);
  auto scalar = std::find_if(plan.scalars.begin(), plan.scalars.end(),
                             [&](const plan::Scalar &s) { return s.path == path; });
  const json *known = findSetting(spec, path);
  const Rule *rule = findRule(path);
  if (scalar != plan.scalars.end() && !rule) {
    static constexpr Rule any{"", ValueKind::Number, -std::numeric_limits<double>::max()};
    rule = &any;
  }
  bool hyperparameter = isHyperparameter(path);
  if (known && known->is_array() && findRule(path + ".0") && findSetting(spec, path + ".0"))
    return usage("items of a list change one by one, such as --set " + path +
                 ".0=" + findSetting(spec, path + ".0")->dump());
  bool baked = known && (!rule || (hyperparameter && scalar == plan.scalars.end()));
  if (baked)
    return usage("this is part of the compiled code and cannot change here: compile again with dsc "
                 "--set " +
                 assignment);
  // An element of a list that the plan does not have is unknown, whatever the rule.
  bool element = rule && std::string_view(rule->path).find('*') != std::string_view::npos;
  if (!rule || (hyperparameter && scalar == plan.scalars.end()) || (element && !known))
    return usage("the plan has no such setting; the nearest is " + nearest(path, plan, spec));
  auto value = parseValue(text, *rule);
  if (!value.ok())
    return usage(value.status().message());
  if (scalar != plan.scalars.end())
    scalar->value = value->get<double>();
  if (path == "train.seed")
    setSeed(plan, static_cast<uint64_t>(value->get<int64_t>()));
  store(spec, path, *value);
  // One of the two says how long training is: the one that was asked for.
  if (path == "train.epochs")
    spec["train"].erase("steps");
  return {};
}

/// What single values cannot show; the spec's own checks of the same are in lib/Frontend.
static std::string contradiction(const plan::Plan &plan, const json &spec) {
  auto scalar = [&](const std::string &path) {
    for (const plan::Scalar &s : plan.scalars)
      if (s.path == path)
        return s.value;
    return -1.0;
  };
  const std::string schedule = "train.scheduler.params.";
  double warmup = scalar(schedule + "warmup_steps"), total = scalar(schedule + "total_steps");
  const json *type = findSetting(spec, "train.scheduler.type");
  bool ends = !type || *type != "constant";
  if (ends && total > 0 && warmup > total)
    return schedule + "warmup_steps " + printShortest(warmup) + " is more than total_steps " +
           printShortest(total);
  double floor = scalar(schedule + "min_lr"), peak = scalar("train.optimizer.params.lr");
  if (peak >= 0 && floor > peak)
    return schedule + "min_lr " + printShortest(floor) +
           " is above the peak train.optimizer.params.lr " + printShortest(peak);
  double least = scalar(schedule + "warmup_min_lr"), most = scalar(schedule + "warmup_max_lr");
  if (most >= 0 && least > most)
    return schedule + "warmup_min_lr " + printShortest(least) +
           " is above the peak warmup_max_lr " + printShortest(most);
  const json *every = findSetting(spec, "evaluation.every"),
             *validation = findSetting(spec, "data.validation"),
             *fraction = findSetting(spec, "data.validation_fraction");
  bool none = (!validation || validation->empty()) && (!fraction || *fraction == 0);
  if (every && every->is_number() && *every > 0 && none)
    return "evaluation.every is " + every->dump() +
           ", but there is no validation data: --set data.validation_fraction=0.05";
  return "";
}

Status dsc::applySettings(plan::Plan &plan, const std::vector<std::string> &assignments) {
  json &spec = (*plan.manifest)["spec"];
  std::string errors;
  for (const std::string &assignment : assignments)
    if (Status status = applyOne(plan, spec, assignment); !status.ok())
      errors += (errors.empty() ? "" : "\n") + status.message();
  if (errors.empty() && !assignments.empty())
    errors = contradiction(plan, spec);
  return errors.empty() ? Status() : Status(ErrorCode::Usage, errors);
}
