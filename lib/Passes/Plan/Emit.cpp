//===- Emit.cpp - from plan IR to a plan -----------------------------------===//
// Everything is taken in the order in which it stands in the module, so equal modules give equal
// plans.
#include "dsc/Passes/Emit.h"
#include "Bufferize.h"
#include "Lifetimes.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Support/Fault.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <set>

using namespace mlir;
using namespace dsc;
using namespace dsc::plan;

static FailureOr<DType> dtypeOf(Operation *op, Type type) {
  if (type.isF32())
    return DType::F32;
  if (type.isF64())
    return DType::F64;
  if (type.isInteger(32))
    return DType::I32;
  if (type.isF16())
    return DType::F16;
  if (type.isBF16())
    return DType::BF16;
  if (type.isInteger(8))
    return DType::I8;
  return op->emitError("element type ") << type << " has no place in a plan", failure();
}

// The plan's kinds and the dialect's are one list.
static_assert(uint32_t(BufferKind::Hyperparameter) == uint32_t(Kind::Hyperparameter) &&
              uint32_t(BufferKind::Stash) == uint32_t(Kind::Stash));
static_assert(uint32_t(GridAxis::Context) == uint32_t(Axis::Context) &&
              uint32_t(ds::Axis::Context) == uint32_t(Axis::Context));
static_assert(uint32_t(ds::Initializer::Constant) == uint32_t(Init::Constant));

/// "model.json:12" of the key that an op came from; empty where it does not say.
static std::string placeOf(Location location) {
  auto found = location->findInstanceOf<FileLineColLoc>();
  if (!found)
    return {};
  // The name alone: a plan is the same in every folder.
  StringRef file = found.getFilename().getValue();
  return file.substr(file.rfind('/') + 1).str() + ":" + std::to_string(found.getLine());
}

template <typename AxisAttr> static Axis axisOf(AxisAttr axis) {
  return axis ? Axis(uint32_t(axis.getValue())) : Axis::None;
}

namespace {
/// Kernels of all roles, each once. Names are those of the module that needs it first.
class Kernels {
public:
  explicit Kernels(const EmitOptions &options) : options(options) {}

  LogicalResult add(ModuleOp module, Plan &plan) {
    here.clear();
    for (auto op : module.getOps<KernelOp>()) {
      std::string key;
      llvm::raw_string_ostream out(key);
      Operation *computation = op.getComputation();
      out << computation->getName() << computation->getAttrDictionary() << "(";
      llvm::interleaveComma(op.getBody().getArgumentTypes(), out);
      out << ")";
      llvm::interleaveComma(op.getResults(), out);
      auto [entry, inserted] = known.try_emplace(key, plan.kernels.size());
      here[op.getSymName()] = entry->second;
      if (!inserted)
        continue;
      FailureOr<plan::Kernel> kernel = describe(op);
      if (failed(kernel))
        return failure();
      for (unsigned i = 2; !names.insert(kernel->name).second; ++i)
        kernel->name = op.getSymName().str() + "_" + std::to_string(i);
      plan.workspaceBytes = std::max(plan.workspaceBytes, kernel->workspace);
      plan.kernels.push_back(std::move(*kernel));
      ops.push_back(op);
    }
    return success();
  }

  /// Index of a kernel of the module that was added last.
  uint32_t operator[](StringRef name) const { return here.lookup(name); }

  LogicalResult addImages(Plan &plan) const {
    for (const Target *target : options.targets) {
      OwningOpRef<ModuleOp> code =
          ModuleOp::create(ops.empty() ? UnknownLoc::get(options.context) : ops.front()->getLoc());
      for (auto [op, kernel] : llvm::zip_equal(ops, plan.kernels))
        if (failed(generateKernel(*code, kernel.name, KernelOp(op).getComputation(),
                                  KernelOp(op).getResults(), *target)))
          return failure();
      if (options.seeKernels)
        options.seeKernels(*target, *code);
      FailureOr<std::string> elf = emitKernelImage(*code, *target, options.kernelCache);
      if (failed(elf))
        return failure();
      plan.images.push_back({target->name, target->cpuFlags, std::move(*elf)});
    }
    return success();
  }

private:
  FailureOr<plan::Kernel> describe(KernelOp op) const {
    Operation *computation = op.getComputation();
    const KernelGenerator *generator = findGenerator(computation->getName().getStringRef());
    if (!generator)
      return computation->emitError("no kernel generator for '") << computation->getName() << "'";
    plan::Kernel kernel;
    kernel.name = op.getSymName().str();
    for (auto [index, type] : llvm::enumerate(op.getBody().getArgumentTypes())) {
      FailureOr<DType> dtype = dtypeOf(op, cast<ShapedType>(type).getElementType());
      if (failed(dtype))
        return failure();
      kernel.operands.push_back(byteSize(cast<ShapedType>(type)));
      kernel.uses.push_back({*dtype, index < computation->getNumOperands(),
                             llvm::is_contained(op.getResults(), int64_t(index))});
    }
    kernel.items = generator->items(computation);
    if (DSC_FAULT(33, false, kernel.items > 1))
      --kernel.items;
    for (const Target *target : options.targets)
      kernel.workspace =
          std::max<uint64_t>(kernel.workspace, generator->workspaceBytes(computation, *target));
    return kernel;
  }

