//===- Bufferize.h - which bytes hold each value of a program --------------===//
#ifndef DSC_LIB_PASSES_PLAN_BUFFERIZE_H
#define DSC_LIB_PASSES_PLAN_BUFFERIZE_H

#include "dsc/Dialect/DS/DS.h"
#include "dsc/Dialect/Plan/PlanDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include <deque>
#include <map>
#include <set>
#include <string>

namespace dsc::plan {

/// Decides buffers, sharing and copies of one straight-line function; touches no IR.
class Bufferizer {
public:
  struct Buffer {
    std::string label;
    BufferKind kind;
    mlir::MemRefType type;
    /// Set when the buffer turned out to be rows of another one.
    Buffer *parent = nullptr;
    int64_t offset = 0;
    ds::VariableOp variable; ///< whose bytes these are, if any
    /// Values whose bytes lie in here (kept at the root).
    llvm::SmallVector<mlir::Value> values;
    Buffer *root() { return parent ? parent->root() : this; }
  };
  struct Place {
    Buffer *buffer = nullptr;
    int64_t offset = 0;
  };
  struct Operand {
    Place place;
    mlir::MemRefType type;
  };
  struct Instruction {
    enum Kind { Launch, Copy, Guard, Collective, Send, Receive } kind;
    mlir::Operation *op;
    llvm::SmallVector<Operand> operands;
    llvm::SmallVector<int64_t> resultArgument; ///< launches: operand written over, or -1
  };

  explicit Bufferizer(mlir::func::FuncOp func) : func(func) {}
  mlir::LogicalResult run();

  std::deque<Buffer> buffers; ///< in order of creation, absorbed ones among them
  std::vector<Instruction> instructions;
  int64_t inPlace = 0, copies = 0;

private:
  mlir::LogicalResult place(mlir::Operation *op);
  void placeCompute(mlir::Operation *op);
  void placeSlice(ds::SliceRowsOp op);
  void placeConcat(ds::ConcatRowsOp op);
  void placeReport(ds::ReportOp op);
  void placeAssign(ds::AssignOp op);
  mlir::LogicalResult placeRead(ds::ReadOp op);
  Operand wholeBuffer(mlir::Operation *op, mlir::Value value);
  bool canOverwrite(mlir::Operation *op, unsigned result, int64_t operand);
  Buffer *bufferOf(ds::AssignOp assign);
  Buffer *assignedTo(mlir::Operation *op, mlir::Value result);
  ds::AssignOp assignOf(mlir::Value value, mlir::StringRef variable);
  bool endsIn(mlir::Value value, mlir::StringRef variable);
  void keepOldValues(Buffer *variable, int64_t index, mlir::Operation *writer);

  Buffer *newBuffer(mlir::StringRef label, BufferKind kind, mlir::Type type);
  void hold(mlir::Value value, Place place);
  void copy(mlir::Operation *op, Place from, Place to, mlir::MemRefType type);
  std::string freshLabel(mlir::Operation *op);
  int64_t lastUse(mlir::Value value);
  bool deadAfter(Buffer *root, int64_t index);

  mlir::func::FuncOp func;
  llvm::DenseMap<mlir::Operation *, int64_t> order;
  llvm::DenseMap<mlir::Value, Place> places;
  std::map<std::string, Buffer *> variables; ///< variables and hyper-parameters met so far
  std::map<std::string, unsigned> labels;
  std::set<std::pair<std::string, BufferKind>> handedOut;
  int64_t guard = -1;
};

/// The kind of the buffer of a variable.
BufferKind kindOf(ds::Role role);

} // namespace dsc::plan

#endif // DSC_LIB_PASSES_PLAN_BUFFERIZE_H
