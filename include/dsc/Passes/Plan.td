//===- Plan.td - from ops to instructions on bytes -------------------------===//
#ifndef DSC_PASSES_PLAN
#define DSC_PASSES_PLAN

include "mlir/Pass/PassBase.td"

def DsToPlan : Pass<"ds-to-plan", "::mlir::ModuleOp"> {
  let summary = "Turn programs into kernel launches on buffers";
  let description = [{
    Each `func.func` becomes a `plan.program`, each compute op a `plan.launch` of a `plan.kernel`; ops that
    agree in name, attributes, types and sharing of buffers use one kernel. Tensors become buffers:

    - a variable (whether or not a program reads it), a hyper-parameter and a program's argument have their own; a reported value becomes an
      `output` (`gradient` if its name starts with `grad:`);
    - a result shares the operand that `InPlaceOpInterface` offers if nothing reads that operand afterwards;
      an accumulation whose operand lives on works on a copy;
    - a variable is written in place where its old value is read no more and the guard has been passed,
      otherwise `ds.assign` is a `plan.copy`;
    - `ds.slice_rows` and `ds.concat_rows` are views: rows are computed right where they belong.

    Before: straight-line functions (`ds-verify-lowering`). After: no `func.func`, no `ds` op outside of
    kernels but `ds.variable` and `ds.hyperparameter`.
  }];
  let dependentDialects = ["::dsc::plan::PlanDialect"];
  let statistics = [
    Statistic<"launches", "launches", "launches">,
    Statistic<"kernels", "kernels", "different kernels">,
    Statistic<"inPlace", "in-place", "results written over an operand">,
    Statistic<"copies", "copies", "copies of buffers">
  ];
}

def PlanAssignMemory : Pass<"plan-assign-memory", "::mlir::ModuleOp"> {
  let summary = "Give every buffer an offset in one arena";
  let description = [{
    Buffers that live across programs (parameters, optimizer state, counters, hyper-parameters, gradients)
    get the same bytes in all of them, at the front. Behind them each program lays out the others by
    lifetime: largest first, each into the tightest gap that is free while it lives; of several orders the
    one with the lowest peak is kept. Offsets are multiples of 64; buffers of 4 KiB and more are spaced so
    that equal ones do not start at equal places of a page, which would make them fight for the same cache
    sets.

    After: every `plan.buffer` has an `offset`.
  }];
  let dependentDialects = ["::dsc::plan::PlanDialect"];
  let statistics = [
    Statistic<"persistent", "persistent-bytes", "bytes that live across programs">,
    Statistic<"peak", "transient-peak-bytes", "bytes of the others at most, of the largest program">,
    Statistic<"bound", "transient-bound-bytes", "most bytes alive at one instruction: no layout needs less">
  ];
}

def PlanVerify : Pass<"plan-verify", "::mlir::ModuleOp"> {
  let summary = "Contract of the plan phase: what dsrun may rely on";
  let description = [{
    - P1: only `plan.program`, `plan.kernel`, `ds.variable` and `ds.hyperparameter` are left in the module.
    - P2: every buffer has an offset, a multiple of 64; buffers that live at the same time do not overlap.
    - P3: buffers that live across programs have one offset and one type in all of them.
    - P4: operands lie inside their buffers and have the types of the kernel's arguments.
    - P5: nothing is read before it is written, but variables, hyper-parameters and inputs.
    - P6: no variable is written before the guard.
    - P7: a launch writes no operand that shares bytes with another operand of it.
  }];
  let statistics = [Statistic<"checked", "instructions", "instructions checked">];
}

#endif // DSC_PASSES_PLAN
