//===- ToPlan.cpp - ds-to-plan ---------------------------------------------===//
// Writes what Bufferizer decided as plan IR: kernels, then one program a function.
#include "Bufferize.h"
#include "KernelTable.h"
#include "dsc/Passes/Passes.h"
#include "dsc/Support/Fault.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringSet.h"
#include <tuple>

namespace dsc {
#define GEN_PASS_DEF_DSTOPLAN
#include "dsc/Passes/Passes.h.inc"
} // namespace dsc

using namespace mlir;
using namespace dsc;
using namespace dsc::plan;

/// Text for traces and messages: layer, op, and the parameter it works with.
static std::string launchLabel(Operation *op) {
  std::string label;
  if (auto block = op->getAttrOfType<StringAttr>("ds.label"))
    label = block.getValue().str() + "/";
  label += op->getName().stripDialect();
  for (Value operand : op->getOperands())
    if (auto read = operand.getDefiningOp<ds::ReadOp>())
      if (auto variable =
              SymbolTable::lookupNearestSymbolFrom<ds::VariableOp>(read, read.getVariableAttr());
          variable && variable.getRole() == ds::Role::Parameter)
        return label + "(" + read.getVariable().str() + ")";
  return label;
}

static GridAxisAttr axisOf(ds::AxisAttr axis) {
  return axis ? GridAxisAttr::get(axis.getContext(), GridAxis(uint32_t(axis.getValue())))
              : GridAxisAttr();
}

/// The buffer of `variable`, which may be null: then one of this program alone.
static BufferOp createBuffer(OpBuilder &builder, Location loc, MemRefType type, StringRef label,
                             BufferKind kind, ds::VariableOp variable) {
  return BufferOp::create(builder, loc, type, builder.getStringAttr(label),
                          BufferKindAttr::get(builder.getContext(), kind), IntegerAttr(),
                          variable ? axisOf(variable.getShareAttr()) : GridAxisAttr(),
                          variable ? variable.getPlacesAttr() : builder.getI64IntegerAttr(1));
}

namespace {
/// Creates the ops of one program.
class ProgramWriter {
public:
  ProgramWriter(func::FuncOp func, Bufferizer &plan, KernelTable &kernels)
      : func(func), plan(plan), kernels(kernels), builder(func) {}

  void write() {
    auto program = ProgramOp::create(builder, func.getLoc(), func.getName());
    builder.createBlock(&program.getBody());
    kernels.placeBefore(program);
    // Kinds in order, so that a reader finds what lives across programs first.
    for (uint32_t kind = 0; kind <= getMaxEnumValForBufferKind(); ++kind)
      for (Bufferizer::Buffer &buffer : plan.buffers)
        if (!buffer.parent && uint32_t(buffer.kind) == kind && isUsed(&buffer))
          memrefs[&buffer] = createBuffer(builder, func.getLoc(), buffer.type, buffer.label,
                                          buffer.kind, buffer.variable);
    for (Bufferizer::Instruction &instruction : plan.instructions)
      write(instruction);
  }

private:
  bool isUsed(Bufferizer::Buffer *buffer) {
    if (used.empty())
      for (Bufferizer::Instruction &instruction : plan.instructions)
        for (Bufferizer::Operand &operand : instruction.operands)
          used.insert(operand.place.buffer->root());
    return used.contains(buffer);
  }

  Value memref(const Bufferizer::Operand &operand, Location loc) {
    int64_t offset = operand.place.offset;
    Bufferizer::Buffer *buffer = operand.place.buffer;
    for (; buffer->parent; buffer = buffer->parent)
      offset += DSC_FAULT(29, buffer->offset, int64_t(0));
    Value source = memrefs.lookup(buffer);
    if (!offset && source.getType() == operand.type)
      return source;
    Value &view = views[{buffer, offset, operand.type.getAsOpaquePointer()}];
    if (!view)
      view = ViewOp::create(builder, loc, operand.type, source, offset);
    return view;
  }

  /// A copy from or to a variable that is shared out is one of the rank's share.
  static GridAxisAttr shareOf(const Bufferizer::Instruction &copy) {
    for (const Bufferizer::Operand &operand : copy.operands)
      if (ds::VariableOp variable = operand.place.buffer->root()->variable)
        if (ds::AxisAttr share = variable.getShareAttr())
          return axisOf(share);
    return GridAxisAttr();
  }

