//===- Elementwise.cpp - kernels of add, activation, its gradient, cast ----===//
// Items are blocks of elements; every element is read before anything is stored at its place, so a
// result may lie over an operand.
#include "ElementLoop.h"
#include "Generators.h"
#include "VectorMath.h"
#include "dsc/Dialect/DS/DS.h"

using namespace mlir;
using namespace dsc;

namespace {

/// One result of the shape of all operands.
class ElementwiseGenerator : public KernelGenerator {
public:
  int64_t items(Operation *op) const override {
    return blocksOf(elementsOf(op->getResult(0)), elementBlock);
  }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    KernelBuilder b(kernel, target);
    Value out = b.flat(resultArgument[0]);
    forElements(b, elementsOf(op->getResult(0)), [&](Value at, Value mask) {
      SmallVector<Value> operands;
      for (unsigned i = 0; i < op->getNumOperands(); ++i)
        operands.push_back(b.loadVector(b.flat(i), at, mask));
      b.storeVector(element(b, op, operands), out, at, mask);
    });
    b.finish();
  }
  virtual Value element(KernelBuilder &b, Operation *op, ValueRange operands) const = 0;
};

class AddGenerator : public ElementwiseGenerator {
  Value element(KernelBuilder &b, Operation *, ValueRange operands) const override {
    return b.add(operands[0], operands[1]);
  }
};

class ActivationGenerator : public ElementwiseGenerator {
  Value element(KernelBuilder &b, Operation *op, ValueRange operands) const override {
    return emitActivation(b, cast<ds::ActivationOp>(op).getFunction(), operands[0]);
  }
};

class ActivationGradGenerator : public ElementwiseGenerator {
  Value element(KernelBuilder &b, Operation *op, ValueRange operands) const override {
    auto function = cast<ds::ActivationGradOp>(op).getFunction();
    return b.mul(operands[0], emitActivationGrad(b, function, operands[1]));
  }
};

/// Loading widens, storing narrows.
class CastGenerator : public ElementwiseGenerator {
  Value element(KernelBuilder &, Operation *, ValueRange operands) const override {
    return operands[0];
  }
};

} // namespace

GeneratorPointer dsc::createCastGenerator() { return std::make_unique<CastGenerator>(); }
GeneratorPointer dsc::createAddGenerator() { return std::make_unique<AddGenerator>(); }
GeneratorPointer dsc::createActivationGenerator() {
  return std::make_unique<ActivationGenerator>();
}
GeneratorPointer dsc::createActivationGradGenerator() {
  return std::make_unique<ActivationGradGenerator>();
}
