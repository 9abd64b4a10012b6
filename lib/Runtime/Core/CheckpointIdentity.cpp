//===- CheckpointIdentity.cpp - does a checkpoint belong to this run? -------===//
// Tensors must be the same. A setting may differ where the state keeps its meaning: numbers of the
// optimizer and the schedule, how long to train, how often to evaluate. Any other difference, and
// any setting that this file does not know, is one of another run.
#include "CheckpointIdentity.h"
#include <map>
#include <set>

using namespace dsc;
using nlohmann::json;

static SafeType safeTypeOf(plan::DType type) {
  switch (type) {
  case plan::DType::F32:
    return SafeType::F32;
  case plan::DType::F64:
    return SafeType::F64;
  case plan::DType::I32:
    return SafeType::I32;
  case plan::DType::F16:
    return SafeType::F16;
  case plan::DType::BF16:
    return SafeType::BF16;
  case plan::DType::I8:
    return SafeType::I8;
  }
  return SafeType::U8;
}

std::vector<StateTensor> dsc::stateOf(const plan::Plan &plan, std::vector<size_t> &indices) {
  std::vector<StateTensor> tensors;
  for (size_t i = 0; i < plan.variables.size(); ++i) {
    const plan::Variable &variable = plan.variables[i];
    if (!plan::isState(variable.role))
      continue;
    indices.push_back(i);
    tensors.push_back(
        {variable.name, plan::nameOf(variable.role), safeTypeOf(variable.dtype), variable.shape});
  }
  return tensors;
}

json dsc::notedSettings(const json &spec) {
  json noted = spec;
  if (noted.is_object())
    for (const char *section : {"checkpoint", "log"})
      noted.erase(section);
  return noted;
}

/// Settings that may change between a checkpoint and the run that continues it; a trailing dot
/// stands for everything below. The place in the data counts sequences, so how a batch is cut
/// into micro-batches may change, as may what is kept for the backward pass, and how all of it is
/// dealt to ranks: tensors are saved whole. `data.*.path`: the
/// same data may lie elsewhere.
static constexpr std::string_view changeable[] = {"checkpoint.",
                                                  "evaluation.",
                                                  "init.",
                                                  "log.",
                                                  "parallel.",
                                                  "train.epochs",
                                                  "train.gradient_accumulation_steps",
                                                  "train.gradient_clipping",
                                                  "train.memory_budget",
                                                  "train.optimizer.params.",
                                                  "train.recompute",
                                                  "train.reproducible",
                                                  "train.scheduler.",
                                                  "train.steps",
                                                  "train.train_micro_batch_size_per_gpu",
                                                  "train.zero_optimization."};

static bool mayChange(const std::string &path) {
  if (path.starts_with("data.") && path.ends_with(".path"))
    return true;
  for (std::string_view known : changeable)
    if (known.back() == '.' ? path.starts_with(known) : path == known)
      return true;
  return false;
}

static void flatten(const json &value, const std::string &path,
                    std::map<std::string, std::string> &out) {
  if (!value.is_structured()) {
    out[path] = value.dump(-1, ' ', false, json::error_handler_t::replace);
    return;
  }
  size_t index = 0;
  for (const auto &[key, element] : value.items()) {
    std::string name = value.is_array() ? std::to_string(index++) : key;
    flatten(element, path.empty() ? name : path + "." + name, out);
  }
}

/// A setting that is absent says the same as one that is off: versions differ in what they write.
static bool isOff(const std::string &value) {
  return value.empty() || value == "null" || value == "false" || value == "0" || value == "0.0" ||
         value == "\"\"";
}

static void compareSettings(const json &there, const json &here, IdentityCheck &check) {
  std::map<std::string, std::string> old, now;
  flatten(notedSettings(there), "", old);
  flatten(notedSettings(here), "", now);
  std::set<std::string> paths;
  for (const auto *side : {&old, &now})
    for (const auto &[path, value] : *side)
      paths.insert(path);
  for (const std::string &path : paths) {
    std::string before = old.count(path) ? old[path] : "", after = now.count(path) ? now[path] : "";
    if (before == after || (isOff(before) && isOff(after)))
      continue;
    auto shown = [](const std::string &value) { return value.empty() ? "absent" : value; };
    (mayChange(path) ? check.changes : check.differences)
        .push_back(path + " is " + shown(before) + " in the checkpoint, " + shown(after) + " here");
  }
}

static std::string describe(const StateTensor &tensor) {
  std::string text = tensor.role + " " + safeTypeName(tensor.type) + " [";
  for (size_t i = 0; i < tensor.shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(tensor.shape[i]);
  return text + "]";
}

static void compareTensors(const std::vector<StateTensor> &there,
                           const std::vector<StateTensor> &here, IdentityCheck &check) {
  std::map<std::string, const StateTensor *> old;
  for (const StateTensor &tensor : there)
    old[tensor.name] = &tensor;
  for (const StateTensor &tensor : here) {
    auto found = old.find(tensor.name);
    if (found == old.end())
      check.differences.push_back("'" + tensor.name + "' is not in the checkpoint, here " +
                                  describe(tensor));
    else if (*found->second != tensor)
      check.differences.push_back("'" + tensor.name + "' is " + describe(*found->second) +
                                  " in the checkpoint, " + describe(tensor) + " here");
    if (found != old.end())
      old.erase(found);
  }
  for (const auto &[name, tensor] : old)
    check.differences.push_back("'" + name + "' is " + describe(*tensor) +
                                " in the checkpoint, absent here");
}

IdentityCheck dsc::compareIdentity(const CheckpointInfo &info,
                                   const std::vector<StateTensor> &tensors, const json &spec,
                                   const std::string &planHash, int64_t windowsPerEpoch) {
  IdentityCheck check;
  compareTensors(info.tensors, tensors, check);
  compareSettings(info.spec, spec, check);
  if (windowsPerEpoch && info.windowsPerEpoch && info.windowsPerEpoch != windowsPerEpoch)
    check.differences.push_back("an epoch has " + std::to_string(info.windowsPerEpoch) +
                                " windows in the checkpoint, " + std::to_string(windowsPerEpoch) +
                                " here");
  if (info.plan != planHash)
    check.changes.push_back("the checkpoint is from plan " + info.plan + ", this is plan " +
                            planHash);
  return check;
}
