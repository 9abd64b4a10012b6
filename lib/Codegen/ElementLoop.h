//===- ElementLoop.h - work items of kernels over elements and columns -----===//
#ifndef DSC_LIB_CODEGEN_ELEMENTLOOP_H
#define DSC_LIB_CODEGEN_ELEMENTLOOP_H

#include "KernelBuilder.h"
#include "dsc/Support/Layout.h"

namespace dsc {

/// Elements of a work item of an element-wise kernel: those of a block of a share, so that a rank's
/// share of the items is its share of the elements.
constexpr int64_t elementBlock = shareBlock;
/// Columns of a work item of a kernel that adds up rows: one cache line of f32. A thread's columns
/// are walked together, so it reads long runs of each row.
constexpr int64_t columnBlock = 16;

inline int64_t blocksOf(int64_t count, int64_t block) { return (count + block - 1) / block; }
/// Elements of a tensor operand or result.
int64_t elementsOf(Value tensor);
/// Size of the last dimension.
int64_t columnsOf(Value tensor);

/// Walks the elements of items [begin, end) by vectors, the end of `count` masked. `body` gets the
/// offset of the vector and its mask, null for all lanes.
void forElements(KernelBuilder &b, int64_t count, function_ref<void(Value, Value)> body);

/// First column of items [begin, end) and how many columns they are, when `columns` are dealt out
/// in blocks of `columnBlock`.
struct ColumnRange {
  Value low, count;
};
ColumnRange columnsOfItems(KernelBuilder &b, int64_t columns);

/// Reduces a run of `count` elements: the accumulators `neutral` exist in 4 slots that take the
/// vectors of the run in turn, and are merged as ((0, 1), (2, 3)). `step` gets the offset in the
/// run, the mask (null for all lanes) and the accumulators of a slot, and returns their next
/// values.
Carried reduceRun(KernelBuilder &b, int64_t count, ValueRange neutral,
                  function_ref<Carried(Value, Value, ValueRange)> step,
                  function_ref<Value(Value, Value)> merge);

} // namespace dsc

#endif // DSC_LIB_CODEGEN_ELEMENTLOOP_H