  void writeCollective(Operation *op, ArrayRef<Value> operands) {
    auto create = [&](CollectiveKind kind, ds::AxisAttr axis, int64_t block) {
      CollectiveOp::create(builder, op->getLoc(), kind, axisOf(axis).getValue(), operands,
                           launchLabel(op), block);
    };
    if (auto reduce = dyn_cast<ds::AllReduceOp>(op))
      create(CollectiveKind::AllReduce, reduce.getAxisAttr(), 0);
    else if (auto scatter = dyn_cast<ds::ReduceScatterOp>(op))
      create(CollectiveKind::ReduceScatter, scatter.getAxisAttr(), scatter.getBlock());
    else if (auto gather = dyn_cast<ds::AllGatherOp>(op))
      create(CollectiveKind::AllGather, gather.getAxisAttr(), gather.getBlock());
  }

  void write(const Bufferizer::Instruction &instruction) {
    Location loc = instruction.op->getLoc();
    SmallVector<Value> operands;
    for (const Bufferizer::Operand &operand : instruction.operands)
      operands.push_back(memref(operand, loc));
    switch (instruction.kind) {
    case Bufferizer::Instruction::Launch: {
      StringAttr kernel = kernels.get(instruction.op, instruction.resultArgument);
      LaunchOp::create(builder, loc, FlatSymbolRefAttr::get(kernel), operands,
                       builder.getStringAttr(launchLabel(instruction.op)),
                       axisOf(instruction.op->getAttrOfType<ds::AxisAttr>(ds::kShareAttr)));
      return;
    }
    case Bufferizer::Instruction::Collective:
      writeCollective(instruction.op, operands);
      return;
    case Bufferizer::Instruction::Send: {
      auto send = cast<ds::SendOp>(instruction.op);
      SendOp::create(builder, loc, operands[0], send.getStage(), send.getChannel(),
                     launchLabel(send));
      return;
    }
    case Bufferizer::Instruction::Receive: {
      auto receive = cast<ds::ReceiveOp>(instruction.op);
      ReceiveOp::create(builder, loc, operands[0], receive.getStage(), receive.getChannel(),
                        launchLabel(receive));
      return;
    }
    case Bufferizer::Instruction::Copy:
      CopyOp::create(builder, loc, operands[0], operands[1], shareOf(instruction));
      return;
    case Bufferizer::Instruction::Guard:
      GuardOp::create(builder, loc, operands);
      return;
    }
  }

  func::FuncOp func;
  Bufferizer &plan;
  KernelTable &kernels;
  OpBuilder builder;
  llvm::DenseMap<Bufferizer::Buffer *, Value> memrefs;
  llvm::DenseSet<Bufferizer::Buffer *> used;
  std::map<std::tuple<Bufferizer::Buffer *, int64_t, const void *>, Value>
      views; // looked up, never walked
};

struct ToPlan : dsc::impl::DsToPlanBase<ToPlan> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> programs(getOperation().getOps<func::FuncOp>());
    if (programs.empty())
      return;
    KernelTable table;
    for (func::FuncOp func : programs) {
      if (!llvm::hasSingleElement(func.getBody())) {
        func.emitError("program '") << func.getName() << "' must be one basic block";
        return signalPassFailure();
      }
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(func.front())))
        if (isOpTriviallyDead(&op))
          op.erase();
      Bufferizer bufferizer(func);
      if (failed(bufferizer.run()))
        return signalPassFailure();
      ProgramWriter(func, bufferizer, table).write();
      launches += llvm::count_if(bufferizer.instructions, [](const Bufferizer::Instruction &i) {
        return i.kind == Bufferizer::Instruction::Launch;
      });
      inPlace += bufferizer.inPlace;
      copies += bufferizer.copies;
    }
    for (auto schedule : llvm::make_early_inc_range(getOperation().getOps<ds::ScheduleOp>())) {
      OpBuilder builder(schedule);
      ScheduleOp::create(builder, schedule.getLoc(), schedule.getPrograms(),
                         schedule.getRepetitions());
      schedule.erase();
    }
    kernels += table.size();
    for (func::FuncOp func : programs)
      func.erase();
    placeUnread();
  }

  /// A variable that no program touches (a frozen master that is read through its working copy) has
  /// bytes all the same: weights are loaded into it and saved from it.
  void placeUnread() {
    llvm::StringSet<> placed;
    getOperation().walk([&](BufferOp buffer) {
      if (livesAcrossPrograms(buffer.getKind()))
        placed.insert(buffer.getLabel());
    });
    ProgramOp program = *getOperation().getOps<ProgramOp>().begin();
    auto builder = OpBuilder::atBlockBegin(&program.getBody().front());
    for (auto variable : getOperation().getOps<ds::VariableOp>())
      if (!placed.contains(variable.getSymName())) {
        auto type = cast<RankedTensorType>(variable.getType());
        createBuffer(builder, variable.getLoc(),
                     MemRefType::get(type.getShape(), type.getElementType()), variable.getSymName(),
                     kindOf(variable.getRole()), variable);
      }
  }
};
} // namespace
