//===- Verify.h - where a plan breaks a rule -------------------------------===//
#ifndef DSC_LIB_PLAN_VERIFY_H
#define DSC_LIB_PLAN_VERIFY_H

#include "dsc/Plan/Plan.h"
#include <optional>

namespace dsc::plan {

enum class Place { Plan, Variable, Scalar, Kernel, Program, Buffer, Instruction, Image };

/// The first rule that is broken, in the order of the file.
struct Violation {
  Place place;
  size_t index = 0;   ///< of the variable, scalar, kernel, program or image
  size_t element = 0; ///< of the buffer or instruction in its program
  std::string rule;   ///< with names and numbers
  int64_t stage = -1; ///< whose tables these are; -1: the plan's own
};

std::optional<Violation> findViolation(const Plan &plan);
/// The first variable of a stage that is no part of the plan's own.
std::optional<Violation> findPieceViolation(const Plan &plan);
/// The first place where a rank of a role reads what nothing wrote, or where the ranks of a stage
/// could take different ways. Every role was found good.
std::optional<Violation> findFlowViolation(const Plan &plan);
/// The first place where ranks of different stages do not meet. Every role was found good.
std::optional<Violation> findRankViolation(const Plan &plan);

/// UTF-8 without overlong forms, surrogates or, unless `multiline`, control characters.
bool isText(std::string_view bytes, bool multiline = false);

} // namespace dsc::plan

#endif // DSC_LIB_PLAN_VERIFY_H
