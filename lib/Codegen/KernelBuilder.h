//===- KernelBuilder.h - writing kernel bodies without the noise -----------===//
// A thin layer over OpBuilder for generators: constants, arithmetic that picks the op by type,
// loops with carried values, vector loads and stores at linear offsets, reductions in a fixed
// order. It knows the target's vector width and whether multiply-add is fused; it hides nothing
// else: `builder()` and `loc()` are always at hand.
#ifndef DSC_LIB_CODEGEN_KERNELBUILDER_H
#define DSC_LIB_CODEGEN_KERNELBUILDER_H

#include "dsc/Codegen/KernelOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace dsc {

using mlir::function_ref;
using mlir::SmallVector;
using mlir::Value;
using mlir::ValueRange;

/// Values carried from one turn of a loop to the next.
using Carried = SmallVector<Value>;

class KernelBuilder {
public:
  /// Gives `kernel` its entry block and stands at its start.
  KernelBuilder(mlir::func::FuncOp kernel, const Target &target);

  mlir::OpBuilder &builder() { return builder_; }
  mlir::Location loc() const { return loc_; }
  const Target &target() const { return target_; }
  /// f32 elements of a vector register.
  int64_t lanes() const { return target_.lanes(); }

  // Arguments. Tensors are seen flat: memref<NxT>, row-major.
  Value argument(unsigned i);
  Value flat(unsigned i);
  Value begin();
  Value end();
  /// `count` elements of the thread's workspace from `byteOffset` (a multiple of 64).
  Value workspace(int64_t byteOffset, int64_t count, mlir::Type element = {});
  void finish(); ///< func.return

  // Types and constants.
  mlir::Type f32Type();
  mlir::Type f64Type();
  /// Vector of the target's width, or of `lanes` elements.
  mlir::VectorType vectorType(mlir::Type element = {}, int64_t lanes = 0);
  Value index(int64_t value);
  Value f32(double value);
  Value f64(double value);
  Value i32(int64_t value);
  Value boolean(bool value);
  Value constant(mlir::Type type,
                 double value); ///< scalar or splat; integer types take a whole value
  Value splat(double value);    ///< f32 vector of the target's width

  // Arithmetic on scalars or vectors; the op follows the type (float, or signed integer and index).
  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value div(Value a, Value b);
  Value rem(Value a, Value b);
  Value neg(Value a);
  Value fma(Value a, Value b,
            Value c);           ///< a * b + c: fused where the target is, else two roundings
  Value min(Value a, Value b);  ///< floats: b if either is NaN (minps)
  Value max(Value a, Value b);  ///< floats: b if either is NaN (maxps)
  Value less(Value a, Value b); ///< floats: false if either is NaN
  Value equal(Value a, Value b);
  Value select(Value condition, Value a, Value b);
  Value bitAnd(Value a, Value b);
  Value sqrt(Value a);
  Value abs(Value a);
  Value convert(Value a,
                mlir::Type element); ///< between float widths, integer widths, index, int and float
  Value bitcast(Value a, mlir::Type element);
  Value broadcast(Value scalar, int64_t lanes = 0);
  Value extract(Value vector, int64_t lane);
  /// i * stride + j
  Value linear(Value i, int64_t stride, Value j = {});

  /// f16 or bf16 to f32, exact. i16 is bf16 as memory holds it.
  Value widen(Value halves);
  /// f32 to f16, bf16 or i16: to nearest, ties to even; above the largest to infinity; NaN stays
  /// NaN.
  Value narrow(Value floats, mlir::Type element);

  // Memory. Offsets count elements of a flat memref; a null mask means all lanes, masked lanes read
  // as 0. Kernels compute in f32: what memory holds as f16 or bf16 is widened when it is loaded,
  // and narrowed when it is stored, here and nowhere else.
  Value load(Value memory, Value offset);
  void store(Value value, Value memory, Value offset);
  Value loadVector(Value memory, Value offset, Value mask = {}, int64_t lanes = 0);
  void storeVector(Value vector, Value memory, Value offset, Value mask = {});
  void prefetch(Value memory, Value offset, bool write);
  /// Lanes below `count` (index) on.
  Value mask(Value count, int64_t lanes = 0);
  /// Stores the first `count` lanes in pieces of a power of two: far cheaper than a masked store on
  /// some CPUs.
  void storeLanes(Value vector, Value memory, Value offset, int64_t count);
  /// Loads `count` lanes, the others 0.
  Value loadLanes(Value memory, Value offset, int64_t count, int64_t lanes = 0);

  // Control flow.
  void forRange(Value low, Value high, int64_t step, function_ref<void(Value)> body);
  Carried forRange(Value low, Value high, int64_t step, ValueRange init,
                   function_ref<Carried(Value, ValueRange)> body);
  /// Walks [0, count) by vectors: a main loop without masks, then at most one masked turn. `body`
  /// gets the offset and the mask (null in the main loop).
  void forVectors(Value count, function_ref<void(Value, Value)> body);
  void forVectors(int64_t count, function_ref<void(Value, Value)> body);
  Carried forVectors(Value count, ValueRange init,
                     function_ref<Carried(Value, Value, ValueRange)> body);
  Carried forVectors(int64_t count, ValueRange init,
                     function_ref<Carried(Value, Value, ValueRange)> body);
  void ifThen(Value condition, function_ref<void()> then);
  Carried ifElse(Value condition, function_ref<Carried()> then, function_ref<Carried()> otherwise);

  // Reductions of one vector to a scalar: halves onto each other, the same tree every time.
  Value reduceAdd(Value vector);
  Value reduceMax(Value vector);

private:
  Value reduce(Value vector, function_ref<Value(Value, Value)> combine);

  mlir::func::FuncOp kernel_;
  const Target &target_;
  mlir::OpBuilder builder_;
  mlir::Location loc_;
  SmallVector<Value> flat_;
};

} // namespace dsc

#endif // DSC_LIB_CODEGEN_KERNELBUILDER_H
