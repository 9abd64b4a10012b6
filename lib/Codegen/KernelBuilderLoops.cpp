//===- KernelBuilderLoops.cpp - loops and branches of kernel bodies --------===//
#include "KernelBuilder.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace dsc;

void KernelBuilder::forRange(Value low, Value high, int64_t step, function_ref<void(Value)> body) {
  forRange(low, high, step, ValueRange{}, [&](Value i, ValueRange) {
    body(i);
    return Carried{};
  });
}

Carried KernelBuilder::forRange(Value low, Value high, int64_t step, ValueRange init,
                                function_ref<Carried(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(builder_, loc_, low, high, index(step), init);
  OpBuilder::InsertionGuard guard(builder_);
  builder_.setInsertionPointToStart(loop.getBody());
  Carried next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  // With nothing carried, scf.for made the terminator itself.
  if (!init.empty())
    scf::YieldOp::create(builder_, loc_, next);
  return Carried(loop.getResults());
}

void KernelBuilder::forVectors(Value count, function_ref<void(Value, Value)> body) {
  forVectors(count, ValueRange{}, [&](Value offset, Value mask, ValueRange) {
    body(offset, mask);
    return Carried{};
  });
}

void KernelBuilder::forVectors(int64_t count, function_ref<void(Value, Value)> body) {
  forVectors(count, ValueRange{}, [&](Value offset, Value mask, ValueRange) {
    body(offset, mask);
    return Carried{};
  });
}

Carried KernelBuilder::forVectors(Value count, ValueRange init,
                                  function_ref<Carried(Value, Value, ValueRange)> body) {
  Value whole = sub(count, rem(count, index(lanes())));
  Carried carried = forRange(index(0), whole, lanes(), init, [&](Value offset, ValueRange values) {
    return body(offset, Value(), values);
  });
  return ifElse(
      less(whole, count), [&] { return body(whole, mask(sub(count, whole)), carried); },
      [&] { return carried; });
}

Carried KernelBuilder::forVectors(int64_t count, ValueRange init,
                                  function_ref<Carried(Value, Value, ValueRange)> body) {
  int64_t whole = count - count % lanes();
  Carried carried(init);
  if (whole)
    carried = forRange(index(0), index(whole), lanes(), init, [&](Value offset, ValueRange values) {
      return body(offset, Value(), values);
    });
  if (whole == count)
    return carried;
  return body(index(whole), mask(index(count - whole)), carried);
}

void KernelBuilder::ifThen(Value condition, function_ref<void()> then) {
  auto branch = scf::IfOp::create(builder_, loc_, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder_);
  builder_.setInsertionPointToStart(branch.thenBlock());
  then();
}

Carried KernelBuilder::ifElse(Value condition, function_ref<Carried()> then,
                              function_ref<Carried()> otherwise) {
  // The result types are those of the then branch, known once it is written: both branches are
  // written into a draft without results, whose regions then move into the real op.
  auto draft = scf::IfOp::create(builder_, loc_, TypeRange{}, condition, /*addThenBlock=*/false,
                                 /*addElseBlock=*/false);
  auto write = [&](Region &region, function_ref<Carried()> branch) {
    OpBuilder::InsertionGuard guard(builder_);
    builder_.createBlock(&region);
    Carried results = branch();
    scf::YieldOp::create(builder_, loc_, results);
    return results;
  };
  Carried results = write(draft.getThenRegion(), then);
  write(draft.getElseRegion(), otherwise);
  auto branch = scf::IfOp::create(builder_, loc_, ValueRange(results).getTypes(), condition,
                                  /*addThenBlock=*/false, /*addElseBlock=*/false);
  branch.getThenRegion().takeBody(draft.getThenRegion());
  branch.getElseRegion().takeBody(draft.getElseRegion());
  draft.erase();
  return Carried(branch.getResults());
}
