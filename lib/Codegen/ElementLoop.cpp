//===- ElementLoop.cpp - work items of kernels over elements and columns ---===//
#include "ElementLoop.h"

using namespace mlir;
using namespace dsc;

int64_t dsc::elementsOf(Value tensor) {
  return cast<ShapedType>(tensor.getType()).getNumElements();
}

int64_t dsc::columnsOf(Value tensor) {
  return cast<ShapedType>(tensor.getType()).getShape().back();
}

void dsc::forElements(KernelBuilder &b, int64_t count, function_ref<void(Value, Value)> body) {
  Value low = b.mul(b.begin(), b.index(elementBlock));
  Value high = b.min(b.mul(b.end(), b.index(elementBlock)), b.index(count));
  b.forVectors(b.sub(high, low), [&](Value i, Value mask) { body(b.add(low, i), mask); });
}

ColumnRange dsc::columnsOfItems(KernelBuilder &b, int64_t columns) {
  Value low = b.mul(b.begin(), b.index(columnBlock));
  Value high = b.min(b.mul(b.end(), b.index(columnBlock)), b.index(columns));
  return {low, b.sub(high, low)};
}

Carried dsc::reduceRun(KernelBuilder &b, int64_t count, ValueRange neutral,
                       function_ref<Carried(Value, Value, ValueRange)> step,
                       function_ref<Value(Value, Value)> merge) {
  int64_t lanes = b.lanes(), slots = 4, width = neutral.size();
  Carried state;
  for (int64_t slot = 0; slot < slots; ++slot)
    state.append(neutral.begin(), neutral.end());
  auto update = [&](Carried &into, int64_t slot, Value at, Value mask) {
    Carried next = step(at, mask, ValueRange(into).slice(slot * width, width));
    llvm::copy(next, into.begin() + slot * width);
  };
  int64_t stride = slots * lanes, whole = count / stride * stride;
  if (whole)
    state = b.forRange(b.index(0), b.index(whole), stride, state, [&](Value at, ValueRange values) {
      Carried next(values);
      for (int64_t slot = 0; slot < slots; ++slot)
        update(next, slot, b.add(at, b.index(slot * lanes)), Value());
      return next;
    });
  int64_t at = whole;
  for (int64_t slot = 0; at < count; ++slot, at += lanes)
    update(state, slot, b.index(at), at + lanes <= count ? Value() : b.mask(b.index(count - at)));
  Carried merged;
  for (int64_t i = 0; i < width; ++i)
    merged.push_back(merge(merge(state[i], state[width + i]),
                           merge(state[2 * width + i], state[3 * width + i])));
  return merged;
}
