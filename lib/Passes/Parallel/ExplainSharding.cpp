//===- ExplainSharding.cpp - who asked for which cut -----------------------===//
#include "dsc/Passes/ExplainSharding.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Dialect/Plan/PlanDialect.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace dsc;

static std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text =
      llvm::join(llvm::map_range(shape, [](int64_t n) { return std::to_string(n); }), "x");
  return text.empty() ? "scalar" : text;
}

std::string dsc::explainShardings(ModuleOp stage) {
  if (!stage->hasAttr(plan::kLayoutAttr))
    return "";
  std::string text = stage.getName().value_or("").str() + "\n";
  auto column = [](std::string cell, size_t width) {
    cell.resize(std::max(cell.size() + 2, width), ' ');
    return cell;
  };
  for (auto variable : stage.getOps<ds::VariableOp>()) {
    if (variable.getRole() == ds::Role::Window || variable.getRole() == ds::Role::Stash)
      continue;
    std::string part = shapeText(cast<RankedTensorType>(variable.getType()).getShape()), why;
    std::string whole = variable.getLogical() ? shapeText(*variable.getLogical()) : part;
    if (variable.getCutAxis()) {
      ArrayRef<int64_t> cut = *variable.getCut();
      why = ("along " + ds::stringifyAxis(*variable.getCutAxis()) + ", ").str() +
            std::to_string(cut[1]) +
            (cut[2] > 1 ? " runs of " + std::to_string(cut[2]) : " elements") +
            (cut[0] > 1 ? " in each of " + std::to_string(cut[0]) : "");
      if (auto asked = variable->getAttrOfType<StringAttr>(ds::kWhyAttr))
        why += ": " + asked.getValue().str();
    }
    if (variable.getShare())
      why += (why.empty() ? "" : "; ") +
             ("blocks of 1,024 along " + ds::stringifyAxis(*variable.getShare()) + ": ZeRO").str();
    text += "  " + column(variable.getSymName().str(), 40) + column(whole, 14) + column(part, 14) +
            (why.empty() ? "whole on each rank" : why) + "\n";
  }
  return text;
}
