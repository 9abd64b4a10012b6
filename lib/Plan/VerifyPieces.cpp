//===- VerifyPieces.cpp - what ranks have of the logical state --------------===//
// Runs start from the plan's own variables: they are dealt to the ranks, and gathered for saving.
#include "Verify.h"
#include <map>

using namespace dsc;
using namespace dsc::plan;

/// Working copies are dealt out as what they are copies of.
static bool isDealt(Kind kind) { return isState(kind) || kind == Kind::WorkingCopy; }

static std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

/// True if a rank that has `part` of `whole` can be given its bytes.
static bool fits(const Variable &part, const Variable &whole) {
  const std::vector<int64_t> &logical = part.cut.axis == Axis::None ? part.shape : part.cut.logical;
  return part.role == whole.role && part.dtype == whole.dtype && logical == whole.shape &&
         whole.share == Axis::None && whole.cut.axis == Axis::None;
}

std::optional<Violation> plan::findPieceViolation(const Plan &plan) {
  if (plan.stages.empty())
    return std::nullopt;
  std::map<std::string_view, std::pair<const Variable *, bool>> wholes; // and: some stage has it
  for (const Variable &variable : plan.variables)
    wholes[variable.name] = {&variable, !isDealt(variable.role)};
  for (size_t stage = 0; stage < plan.stages.size(); ++stage)
    for (size_t v = 0; v < plan.stages[stage].variables.size(); ++v) {
      const Variable &part = plan.stages[stage].variables[v];
      auto fail = [&](const std::string &rule) {
        return Violation{Place::Variable, v, 0, rule + ", stage " + std::to_string(stage),
                         static_cast<int64_t>(stage)};
      };
      auto found = wholes.find(part.name);
      if (found == wholes.end()) {
        if (isDealt(part.role))
          return fail("[dealt] variable '" + part.name + "', a " + nameOf(part.role) +
                      ", is not among those of the plan that ranks are given");
        continue;
      }
      auto &[whole, dealt] = found->second;
      dealt = true;
      if (!fits(part, *whole))
        return fail("[dealt] variable '" + part.name + "' of shape " + shapeText(part.shape) +
                    " is no part of the plan's of shape " + shapeText(whole->shape));
    }
  for (size_t v = 0; v < plan.variables.size(); ++v)
    if (!wholes[plan.variables[v].name].second)
      return Violation{Place::Variable, v, 0,
                       "[dealt] no stage has variable '" + plan.variables[v].name + "'"};
  return std::nullopt;
}
