//===- Reduction.h - what ds-reduce-gradients does to a step ---------------===//
// Sums over the ranks are in ReduceGradients.cpp, what ZeRO shares out in ShareOut.cpp.
#ifndef DSC_LIB_PASSES_PARALLEL_REDUCTION_H
#define DSC_LIB_PASSES_PARALLEL_REDUCTION_H

#include "../Training/StepProgram.h"
#include "llvm/ADT/SetVector.h"

namespace dsc {

inline constexpr llvm::StringLiteral sampleName = "window.sample", rankSample = "rank.sample",
                                     lossName = "window.loss";

inline int64_t bytesOf(mlir::Value value) {
  auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

/// Sums `values` over the data axis; all users but the sum itself see the result.
ds::AllReduceOp sumOverRanks(mlir::OpBuilder &builder, mlir::Location loc,
                             llvm::ArrayRef<mlir::Value> values);

class Reduction {
public:
  Reduction(mlir::ModuleOp module, mlir::func::FuncOp window, mlir::func::FuncOp micro,
            mlir::func::FuncOp update, int64_t ranks, int64_t zero, int64_t bucketBytes)
      : module(module), window(window), micro(micro), update(update), ranks(ranks), zero(zero),
        bucketBytes(bucketBytes), builder(module.getContext()) {}

  mlir::LogicalResult run();

  int64_t reduced = 0, buckets = 0, sharedOps = 0;

private:
  void sumCounts();
  void offsetSamples();
  llvm::SmallVector<llvm::SmallVector<ds::ReadOp>> deal(llvm::ArrayRef<ds::ReadOp> gradients);
  void sumGradients();
  void sumMicroBatches();
  void shareSums(mlir::func::FuncOp program);
  void gatherParameters();
  bool isGradientSum(llvm::StringRef name);
  ds::AxisAttr axis() { return ds::AxisAttr::get(builder.getContext(), ds::Axis::Data); }
  mlir::LogicalResult shareOut();
  mlir::LogicalResult share(mlir::Operation *op);
  void gatherSquares(mlir::Operation *user);
  void gatherWeights();
  bool readOnlyByUpdates(llvm::StringRef variable);
  ds::VariableOp variable(llvm::StringRef name) {
    return module.lookupSymbol<ds::VariableOp>(name);
  }

  mlir::ModuleOp module;
  mlir::func::FuncOp window, micro, update;
  int64_t ranks, zero, bucketBytes;
  mlir::OpBuilder builder;
  llvm::SetVector<mlir::Value> sharedValues, squares;
  llvm::SmallVector<ds::AssignOp> toGather;
};

} // namespace dsc

#endif // DSC_LIB_PASSES_PARALLEL_REDUCTION_H
