//===- Plan.h - a plan in memory: what the compiler writes, dsrun reads ----===//
// The only thing both halves share. Neither LLVM nor the runtime is needed to read or write one.
//
// Kernel ABI: void kernel(void *const *operands, int64_t begin, int64_t end, void *workspace)
//   operands   one pointer for each operand of the launch: buffers are 64-byte aligned, parts of
//   one (an operand
//              with an offset) are aligned to their element; none overlap but as planned
//   begin,end  work items [begin, end) of Kernel::items; every item writes its own elements, sums
//   in its
//              own fixed order, so results do not depend on how items are dealt to threads
//   workspace  Kernel::workspace bytes owned by the calling thread, 64-byte aligned, contents
//   undefined
#ifndef DSC_PLAN_PLAN_H
#define DSC_PLAN_PLAN_H

#include "dsc/Support/JsonValue.h"
#include "dsc/Support/Layout.h"
#include "dsc/Support/Status.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dsc::plan {

enum class DType : uint8_t { F32, F64, I32, F16, BF16, I8 };
enum class Kind : uint8_t {
  Parameter,
  Gradient,
  OptimizerState,
  Counter,
  Hyperparameter,
  Input,
  Output,
  Activation,
  WorkingCopy, ///< a parameter in two bytes, as products read it; follows from the parameter
  StepState,   ///< moves with every step, skipped or not: the loss scale, the number of steps
  Window,      ///< passes values on from program to program within a step: sums of gradients
  Cache,       ///< keys and values of generation: means nothing once another program has run
  Stash        ///< passes values of a micro-batch from the forward to the backward program
};
enum class Opcode : uint8_t {
  Launch,
  Copy,
  Guard,
  AllReduce,
  ReduceScatter,
  AllGather,
  Send,
  Receive
};
enum class Init : uint8_t { Zeros, Ones, Normal, Constant };

/// The two-byte copy of parameter `x`, for products to read, is the variable `half.x`.
inline constexpr std::string_view workingCopyPrefix = "half.";

int64_t byteSize(DType type);
const char *nameOf(DType type);    ///< f32, ...
const char *nameOf(Kind kind);     ///< parameter, ..., as in the plan dialect
const char *nameOf(Opcode opcode); ///< launch, copy, ...
const char *nameOf(Init init);     ///< zeros, ones, normal
/// True for the first three, false for what ranks do together.
bool isLocal(Opcode opcode);
/// Parameter, OptimizerState, Counter, Hyperparameter, WorkingCopy, StepState, Window, Cache,
/// Stash: the same bytes in every program that has it. No other buffer shares them, except that a
/// program without caches may put its own buffers there.
bool isPersistent(Kind kind);
/// Its contents carry a run from one step to the next: what a checkpoint holds. Hyper-parameters
/// are not state: they come from the plan and from --set. Nor are working copies: they are rounded
/// anew. Nor are caches.
bool isState(Kind kind);

/// The part of a tensor that a rank holds: seen as [outer, count, inner], the indices
/// [r c, r c + c) of the middle dimension with c = ceil(count / N) for coordinate r of N along
/// `axis`; behind `count` zeros.
struct Cut {
  Axis axis = Axis::None;       ///< None: the rank holds all of it
  std::vector<int64_t> logical; ///< shape of the whole tensor
  uint64_t outer = 1, count = 1, inner = 1;
};

/// A tensor that lives across steps. Its bytes are the buffer of the same name in every program.
struct Variable {
  std::string name;
  Kind role;
  DType dtype;
  std::vector<int64_t> shape;
  Init initializer = Init::Zeros;
  double stddev = 0; ///< of Normal
  double value = 0;  ///< of Constant
  bool decay = false;
  Axis share = Axis::None; ///< a rank has its share of blocks of shareBlock elements alone
  Cut cut = {};
  uint32_t places = 1; ///< of a Stash: micro-batches in flight
};

/// f64 at `offset` of the arena, named by its path in the spec.
struct Scalar {
  std::string path;
  double value;
  uint64_t offset;
};

/// Where and when a tensor lives in the arena. Parameter, OptimizerState, Counter,
/// Hyperparameter, StepState and Window live always: same name, same bytes in every program, and
/// nothing of any program may share them; a Cache so in the programs that have caches. An Input
/// lives from the start of the program to `last`, an Output from `first` to the end, all others
/// from `first` to `last`. A Gradient must live through the guard, where it is digested.
struct Buffer {
  std::string name;
  Kind kind;
  DType dtype;
  std::vector<int64_t> shape;
  uint64_t offset, bytes;
  uint32_t first = 0, last = 0; ///< instructions between which the contents matter
  /// Its bytes are those of the largest share of its elements.
  Axis share = Axis::None;
  uint32_t places = 1; ///< of a Stash: each of `bytes`, rounded up to 64, behind each other
};

