//===- LinearKernels.cpp - kernels of Ops/Linear.td ------------------------===//
// Each linear op is one matrix product (Matmul.h) with its own reading of rows, columns and
// epilogue.
#include "Generators.h"
#include "Matmul.h"
#include "ThinProduct.h"
#include "TileMatmul.h"
#include "VectorMath.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Support/Fault.h"

using namespace mlir;
using namespace dsc;

namespace {

/// Rows and length of the last dimension.
struct Matrix {
  int64_t rows, columns;
  bool half; ///< two bytes an element
  explicit Matrix(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    half = type.getElementTypeBitWidth() == 16;
    columns = type.getShape().back();
    rows = type.getNumElements() / columns;
  }
};

/// Common to the three products: a subclass says the shape, where A, B and C are, and the epilogue.
class MatmulGenerator : public KernelGenerator {
public:
  int64_t items(Operation *op) const final {
    return takesThin(op) ? splitThin(shape(op)).items : splitMatmul(shape(op)).items;
  }
  int64_t workspaceBytes(Operation *op, const Target &target) const final {
    if (takesThin(op))
      return ThinEmitter::workspaceBytes(shape(op));
    if (onTiles(op, target))
      return TileMatmul::workspaceBytes(shape(op), elementType(op, 0).isF16());
    return tileMatmul(shape(op), target).workspaceBytes();
  }

protected:
  virtual MatmulShape shape(Operation *op) const = 0;
  /// True where the product of a few rows is written without packing.
  virtual bool takesThin(Operation *op) const { return false; }
  static Type elementType(Operation *op, unsigned operand) {
    return getElementTypeOrSelf(op->getOperand(operand).getType());
  }
  /// The product's operands are the first two of every op here.
  static bool onTiles(Operation *op, const Target &target) {
    return takesTiles(elementType(op, 0), elementType(op, 1), target);
  }
  /// Writes the nest: A and B are kernel arguments `a` and `b`, C is argument `c`.
  void emit(KernelBuilder &builder, Operation *op, unsigned a, unsigned b, unsigned c,
            const MatmulEpilogue &epilogue) const {
    MatmulShape product = shape(op);
    if (takesThin(op)) {
      ThinEmitter{builder, product, epilogue, builder.flat(a), builder.flat(b), builder.flat(c)}
          .emit();
      builder.finish();
      return;
    }
    if (onTiles(op, builder.target())) {
      TileMatmul(builder, product, epilogue, builder.flat(a), builder.flat(b), builder.flat(c),
                 elementType(op, 0).isF16())
          .emit(splitMatmul(product));
      builder.finish();
      return;
    }
    MatmulEmitter emitter{builder,
                          product,
                          tileMatmul(product, builder.target()),
                          epilogue,
                          builder.flat(a),
                          builder.flat(b),
                          builder.flat(c),
                          {},
                          {},
                          {}};
    emitter.emit(splitMatmul(product));
    builder.finish();
  }
};

class LinearGenerator final : public MatmulGenerator {
  MatmulShape shape(Operation *op) const override {
    auto linear = cast<ds::LinearOp>(op);
    Matrix input(linear.getInput()), result(linear.getResult());
    return {input.rows, result.columns, input.columns, false, linear.getTransposeWeight(),
            result.half};
  }
  bool takesThin(Operation *op) const override { return isThin(shape(op)); }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    auto linear = cast<ds::LinearOp>(op);
    KernelBuilder b(kernel, target);
    unsigned next = 2;
    Value bias = linear.getBias() ? b.flat(next++) : Value();
    Value residual = linear.getResidual() ? b.flat(next++) : Value();
    Value pre = linear.getPre() ? b.flat(resultArgument[1]) : Value();
    ds::Activation activation = linear.getActivation();
    MatmulEpilogue epilogue;
    epilogue.heavy = activation != ds::Activation::None;
    if (bias || residual || epilogue.heavy)
      epilogue.finish = [&](KernelBuilder &, Value sum, Value column, Value offset, int64_t count) {
        if (DSC_FAULT(57, bool(bias), bias && !residual))
          sum = b.add(sum, b.loadLanes(bias, column, count));
        if (pre)
          b.storeLanes(sum, pre, offset, count);
        if (activation != ds::Activation::None)
          sum = emitActivation(b, activation, sum);
        return residual ? b.add(sum, b.loadLanes(residual, offset, count)) : sum;
      };
    emit(b, op, 0, 1, resultArgument[0], epilogue);
  }
};

class LinearInputGradGenerator final : public MatmulGenerator {
  MatmulShape shape(Operation *op) const override {
    auto linear = cast<ds::LinearInputGradOp>(op);
    Matrix gradient(linear.getGradient()), result(linear.getResult());
    // The weight [k, n] is read as its transpose: this product sums over n.
    return {gradient.rows, result.columns, gradient.columns, false, !linear.getTransposeWeight(),
            result.half};
  }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    auto linear = cast<ds::LinearInputGradOp>(op);
    KernelBuilder b(kernel, target);
    unsigned next = 2;
    Value pre = linear.getPre() ? b.flat(next++) : Value();
    Value residual = linear.getResidual() ? b.flat(next++) : Value();
    ds::Activation activation = linear.getActivation();
    MatmulEpilogue epilogue;
    epilogue.heavy = activation != ds::Activation::None;
    if (residual || epilogue.heavy)
      epilogue.finish = [&](KernelBuilder &, Value sum, Value, Value offset, int64_t count) {
        if (activation != ds::Activation::None)
          sum = b.mul(sum, emitActivationGrad(b, activation, b.loadLanes(pre, offset, count)));
        return residual ? b.add(sum, b.loadLanes(residual, offset, count)) : sum;
      };
    emit(b, op, 0, 1, resultArgument[0], epilogue);
  }
};

class LinearWeightGradGenerator final : public MatmulGenerator {
  MatmulShape shape(Operation *op) const override {
    auto linear = cast<ds::LinearWeightGradOp>(op);
    Matrix input(linear.getInput()), gradient(linear.getGradient());
    int64_t m = input.columns, n = gradient.columns;
    if (linear.getTransposeWeight())
      std::swap(m, n);
    return {m, n, input.rows, true, false};
  }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    auto linear = cast<ds::LinearWeightGradOp>(op);
    KernelBuilder b(kernel, target);
    MatmulEpilogue epilogue;
    epilogue.accumulate = DSC_FAULT(56, static_cast<bool>(linear.getInit()), false);
    bool transposed = linear.getTransposeWeight();
    emit(b, op, transposed ? 1 : 0, transposed ? 0 : 1, resultArgument[0], epilogue);
  }
};

} // namespace

GeneratorPointer dsc::createLinearGenerator() { return std::make_unique<LinearGenerator>(); }
GeneratorPointer dsc::createLinearInputGradGenerator() {
  return std::make_unique<LinearInputGradGenerator>();
}
GeneratorPointer dsc::createLinearWeightGradGenerator() {
  return std::make_unique<LinearWeightGradGenerator>();
}
