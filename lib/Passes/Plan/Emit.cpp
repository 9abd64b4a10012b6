//===- Emit.cpp - from plan IR to a plan -----------------------------------===//
// Everything is taken in the order in which it stands in the module, so equal modules give equal
// plans.
#include "dsc/Passes/Emit.h"
#include "Bufferize.h"
#include "Lifetimes.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Support/Fault.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/MathExtras.h"
#include <map>

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
              uint32_t(BufferKind::Cache) == uint32_t(Kind::Cache));
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

namespace {
class Emitter {
public:
  Emitter(ModuleOp module, const EmitOptions &options) : module(module), options(options) {}

  FailureOr<Plan> run() {
    result.manifest = options.manifest;
    if (failed(addVariables()) || failed(addKernels()) || failed(addPrograms()))
      return failure();
    addSchedule();
    addScalars();
    result.arenaBytes = llvm::alignTo(result.arenaBytes, 4096);
    llvm::raw_string_ostream(result.debug) << module << "\n";
    if (failed(addImages()))
      return failure();
    return std::move(result);
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
      result.variables.push_back(std::move(variable));
    }
    return success();
  }

  LogicalResult addKernels() {
    for (auto op : module.getOps<KernelOp>()) {
      Operation *computation = op.getComputation();
      const KernelGenerator *generator = findGenerator(computation->getName().getStringRef());
      if (!generator)
        return computation->emitError("no kernel generator for '") << computation->getName() << "'";
      plan::Kernel kernel;
      kernel.name = op.getSymName().str();
      for (Type type : op.getBody().getArgumentTypes())
        kernel.operands.push_back(byteSize(cast<ShapedType>(type)));
      kernel.items = generator->items(computation);
      if (DSC_FAULT(33, false, kernel.items > 1))
        --kernel.items;
      for (const Target *target : options.targets)
        kernel.workspace =
            std::max<uint64_t>(kernel.workspace, generator->workspaceBytes(computation, *target));
      result.workspaceBytes = std::max(result.workspaceBytes, kernel.workspace);
      kernelIndex[kernel.name] = result.kernels.size();
      result.kernels.push_back(std::move(kernel));
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
                                   uint64_t(byteSize(type)), uint32_t(life.first),
                                   uint32_t(life.last)});
        const Buffer &placed = program.buffers.back();
        result.arenaBytes = std::max(result.arenaBytes, placed.offset + placed.bytes);
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
      instruction.kernel = kernelIndex.at(launch.getKernel().str());
      instruction.label = launch.getLabel().str();
    } else if (auto copy = dyn_cast<CopyOp>(op)) {
      // A copy of the format runs to the end of both buffers.
      for (auto [operand, memref] : llvm::zip(instruction.operands, op->getOperands()))
        if (operand.offset + byteSize(cast<MemRefType>(memref.getType())) !=
            program.buffers[operand.buffer].bytes)
          return copy.emitError("a plan cannot copy a part out of the middle of '")
                 << program.buffers[operand.buffer].name << "'";
      instruction.opcode = Opcode::Copy;
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

  LogicalResult addImages() {
    for (const Target *target : options.targets) {
      OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
      for (auto op : module.getOps<KernelOp>())
        if (failed(generateKernel(*kernels, op.getSymName(), op.getComputation(), op.getResults(),
                                  *target)))
          return failure();
      if (options.seeKernels)
        options.seeKernels(*target, *kernels);
      FailureOr<std::string> elf = emitKernelImage(*kernels, *target, options.kernelCache);
      if (failed(elf))
        return failure();
      result.images.push_back({target->name, target->cpuFlags, std::move(*elf)});
    }
    return success();
  }

  ModuleOp module;
  const EmitOptions &options;
  Plan result;
  std::map<std::string, uint32_t> kernelIndex;
  std::map<std::string, uint64_t> scalarOffsets;
};
} // namespace

FailureOr<Plan> dsc::emitPlan(ModuleOp module, const EmitOptions &options) {
  return Emitter(module, options).run();
}
