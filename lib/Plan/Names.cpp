//===- Names.cpp - enumerations as text, look-up by name -------------------===//
#include "dsc/Plan/Plan.h"

using namespace dsc;
using namespace dsc::plan;

int64_t plan::byteSize(DType type) {
  switch (type) {
  case DType::F64:
    return 8;
  case DType::F32:
  case DType::I32:
    return 4;
  case DType::F16:
  case DType::BF16:
    return 2;
  case DType::I8:
    return 1;
  }
  return 0;
}

const char *plan::nameOf(DType type) {
  static const char *const names[] = {"f32", "f64", "i32", "f16", "bf16", "i8"};
  return names[static_cast<size_t>(type)];
}

const char *plan::nameOf(Kind kind) {
  static const char *const names[] = {
      "parameter", "gradient",   "optimizer_state", "counter",    "hyperparameter", "input",
      "output",    "activation", "working_copy",    "step_state", "window",         "cache",
      "stash"};
  return names[static_cast<size_t>(kind)];
}

const char *plan::nameOf(Opcode opcode) {
  static const char *const names[] = {"launch",         "copy",       "guard", "all_reduce",
                                      "reduce_scatter", "all_gather", "send",  "receive"};
  return names[static_cast<size_t>(opcode)];
}

const char *plan::nameOf(Init init) {
  static const char *const names[] = {"zeros", "ones", "normal", "constant"};
  return names[static_cast<size_t>(init)];
}

bool plan::isLocal(Opcode opcode) { return opcode <= Opcode::Guard; }

bool plan::isPersistent(Kind kind) {
  return kind == Kind::Parameter || kind == Kind::OptimizerState || kind == Kind::Counter ||
         kind == Kind::Hyperparameter || kind == Kind::WorkingCopy || kind == Kind::StepState ||
         kind == Kind::Window || kind == Kind::Cache || kind == Kind::Stash;
}

bool plan::isState(Kind kind) {
  switch (kind) {
  case Kind::Parameter:
  case Kind::OptimizerState:
  case Kind::Counter:
  case Kind::StepState:
    return true;
  case Kind::Gradient:
  case Kind::Hyperparameter:
  case Kind::Window:
  case Kind::Cache:
  case Kind::Stash:
  case Kind::Input:
  case Kind::Output:
  case Kind::Activation:
  case Kind::WorkingCopy:
    return false;
  }
  return false;
}

int64_t plan::findProgram(const Role &role, std::string_view name) {
  for (size_t i = 0; i < role.programs.size(); ++i)
    if (role.programs[i].name == name)
      return static_cast<int64_t>(i);
  return -1;
}

int64_t plan::findBuffer(const Program &program, std::string_view name, bool output) {
  for (size_t i = 0; i < program.buffers.size(); ++i)
    if (program.buffers[i].name == name && (program.buffers[i].kind == Kind::Output) == output)
      return static_cast<int64_t>(i);
  return -1;
}