  const EmitOptions &options;
  std::map<std::string, uint32_t> known;
  std::set<std::string> names;
  llvm::StringMap<uint32_t> here; ///< looked up, never walked
  SmallVector<Operation *> ops;
};

/// The tables of one module.
class RoleEmitter {
public:
  RoleEmitter(ModuleOp module, const Kernels &kernels, Role &result)
      : module(module), kernels(kernels), result(result) {}

  LogicalResult run() {
    if (failed(addVariables()) || failed(addPrograms()))
      return failure();
    addSchedule();
    addScalars();
    result.arenaBytes = llvm::alignTo(result.arenaBytes, 4096);
    return success();
  }

private:
  LogicalResult addVariables() {
    for (auto op : module.getOps<ds::VariableOp>()) {
      auto type = cast<ShapedType>(op.getType());
      FailureOr<DType> dtype = dtypeOf(op, type.getElementType());
      if (failed(dtype))
        return failure();
      Variable variable{op.getSymName().str(), Kind(uint32_t(kindOf(op.getRole()))), *dtype,
                        type.getShape().vec()};
      variable.initializer = Init(uint32_t(op.getInitializer()));
      variable.stddev = op.getStddev().convertToDouble();
      variable.decay = op.getDecay();
      variable.value = op.getValue().convertToDouble();
      variable.share = axisOf(op.getShareAttr());
      variable.places = op.getPlaces();
      if (std::optional<ArrayRef<int64_t>> cut = op.getCut()) {
        ArrayRef<int64_t> parts = *cut;
        variable.cut = {axisOf(op.getCutAxisAttr()), op.getLogical()->vec(), uint64_t(parts[0]),
                        uint64_t(parts[1]), uint64_t(parts[2])};
      }
      result.variables.push_back(std::move(variable));
    }
    return success();
  }

  LogicalResult addPrograms() {
    for (auto op : module.getOps<ProgramOp>()) {
      Program program{op.getSymName().str(), {}, {}};
      Lifetimes lifetimes = computeLifetimes(op);
      llvm::DenseMap<BufferOp, uint32_t> index;
      for (auto [bufferOp, life] : lifetimes.buffers) {
        BufferOp buffer(bufferOp);
        if (!buffer.getOffset())
          return buffer.emitError("buffer '") << buffer.getLabel() << "' has no offset";
        auto type = cast<MemRefType>(buffer.getBuffer().getType());
        FailureOr<DType> dtype = dtypeOf(buffer, type.getElementType());
        if (failed(dtype))
          return failure();
        if (life.last < life.first) // never used: runtime and verifier expect a legal interval
          life = {0, 0};
        index[buffer] = program.buffers.size();
        program.buffers.push_back({buffer.getLabel().str(), Kind(uint32_t(buffer.getKind())),
                                   *dtype, type.getShape().vec(), *buffer.getOffset(),
                                   uint64_t(localBytes(buffer)), uint32_t(life.first),
                                   uint32_t(life.last)});
        Buffer &placed = program.buffers.back();
        placed.share = axisOf(buffer.getShareAttr());
        placed.places = buffer.getPlaces();
        result.arenaBytes = std::max(result.arenaBytes, placed.offset + extentOf(placed));
        if (placed.kind == Kind::Hyperparameter)
          scalarOffsets[placed.name] = placed.offset;
      }
      for (Operation *instruction : lifetimes.instructions)
        if (failed(addInstruction(program, index, instruction)))
          return failure();
      result.programs.push_back(std::move(program));
    }
    return success();
  }

  void addSchedule() {
    for (auto op : module.getOps<ScheduleOp>())
      for (auto [name, times] :
           llvm::zip_equal(op.getPrograms().getAsRange<FlatSymbolRefAttr>(), op.getRepetitions()))
        result.schedule.push_back(
            {uint32_t(findProgram(result, name.getValue().str())), uint64_t(times)});
  }

