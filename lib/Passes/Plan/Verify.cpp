//===- Verify.cpp - plan-verify --------------------------------------------===//
// Numbers of the rules are those of the pass record. All faults are reported, not the first alone.
#include "Lifetimes.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Passes/Passes.h"
#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

namespace dsc {
#define GEN_PASS_DEF_PLANVERIFY
#include "dsc/Passes/Passes.h.inc"
} // namespace dsc

using namespace mlir;
using namespace dsc;
using namespace dsc::plan;

static int64_t bytesOf(Value memref) { return byteSize(cast<MemRefType>(memref.getType())); }

namespace {
struct PlanVerify : dsc::impl::PlanVerifyBase<PlanVerify> {
  void runOnOperation() override {
    for (Operation &op : *getOperation().getBody())
      if (!isa<ProgramOp, KernelOp, ScheduleOp, ds::VariableOp, ds::HyperparameterOp>(op))
        fault(&op, "P1: '") << op.getName() << "' must be gone";
    if (faults) // later rules read the structure
      return signalPassFailure();
    for (auto program : getOperation().getOps<ProgramOp>())
      if (succeeded(verifyStructure(program))) {
        verifyBytes(program);
        verifyOrder(program);
      }
    if (faults)
      signalPassFailure();
  }

  InFlightDiagnostic fault(Operation *op, const Twine &text) {
    ++faults;
    return op->emitError("plan contract ") << text;
  }

  LogicalResult verifyStructure(ProgramOp program) {
    unsigned before = faults;
    for (Operation &op : program.getBody().front()) {
      if (isa<BufferOp>(op))
        continue;
      if (!isa<ViewOp, LaunchOp, CopyOp, GuardOp, CollectiveOp, SendOp, ReceiveOp>(op))
        fault(&op, "P1: '") << op.getName() << "' is no instruction";
      for (Value operand : op.getOperands())
        if (!locate(operand).buffer)
          fault(&op, "P4: operand is no buffer and no view of one");
    }
    return success(faults == before);
  }

  /// P2, P3: offsets, overlap of what is alive together, same bytes across programs.
  void verifyBytes(ProgramOp program) {
    Lifetimes lifetimes = computeLifetimes(program);
    std::vector<std::pair<BufferOp, Lifetime>> byOffset;
    for (auto [buffer, life] : lifetimes.buffers) {
      BufferOp op(buffer);
      if (!op.getOffset()) {
        fault(op, "P2: buffer '") << op.getLabel() << "' has no offset, run plan-assign-memory";
        continue;
      }
      if (livesAcrossPrograms(op.getKind())) {
        auto [entry, inserted] = persistent.try_emplace({op.getKind(), op.getLabel().str()}, op);
        BufferOp first = entry->second;
        if (!inserted && (first.getOffset() != op.getOffset() ||
                          first.getBuffer().getType() != op.getBuffer().getType()))
          fault(op, "P3: buffer '")
              << op.getLabel() << "' is " << op.getBuffer().getType() << " at " << *op.getOffset()
              << ", but " << first.getBuffer().getType() << " at " << *first.getOffset()
              << " in another program";
      }
      if (life.first <= life.last)
        byOffset.emplace_back(op, life);
    }
    llvm::sort(byOffset, [](auto &a, auto &b) {
      return std::tuple(*BufferOp(a.first).getOffset(), BufferOp(a.first).getLabel()) <
             std::tuple(*BufferOp(b.first).getOffset(), BufferOp(b.first).getLabel());
    });
    for (size_t i = 0; i < byOffset.size(); ++i) {
      auto [a, aLife] = byOffset[i];
      int64_t end = *a.getOffset() + extentOf(a);
      for (size_t j = i + 1; j < byOffset.size() && int64_t(*byOffset[j].first.getOffset()) < end;
           ++j)
        if (aLife.overlaps(byOffset[j].second))
          fault(byOffset[j].first, "P2: buffer '")
              << byOffset[j].first.getLabel() << "' at " << *byOffset[j].first.getOffset()
              << " overlaps '" << a.getLabel() << "', which is alive at the same time and ends at "
              << end;
    }
  }

  /// P5, P6, P7: what each instruction reads and writes.
  void verifyOrder(ProgramOp program) {
    bool guarded = false;
    llvm::DenseSet<BufferOp> written;
    for (Operation &op : program.getBody().front()) {
      if (isa<BufferOp, ViewOp>(op))
        continue;
      ++checked;
      guarded |= isa<GuardOp>(op);
      SmallVector<Access> accesses = accessesOf(&op);
      for (const Access &access : accesses) {
        BufferOp buffer = locate(access.memref).buffer;
        BufferKind kind = buffer.getKind();
        bool given = kind == BufferKind::Input ||
                     (livesAcrossPrograms(kind) && kind != BufferKind::Gradient);
        if (access.reads && !given && !written.contains(buffer))
          fault(&op, "P5: buffer '") << buffer.getLabel() << "' is read before it is written";
        if (access.writes && movesWithUpdates(kind) && !guarded)
          fault(&op, "P6: variable '") << buffer.getLabel() << "' is written before the guard";
        if (access.writes && (kind == BufferKind::Hyperparameter || kind == BufferKind::Input))
          fault(&op, "P6: ") << stringifyBufferKind(kind) << " '" << buffer.getLabel()
                             << "' is written";
      }
      for (const Access &access : accesses)
        if (access.writes)
          written.insert(locate(access.memref).buffer);
      verifySharing(&op, accesses);
    }
  }

  void verifySharing(Operation *op, ArrayRef<Access> accesses) {
    for (auto [i, a] : llvm::enumerate(accesses))
      for (auto [j, b] : llvm::enumerate(accesses)) {
        if (i == j || !a.writes || (b.writes && j < i))
          continue;
        BufferPlace at = locate(a.memref), bt = locate(b.memref);
        if (at.buffer == bt.buffer && at.offset < bt.offset + bytesOf(b.memref) &&
            bt.offset < at.offset + bytesOf(a.memref))
          fault(op, "P7: operand ") << i << " is written but shares bytes of '"
                                    << BufferOp(at.buffer).getLabel() << "' with operand " << j;
      }
  }

  std::map<std::pair<BufferKind, std::string>, BufferOp> persistent;
  unsigned faults = 0;
};
} // namespace
