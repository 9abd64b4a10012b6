//===- Lifetimes.cpp - when the contents of each buffer matter -------------===//
#include "Lifetimes.h"
#include "dsc/Support/Fault.h"
#include "mlir/IR/SymbolTable.h"
#include <limits>

using namespace mlir;
using namespace dsc::plan;

SmallVector<Access> dsc::plan::accessesOf(Operation *instruction) {
  SmallVector<Access> accesses;
  if (auto launch = dyn_cast<LaunchOp>(instruction)) {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(launch, launch.getKernelAttr());
    unsigned operands = kernel.getComputation()->getNumOperands();
    for (auto [index, memref] : llvm::enumerate(launch.getOperands()))
      accesses.push_back(
          {memref, index < operands, llvm::is_contained(kernel.getResults(), int64_t(index))});
  } else if (auto copy = dyn_cast<CopyOp>(instruction)) {
    accesses = {{copy.getSource(), true, false}, {copy.getTarget(), false, true}};
  } else if (auto collective = dyn_cast<CollectiveOp>(instruction)) {
    for (Value memref : collective.getOperands())
      accesses.push_back({memref, true, true});
  } else if (auto receive = dyn_cast<ReceiveOp>(instruction)) {
    accesses.push_back({receive.getTarget(), false, true});
  } else if (isa<GuardOp, SendOp>(instruction)) {
    for (Value memref : instruction->getOperands())
      accesses.push_back({memref, true, false});
  }
  return accesses;
}

Lifetimes dsc::plan::computeLifetimes(ProgramOp program) {
  Lifetimes result;
  Block &body = program.getBody().front();
  for (Operation &op : body) {
    if (auto buffer = dyn_cast<BufferOp>(op))
      result.buffers[buffer] = {std::numeric_limits<int64_t>::max(), -1};
    else if (!isa<ViewOp>(op))
      result.instructions.push_back(&op);
  }
  for (auto [index, instruction] : llvm::enumerate(result.instructions))
    for (const Access &access : accessesOf(instruction)) {
      Lifetime &life = result.buffers[locate(access.memref).buffer];
      life.first = std::min<int64_t>(life.first, index);
      life.last =
          std::max<int64_t>(life.last, int64_t(index) - DSC_FAULT(32, 0, access.writes ? 0 : 1));
    }
  int64_t end = std::max<int64_t>(0, int64_t(result.instructions.size()) - 1);
  for (auto &[buffer, life] : result.buffers) {
    BufferKind kind = BufferOp(buffer).getKind();
    if (livesAcrossPrograms(kind))
      life = {0, end};
    else if (kind == BufferKind::Input)
      life = {0, std::max<int64_t>(life.last, 0)};
    else if (kind == BufferKind::Output)
      life.last = end;
  }
  return result;
}