  LogicalResult addInstruction(Program &program, const llvm::DenseMap<BufferOp, uint32_t> &index,
                               Operation *op) {
    Instruction instruction{Opcode::Launch, 0, {}, {}, placeOf(op->getLoc())};
    for (Value operand : op->getOperands()) {
      BufferPlace place = locate(operand);
      instruction.operands.push_back({index.lookup(place.buffer), uint64_t(place.offset)});
    }
    if (auto launch = dyn_cast<LaunchOp>(op)) {
      instruction.kernel = kernels[launch.getKernel()];
      instruction.label = launch.getLabel().str();
      instruction.axis = axisOf(launch.getShareAttr());
    } else if (auto collective = dyn_cast<CollectiveOp>(op)) {
      static constexpr Opcode opcodes[] = {Opcode::AllReduce, Opcode::ReduceScatter,
                                           Opcode::AllGather};
      instruction.opcode = opcodes[uint32_t(collective.getKind())];
      instruction.label = collective.getLabel().str();
      instruction.axis = Axis(uint32_t(collective.getAxis()));
      instruction.block = collective.getBlock();
    } else if (auto send = dyn_cast<SendOp>(op)) {
      instruction.opcode = Opcode::Send;
      instruction.label = send.getLabel().str();
      instruction.stage = send.getStage();
      instruction.channel = send.getChannel();
    } else if (auto receive = dyn_cast<ReceiveOp>(op)) {
      instruction.opcode = Opcode::Receive;
      instruction.label = receive.getLabel().str();
      instruction.stage = receive.getStage();
      instruction.channel = receive.getChannel();
    } else if (auto copy = dyn_cast<CopyOp>(op)) {
      // A copy of the format runs to the end of both buffers.
      for (auto [operand, memref] : llvm::zip(instruction.operands, op->getOperands()))
        if (!copy.getShare() && operand.offset + byteSize(cast<MemRefType>(memref.getType())) !=
                                    program.buffers[operand.buffer].bytes)
          return copy.emitError("a plan cannot copy a part out of the middle of '")
                 << program.buffers[operand.buffer].name << "'";
      instruction.opcode = Opcode::Copy;
      instruction.axis = axisOf(copy.getShareAttr());
      instruction.label = "copy to " + program.buffers[instruction.operands[1].buffer].name;
    } else {
      instruction.opcode = Opcode::Guard;
      instruction.label = "guard";
    }
    program.instructions.push_back(std::move(instruction));
    return success();
  }

  /// Scalars that no program reads still have a place, so that --set knows them.
  void addScalars() {
    for (auto op : module.getOps<ds::HyperparameterOp>()) {
      std::string path = op.getSymName().str();
      auto [entry, inserted] = scalarOffsets.try_emplace(path, 0);
      if (inserted) {
        entry->second = llvm::alignTo(result.arenaBytes, 64);
        result.arenaBytes = entry->second + 64;
      }
      result.scalars.push_back({path, op.getValue().convertToDouble(), entry->second});
    }
  }

  ModuleOp module;
  const Kernels &kernels;
  Role &result;
  std::map<std::string, uint64_t> scalarOffsets;
};
} // namespace

/// Says of operands that take numbers, tokens or labels, which of the inputs they take. Kernels
/// index tables with them without a check.
static void nameInputs(Plan &plan) {
  std::map<std::pair<uint32_t, size_t>, std::set<std::string>> names; // of kernel and operand
  auto collect = [&](const Role &role) {
    for (const Program &program : role.programs)
      for (const Instruction &instruction : program.instructions)
        for (size_t k = 0; instruction.opcode == Opcode::Launch && k < instruction.operands.size();
             ++k)
          if (const Buffer &buffer = program.buffers[instruction.operands[k].buffer];
              buffer.kind == Kind::Input && buffer.dtype == DType::I32)
            names[{instruction.kernel, k}].insert(buffer.name);
  };
  collect(plan);
  for (const Role &stage : plan.stages)
    collect(stage);
  for (const auto &[place, inputs] : names)
    if (inputs.size() == 1)
      plan.kernels[place.first].uses[place.second].input = *inputs.begin();
}

FailureOr<Plan> dsc::emitPlan(ModuleOp module, const EmitOptions &given,
                              ArrayRef<ModuleOp> stages) {
  EmitOptions options = given;
  options.context = module.getContext();
  Plan plan;
  plan.manifest = options.manifest;
  plan.rowsInTurn = options.rowsInTurn;
  Kernels kernels(options);
  llvm::raw_string_ostream debug(plan.debug);
  auto emit = [&](ModuleOp from, Role &to) {
    debug << from << "\n";
    return success(succeeded(kernels.add(from, plan)) &&
                   succeeded(RoleEmitter(from, kernels, to).run()));
  };
  if (failed(emit(module, plan)))
    return failure();
  plan.stages.reserve(stages.size());
  for (ModuleOp stage : stages) {
    plan.layout = layoutOf(stage);
    if (failed(emit(stage, plan.stages.emplace_back())))
      return failure();
  }
  nameInputs(plan);
  if (failed(kernels.addImages(plan)))
    return failure();
  return std::move(plan);
}
