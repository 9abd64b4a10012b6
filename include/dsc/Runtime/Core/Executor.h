//===- Executor.h - a verified plan, ready to run --------------------------===//
// Owns arena, threads and code. Everything an instruction needs is bound when the executor is
// created: run() takes nothing from the heap.
#ifndef DSC_RUNTIME_CORE_EXECUTOR_H
#define DSC_RUNTIME_CORE_EXECUTOR_H

#include "dsc/Plan/Plan.h"
#include "dsc/Runtime/CPU/Arena.h"
#include "dsc/Runtime/CPU/Features.h"
#include "dsc/Runtime/CPU/KernelLibrary.h"
#include "dsc/Runtime/CPU/ThreadPool.h"
#include "dsc/Runtime/Comm/Collectives.h"
#include "dsc/Support/Status.h"
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dsc {

class Profile;

struct ExecutorOptions {
  std::string isa; ///< empty: the best that this CPU has
  int threads = 0; ///< 0: one a core that this process may use
  /// Fill the arena with NaN at the start, every buffer that does not live across steps before its
  /// first use, and workspace before each launch. Results must not change.
  bool poison = false;
  /// A launch whose operands have at most so many bytes together runs on the calling thread:
  /// dealing it out costs a microsecond or two, and far more where other processes want the cores.
  uint64_t aloneBytes = 32 << 10;
  std::set<std::string> features = cpuFeatures();
  /// For the plan of one rank of many: how it reaches the others. The rank is the communicator's.
  Communicator *communicator = nullptr;
  /// An executor of the same plan file, whose loaded code is used; null: the code is loaded.
  const class Executor *sharing = nullptr;
};

enum class Outcome {
  Done,
  Empty,    ///< nothing counted: ended at the guard, variables as before
  Failed,   ///< another rank could not be reached: see Executor::failure()
  Overflow, ///< loss or norm is inf or NaN and the plan skips such a step: only step state moved
  NotFinite ///< loss or norm is inf or NaN: ended at the guard, variables as before
};

class Executor {
public:
  /// `plan` was verified. Errors: Damaged (CPU, code), Usage (isa, threads), Memory (both numbers).
  static StatusOr<std::unique_ptr<Executor>> create(plan::Plan plan,
                                                    const ExecutorOptions &options);

  const plan::Plan &plan() const { return thePlan; }
  const std::string &isa() const { return isaName; }
  int threads() const { return pool->size(); }
  /// For work between programs, such as initialising weights.
  ThreadPool &workers() { return *pool; }

  /// Writes the plan's scalars into the arena: once at the start, and after a change.
  void storeScalars();
  /// Changes a scalar by its path; nothing when the plan does not have it.
  void setScalar(std::string_view path, double value);

  /// Index of a program, or an error (Damaged) that says what the plan is not for.
  StatusOr<size_t> program(std::string_view name) const;

  std::byte *data(const plan::Buffer &buffer) const { return arena.data() + buffer.offset; }
  /// A buffer by name, checked for type and kind; Damaged when there is no such.
  StatusOr<const plan::Buffer *> find(size_t program, std::string_view name, plan::Kind kind,
                                      plan::DType dtype) const;
  /// The place of a variable, by index in the plan's table.
  std::byte *variable(size_t index) const { return arena.data() + variableOffsets[index]; }

  /// Runs all instructions in order, up to the guard if that ends the step. `part` is the number of
  /// the micro-batch, which says what place of a stash it has.
  Outcome run(size_t program, int64_t part = 0);
  /// Of run(), after Failed.
  const Status &failure() const { return theFailure; }
  void fail(Status status) { theFailure = std::move(status); }
  /// Waits until what this rank has sent in a step is taken.
  Status finishSends();
  int64_t rank() const { return communicator ? communicator->rank() : 0; }

  /// Called in run() where gradients are complete and variables not yet changed: at the guard; in a
  /// program without one, at the end.
  void beforeUpdate(std::function<void(size_t program)> hook) { atGuard = std::move(hook); }

  /// Notes every instruction from now on; null: no longer. The profile was prepared for this plan
  /// and these threads.
  void profileWith(Profile *to) { profile = to; }

  /// Describes the first variable with a value that is not finite; empty if there is none.
  std::string badVariable() const;
  /// Describes the first sum of gradients with a value that is not finite; empty if there is none.
  std::string badSum() const;
  /// Runs the program again on the inputs that lie in its buffers, up to its guard, and describes
  /// the first operand, in the order of the instructions, with a value that is not finite; empty if
  /// there is none.
  std::string badTensor(size_t program);

  /// Keeps what moves with every step, skipped or not, and brings it back, so that a step can be
  /// run again.
  void rememberStepState();
  void restoreStepState();

private:
  struct Step {
    plan::Opcode opcode;
    KernelFunction function = nullptr;
    bool alone = false, skips = false;
    int64_t begin = 0, items = 0;    ///< of a launch: this rank's
    uint64_t bytes = 0;              ///< of a copy; of the workspace of a launch
    void *const *operands = nullptr; ///< of place 0 of stashes
    size_t exchange = 0;             ///< of what ranks do together: index in Bound::exchanges
  };
  /// A collective or a message.
  struct Exchange {
    Operation operation;
    std::vector<int> group;
    std::vector<Tensor> tensors; ///< of place 0; pointers are taken from the operands
    uint64_t block = 0;
    int peer = -1;
    uint64_t tag = 0;
    std::vector<Communicator::Request> sends; ///< the last of each place, if it is not over
  };
  struct Bound {
    std::vector<void *> operands; ///< all of place 0, then all of place 1, ...
    size_t stride = 0;            ///< operands of one place
    size_t places = 1;            ///< of stashes; all that have several have equally many
    std::vector<Step> steps;
    std::vector<Exchange> exchanges;
    /// Buffers to poison, by first use.
    std::vector<std::pair<uint32_t, size_t>> poison;
    /// Sends whose bytes an instruction is the first to write again, by that instruction.
    std::vector<std::pair<uint32_t, size_t>> overwrites;
  };
  struct Work;

  Executor() = default;
  void bind(const plan::Program &program, Bound &bound, uint64_t aloneBytes) const;
  void bindExchange(const plan::Program &program, const plan::Instruction &instruction,
                    Bound &bound, Step &step) const;
  std::byte *address(const plan::Buffer &buffer, uint64_t offset, int64_t place) const;
  Share shareOf(const plan::Buffer &buffer, Axis axis) const;
  void bindCopy(const plan::Program &program, const plan::Instruction &instruction, Bound &bound,
                size_t operands, Step &step) const;
  Status exchange(const Step &step, size_t program, size_t place);
  Status finishOverwritten(size_t program, uint32_t instruction, size_t place, size_t &next);
  void execute(const Step &step, size_t program, size_t instruction);
  void poisonBefore(size_t program, uint32_t instruction, size_t &next);
  std::string scan(const plan::Buffer &buffer, uint64_t offset, uint64_t bytes) const;

  plan::Plan thePlan;
  std::string isaName;
  bool poison = false;
  std::shared_ptr<KernelLibrary> library;
  Communicator *communicator = nullptr;
  Coordinates coordinates;
  Scratch scratch;
  Status theFailure;
  Arena arena;
  std::byte *workspaces = nullptr;
  uint64_t workspaceStride = 0;
  std::unique_ptr<ThreadPool> pool;
  std::vector<Bound> bound;
  std::vector<uint64_t> variableOffsets;
  std::vector<std::pair<std::byte *, std::vector<std::byte>>> stepState;
  std::function<void(size_t)> atGuard;
  Profile *profile = nullptr;
};

} // namespace dsc

#endif // DSC_RUNTIME_CORE_EXECUTOR_H
