//===- CheckGradients.cpp - the self-check of a program's gradients --------===//
#include "Run.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Reference/GradientCheck.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <cmath>
#include <random>
#include <set>

using namespace mlir;
using namespace dsc;

/// Random operands on which the op is smooth: ids below 2 (every table has two rows or fails
/// loudly), counts positive, numbers away from 0, where relu has its kink.
static std::vector<reference::Tensor> randomOperands(Operation *op, std::mt19937_64 &random) {
  std::vector<reference::Tensor> operands;
  for (Type type : op->getOperandTypes()) {
    auto tensor = reference::Tensor::filled(reference::shapeOf(type), 0);
    bool ids = cast<RankedTensorType>(type).getElementType().isInteger();
    bool scalar = tensor.shape.empty();
    for (double &value : tensor.values) {
      double uniform = static_cast<double>(random() >> 11) * 0x1p-53;
      double magnitude = 0.01 + uniform;
      value = ids ? std::floor(2 * uniform) : scalar || random() % 2 ? magnitude : -magnitude;
    }
    operands.push_back(std::move(tensor));
  }
  return operands;
}

/// What makes two ops the same to this check: name, attributes, types.
static std::string kindOf(Operation *op) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << op->getName() << op->getAttrDictionary();
  llvm::interleave(
      op->getOperandTypes(), out, [&](Type type) { out << " " << type; }, ",");
  return text;
}

bool dsc::checkGradients(ModuleOp module, StringRef program) {
  auto function = module.lookupSymbol<func::FuncOp>(program);
  std::set<std::string> seen;
  bool good = true;
  std::mt19937_64 random(1);
  function.walk([&](DifferentiableOpInterface differentiable) {
    Operation *op = differentiable;
    std::string kind = kindOf(op);
    if (!seen.insert(kind).second)
      return;
    auto error = reference::checkGradient(op, randomOperands(op, random), {.elements = 8});
    bool passed = succeeded(error) && error->relative <= 1e-6;
    good &= passed;
    std::printf("%s %s", passed ? "ok  " : "OFF ", op->getName().getStringRef().str().c_str());
    if (succeeded(error))
      std::printf(": %lld elements, greatest relative difference %.2g",
                  static_cast<long long>(error->compared), error->relative);
    std::printf(", %s\n", kind.substr(kind.find('}') + 1).c_str());
    std::fflush(stdout);
  });
  return good;
}