/// Bytes from one place of a stash to the next.
inline uint64_t strideOf(const Buffer &buffer) { return (buffer.bytes + 63) / 64 * 64; }
/// Bytes of a buffer with all its places.
inline uint64_t extentOf(const Buffer &buffer) {
  return buffer.places > 1 ? strideOf(buffer) * buffer.places : buffer.bytes;
}

/// What a kernel does with an operand. What it writes and does not read, it writes whole.
struct OperandUse {
  DType type = DType::F32;
  bool reads = true, writes = false;
  std::string input = {}; ///< the input whose numbers it takes as indices: tokens; empty: any
};

struct Kernel {
  std::string name;               ///< symbol in the kernel section's ELF image
  std::vector<uint64_t> operands; ///< bytes each operand must have
  uint64_t items = 1;
  uint64_t workspace = 0;            ///< bytes a thread
  std::vector<OperandUse> uses = {}; ///< of each operand
};

struct Operand {
  uint32_t buffer;
  uint64_t offset; ///< bytes from the buffer's start
};

/// Launch: kernel on operands. Copy: operand 0 to operand 1. Guard: operands count, loss, norm (f64
/// scalars) and, where a step that is not finite is skipped (loss scaling), floored and patience.
/// A Launch or Copy with an axis does this rank's share: items [I r / N, I (r + 1) / N), or
/// elements by blocks of shareBlock. AllReduce, ReduceScatter, AllGather: whole buffers, in place,
/// over the group along the axis, shares by blocks of `block` elements. Send, Receive: the bytes of
/// operand 0 to or from the rank of another stage with the same other coordinates.
struct Instruction {
  Opcode opcode;
  uint32_t kernel = 0;
  std::vector<Operand> operands;
  std::string label;      ///< the layer and op it came from, for messages and traces
  std::string place = {}; ///< of the key it came from: model.json:12; empty: unknown
  Axis axis = Axis::None;
  uint64_t block = 0;              ///< of ReduceScatter and AllGather
  uint32_t stage = 0, channel = 0; ///< of Send and Receive
};

struct Program {
  std::string name; ///< train, evaluate, logits
  std::vector<Buffer> buffers;
  std::vector<Instruction> instructions;
};

/// One row of a step's schedule. A program that runs several times gets micro-batch after
/// micro-batch; a program with inputs of all rows of the window gets them whole.
struct Phase {
  uint32_t program;
  uint64_t times;
};

/// ELF shared object with every kernel, for CPUs that have `features`.
struct KernelImage {
  std::string isa;                   ///< x86-64-v3
  std::vector<std::string> features; ///< avx2, fma, ... (names as in /proc/cpuinfo)
  std::string elf;
};

/// What one rank has and does. All ranks of a pipeline stage have the same.
struct Role {
  std::vector<Variable> variables;
  std::vector<Scalar> scalars;
  std::vector<Program> programs;
  std::vector<Phase> schedule; ///< of a training step; empty: program `train`, once
  uint64_t arenaBytes = 0;
};

/// As a Role: what is done on one device. With more ranks than one that is all but training, on
/// the whole tensors, and `stages` has the training of each stage.
struct Plan : Role {
  JsonValue manifest; ///< {"spec": resolved spec, "compiler": version, "targets": [...]}
  std::vector<Kernel> kernels;
  std::vector<KernelImage> images;
  uint64_t workspaceBytes = 0;
  std::string debug; ///< optional text for people: the plan IR
  Layout layout;
  /// Rows of the window that data-parallel ranks take in turn; 0: each takes one run of them.
  uint64_t rowsInTurn = 0;
  std::vector<Role> stages; ///< layout.pipeline of them, or none for one rank
};

/// The bytes of plan.bin: equal plans give equal bytes. The plan must pass verify(): the compiler
/// calls that first, so that what it writes is what dsrun accepts.
std::string serialize(const Plan &plan);

/// Every rule about the contents (see lib/Plan/Verify.cpp, which lists them). Code Damaged.
Status verify(const Plan &plan);

/// Reads and verifies. Errors name section, offset and rule; code Damaged.
StatusOr<Plan> deserialize(std::string_view bytes);

/// The hash over all that the header of a container holds, as 16 hexadecimal digits. `bytes` must
/// have been accepted by deserialize().
std::string planHash(std::string_view bytes);

/// Index by name, or -1. Of buffers: not an Output, or an Output.
int64_t findProgram(const Role &role, std::string_view name);
int64_t findBuffer(const Program &program, std::string_view name, bool output = false);

} // namespace dsc::plan

#endif // DSC_PLAN_PLAN_H
