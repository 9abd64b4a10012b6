//===- PipelineCut.h - the step's programs, cut into those of stages -------===//
// A node is a program to be: one kind of work on one part of the model. Every op of @train.micro
// that is not cheap enough to be had everywhere has one node; a value that leaves its node goes
// through a stash, and through a message where the other node is on another stage.
#ifndef DSC_LIB_PASSES_PARALLEL_PIPELINECUT_H
#define DSC_LIB_PASSES_PARALLEL_PIPELINECUT_H

#include "Schedules.h"
#include "dsc/Dialect/DS/DS.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include <map>
#include <set>
#include <string>

namespace dsc {

struct PipelineNode {
  int64_t part;
  WorkKind kind;
  auto operator<=>(const PipelineNode &) const = default;
};

/// How the model is dealt to stages, and when they work.
struct PipelinePlan {
  PipelineShape shape;
  const PipelineFamily *family;
  std::vector<int64_t> blocks;                ///< of each part, ends not counted
  std::vector<std::vector<PipelineRow>> rows; ///< of each stage

  int64_t stageOf(const PipelineNode &node) const { return shape.stageOf(node.part); }
  /// One program goes forward and backward: only the last part waits for nobody in between.
  bool fuses(int64_t part) const {
    return part + 1 == shape.parts() && isFused(rows[shape.stageOf(part)], part);
  }
  /// The node in whose program a row runs.
  PipelineNode nodeOf(const PipelineRow &row) const;
  int64_t places(int64_t part) const { return placesOf(rows[shape.stageOf(part)], part); }
};

/// Cuts the backward blocks of `micro`, but the last forward block's, into one that computes
/// gradients of activations and one for the rest. Returns those for the rest.
llvm::DenseSet<mlir::Operation *> splitBackwardBlocks(mlir::func::FuncOp micro);

/// Deals @train.micro out: programs, stashes and messages.
class MicroBatchCut {
public:
  MicroBatchCut(mlir::func::FuncOp micro, const PipelinePlan &plan,
                llvm::ArrayRef<mlir::ModuleOp> stages)
      : stashes(stages.size()), counters(stages.size()), micro(micro), plan(plan), stages(stages) {}

  mlir::LogicalResult run();

  /// The program of a node; nodes without ops have none.
  std::map<PipelineNode, std::string> programs;
  /// Variables of the window that a node assigns.
  std::map<std::string, PipelineNode> owners;
  int64_t channels = 0;

  struct Stash {
    std::string name;
    mlir::Type type;
    int64_t places;
    mlir::Location loc;
  };
  std::vector<std::vector<Stash>> stashes; ///< of each stage
  /// Variables that every micro-batch moves on by itself: copies of each, by stage; a program has
  /// one of its own.
  std::vector<std::map<std::string, std::vector<std::string>>> counters;
  /// True if a node assigns the variable or micro-batches count with it.
  bool knows(llvm::StringRef variable) const {
    return owners.count(variable.str()) || counted.count(variable.str());
  }

private:
  struct Message {
    int64_t to, channel;
    PipelineNode first; ///< the node there that takes it
  };

  mlir::LogicalResult findParts();
  mlir::LogicalResult place();
  mlir::LogicalResult place(mlir::Operation *op);
  void placeList(mlir::Operation *op);
  mlir::FailureOr<PipelineNode> nodeOfBlock(ds::BlockOp block);
  bool isEverywhere(mlir::Value value) const;
  int64_t orderOf(const PipelineNode &node) const;
  mlir::LogicalResult findCrossings();
  bool hasStash(mlir::Value value, int64_t stage) const;
  std::string stashName(mlir::Value value);
  void declareStash(mlir::Value value, int64_t stage, int64_t part);
  std::string programName(const PipelineNode &node) const;
  std::string counterName(const PipelineNode &node, llvm::StringRef variable);
  void write(const PipelineNode &node);
  void fetch(const PipelineNode &node, mlir::Value value, mlir::OpBuilder &builder,
             mlir::IRMapping &mapping);
  void keep(const PipelineNode &node, mlir::Value value, mlir::OpBuilder &builder,
            mlir::IRMapping &mapping);

  mlir::func::FuncOp micro;
  const PipelinePlan &plan;
  llvm::ArrayRef<mlir::ModuleOp> stages;
  llvm::StringMap<int64_t> partOf; ///< of forward blocks
  std::string lastBlock;           ///< the last forward block
  llvm::DenseSet<mlir::Operation *> weights;
  llvm::DenseMap<mlir::Operation *, PipelineNode> nodes;
  llvm::DenseMap<mlir::Operation *, std::set<std::string>> countersOf; ///< of ops everywhere
  std::map<PipelineNode, std::set<std::string>> countersRead;
  std::set<std::string> counted;
  llvm::DenseMap<mlir::Value, std::set<PipelineNode>> uses; ///< in other nodes
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Message>> messages;
  llvm::DenseMap<mlir::Value, std::string> names;
  std::set<std::string> taken;
};

/// @train.window of one stage.
void writeWindow(mlir::func::FuncOp window, const MicroBatchCut &cut, const PipelinePlan &plan,
                 int64_t stage, mlir::ModuleOp to);

/// A program that only moves sums, of one node; empty if it has none of them.
std::string writeSums(mlir::func::FuncOp program, const MicroBatchCut &cut,
                      const PipelineNode &node, llvm::StringRef name, mlir::ModuleOp to);

/// @train of every stage. Counts on from `channels`.
mlir::LogicalResult writeUpdates(mlir::func::FuncOp update, const MicroBatchCut &cut,
                                 const PipelinePlan &plan, llvm::ArrayRef<mlir::ModuleOp> stages,
                                 int64_t channels);

/// A collective on a list of values, which treats each by itself.
bool isList(mlir::Operation *op);

/// A collective like `list`, on those of its values.
mlir::Operation *createList(mlir::OpBuilder &builder, mlir::Operation *list,
                            mlir::ValueRange values);

/// Erases what nobody needs.
void eraseDead(mlir::func::FuncOp program);

} // namespace dsc

#endif // DSC_LIB_PASSES_PARALLEL_PIPELINECUT_H
