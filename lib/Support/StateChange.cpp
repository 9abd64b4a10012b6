//===- StateChange.cpp - NAME=VALUE@STEP of --set-state --------------------===//
#include "dsc/Support/StateChange.h"
#include "dsc/Support/Numbers.h"
#include <cmath>

using namespace dsc;

static constexpr std::string_view scaleSuffix = ".scale";

static std::string shortName(const std::string &variable) {
  return variable.ends_with(scaleSuffix) ? variable.substr(0, variable.size() - scaleSuffix.size())
                                         : variable;
}

static Status parseOne(const std::string &text, const std::vector<std::string> &variables,
                       int64_t steps, StateChange &change) {
  auto usage = [&](const std::string &why) {
    return Status(ErrorCode::Usage, "--set-state " + text + ": " + why);
  };
  size_t equals = text.find('='), at = text.rfind('@');
  if (equals == text.npos || equals == 0 || at == text.npos || at < equals)
    return usage("expected NAME=VALUE@STEP, such as loss_scale=65536@7");
  std::string name = text.substr(0, equals), known;
  for (const std::string &variable : variables) {
    if (name == variable || name == shortName(variable))
      change.variable = variable;
    known += (known.empty() ? "" : ", ") + shortName(variable);
  }
  if (change.variable.empty())
    return usage("the plan has no state of that name; it has " +
                 (known.empty() ? "none that can be set" : known));
  std::string valueText = text.substr(equals + 1, at - equals - 1), stepText = text.substr(at + 1);
  auto value = parseDouble(valueText);
  bool positive = change.variable.ends_with(scaleSuffix);
  if (!value || !std::isfinite(*value) || *value < 0 || (positive && *value == 0))
    return usage("expected a finite value " + std::string(positive ? "above 0" : "of at least 0") +
                 ", found '" + valueText + "'");
  auto step = parseInt(stepText);
  if (!step || *step < 1 || *step > steps)
    return usage("expected a step from 1 to " + std::to_string(steps) +
                 ", the last of this run, found '" + stepText + "'");
  change.value = *value;
  change.step = *step;
  return {};
}

StatusOr<std::vector<StateChange>> dsc::parseStateChanges(const std::vector<std::string> &texts,
                                                          const std::vector<std::string> &variables,
                                                          int64_t steps) {
  std::vector<StateChange> changes;
  std::string errors;
  for (const std::string &text : texts) {
    StateChange change;
    if (Status status = parseOne(text, variables, steps, change); !status.ok())
      errors += (errors.empty() ? "" : "\n") + status.message();
    changes.push_back(std::move(change));
  }
  if (!errors.empty())
    return Status(ErrorCode::Usage, errors);
  return changes;
}
