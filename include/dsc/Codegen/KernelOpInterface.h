//===- KernelOpInterface.h - how an op becomes native code -----------------===//
// Every compute op of the ds dialect has a generator. It says how the op's work is dealt out and
// writes the body of a kernel for one target, in vector, scf, memref, arith and math ops.
// Generators are attached in lib/Codegen, so that the dialect knows nothing of machines.
#ifndef DSC_CODEGEN_KERNELOPINTERFACE_H
#define DSC_CODEGEN_KERNELOPINTERFACE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"
#include <string>
#include <vector>

namespace dsc {

/// Matrix tiles (Intel AMX) of a target.
enum class Tiles {
  None,
  Bf16,   ///< of bfloat16 products
  Played, ///< by plain code, for tests on CPUs without
};

/// An instruction set kernels are generated for.
struct Target {
  std::string name;                  ///< as in --target and --isa: x86-64-v2, x86-64-v3, x86-64-v4
  std::vector<std::string> cpuFlags; ///< that a CPU must have, names as in /proc/cpuinfo
  std::string llvmFeatures;          ///< "+avx2,+fma,..."
  int64_t vectorBits;                ///< 128, 256, 512
  bool fma;                          ///< fused multiply-add in hardware
  int64_t registers;                 ///< vector registers: 16 or 32
  bool f16c;                         ///< conversions between f16 and f32 in hardware
  Tiles tiles = Tiles::None;
  int64_t lanes() const { return vectorBits / 32; } ///< f32 a vector
};

/// Known targets, best last; "native" resolves to one of these by feature bits. Those with tiles
/// must be asked for by name.
const std::vector<Target> &allTargets();
const Target *findTarget(llvm::StringRef name);
const Target &nativeTarget();
/// True if the running CPU has the features of `target`.
bool hostSupports(const Target &target);

/// Generates kernels of one op kind. Stateless.
class KernelGenerator {
public:
  virtual ~KernelGenerator() = default;
  /// Work items of `op`, the same on every target. Threads get runs of items.
  virtual int64_t items(mlir::Operation *op) const = 0;
  /// Bytes of workspace a thread needs on `target`.
  virtual int64_t workspaceBytes(mlir::Operation *op, const Target &target) const { return 0; }
  /// Writes the body of `kernel`, whose arguments are: one memref (static shape, row-major,
  /// contiguous) for each tensor operand of `op` in order, then one for each result `r` with no
  /// in-place operand
  /// (`resultArgument[r]` is the argument that holds result r in either case), then `begin` and
  /// `end` (index) and the workspace (memref<?xi8>; memref.view into it). Ends with func.return.
  virtual void generate(mlir::Operation *op, llvm::ArrayRef<int64_t> resultArgument,
                        mlir::func::FuncOp kernel, const Target &target) const = 0;
};

/// The generator of an op name ("ds.linear"), or null. Registered in lib/Codegen/Generators.cpp,
/// one line each.
const KernelGenerator *findGenerator(llvm::StringRef opName);

/// The memory of a tensor as kernels see it: row-major, bf16 as i16.
mlir::MemRefType kernelMemory(mlir::Type tensor);

/// Adds to `module` the kernel function `name` of `op` for `target`: the signature that generate()
/// expects, from the types of operands and results, and its body. Fails, with a diagnostic at `op`,
/// if the op has no generator.
mlir::FailureOr<mlir::func::FuncOp> generateKernel(mlir::ModuleOp module, llvm::StringRef name,
                                                   mlir::Operation *op,
                                                   llvm::ArrayRef<int64_t> resultArgument,
                                                   const Target &target);

/// Lowers a module of kernel functions (as generate() left them) to an ELF shared object with one
/// exported symbol a kernel, in the ABI of dsc/Plan/Plan.h. Deterministic. `kernels` are func.func
/// in `module`, one kernel each. With a `cacheFolder`, machine code of kernels that this very
/// program has compiled before is taken from there, and what is new is added.
mlir::FailureOr<std::string> emitKernelImage(mlir::ModuleOp module, const Target &target,
                                             llvm::StringRef cacheFolder = {});

} // namespace dsc

#endif // DSC_CODEGEN_KERNELOPINTERFACE_H
