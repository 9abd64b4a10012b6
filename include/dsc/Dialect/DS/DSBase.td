//===- DSBase.td - the dialect, its enums and op base classes --------------===//
#ifndef DSC_DIALECT_DS_BASE
#define DSC_DIALECT_DS_BASE

include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "dsc/Interfaces/CostOpInterface.td"
include "dsc/Interfaces/DifferentiableOpInterface.td"
include "dsc/Interfaces/InPlaceOpInterface.td"
include "dsc/Interfaces/ShardableOpInterface.td"

def DS_Dialect : Dialect {
  let name = "ds";
  let cppNamespace = "::dsc::ds";
  let summary = "What a training run computes: the network and its training loop";
  let description = [{
    Value semantics on ranked tensors with static shapes. A module holds `ds.variable` symbols (parameters,
    optimizer state, counters), `ds.hyperparameter` symbols (scalars that may change without compiling
    again) and one `func.func` a program: `@train`, `@evaluate`, `@logits`,
    `@prefill`, `@decode`. Each layer of the network is a
    `ds.block` region. Row-major layout; `f32` until `ds-mixed-precision`, which stores in two bytes what the rule of
    `ds.cast` allows; scalars of the training loop are `tensor<f64>`.
  }];
  let usePropertiesForAttributes = 1;
}

def DS_Activation : I32EnumAttr<"Activation", "activation function", [
    I32EnumAttrCase<"None", 0, "none">,
    I32EnumAttrCase<"GeluTanh", 1, "gelu_tanh">,
    I32EnumAttrCase<"Gelu", 2, "gelu">,
    I32EnumAttrCase<"Relu", 3, "relu">]> {
  let cppNamespace = "::dsc::ds";
}

def DS_Role : I32EnumAttr<"Role", "what a variable is for", [
    I32EnumAttrCase<"Parameter", 0, "parameter">,
    I32EnumAttrCase<"OptimizerState", 1, "optimizer_state">,
    I32EnumAttrCase<"Counter", 2, "counter">,
    I32EnumAttrCase<"WorkingCopy", 3, "working_copy">,
    I32EnumAttrCase<"StepState", 4, "step_state">,
    I32EnumAttrCase<"Window", 5, "window">,
    I32EnumAttrCase<"Cache", 6, "cache">,
    I32EnumAttrCase<"Stash", 7, "stash">]> {
  let cppNamespace = "::dsc::ds";
}

def DS_Axis : I32EnumAttr<"Axis", "an axis of the device grid", [
    I32EnumAttrCase<"None", 0, "none">,
    I32EnumAttrCase<"Data", 1, "data">,
    I32EnumAttrCase<"Tensor", 2, "tensor">,
    I32EnumAttrCase<"Pipeline", 3, "pipeline">,
    I32EnumAttrCase<"Context", 4, "context">]> {
  let cppNamespace = "::dsc::ds";
}

def DS_Initializer : I32EnumAttr<"Initializer", "how a variable starts", [
    I32EnumAttrCase<"Zeros", 0, "zeros">,
    I32EnumAttrCase<"Ones", 1, "ones">,
    I32EnumAttrCase<"Normal", 2, "normal">,
    I32EnumAttrCase<"Constant", 3, "constant">]> {
  let cppNamespace = "::dsc::ds";
}

def DS_Schedule : I32EnumAttr<"Schedule", "learning-rate schedule", [
    I32EnumAttrCase<"Constant", 0, "constant">,
    I32EnumAttrCase<"Linear", 1, "linear">,
    I32EnumAttrCase<"Cosine", 2, "cosine">,
    I32EnumAttrCase<"InverseSqrt", 3, "inverse_sqrt">,
    I32EnumAttrCase<"Wsd", 4, "wsd">,
    I32EnumAttrCase<"WarmupLR", 5, "warmup_lr">,
    I32EnumAttrCase<"WarmupDecayLR", 6, "warmup_decay_lr">,
    I32EnumAttrCase<"WarmupCosineLR", 7, "warmup_cosine_lr">]> {
  let cppNamespace = "::dsc::ds";
}

// Element types. Floating tensors are f32, f16 or bf16 in a plan, f64 nowhere but in scalars of the training loop.
def DS_Float : AnyTypeOf<[F32, F64, F16, BF16]>;
def DS_Tensor : StaticShapeTensorOf<[DS_Float]>;
def DS_Ids : StaticShapeTensorOf<[I32]>;
def DS_Scalar : Type<And<[
    CPred<"::llvm::isa<::mlir::RankedTensorType>($_self)">,
    CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getRank() == 0">,
    CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getElementType().isF64()">]>,
    "scalar tensor<f64>", "::mlir::RankedTensorType">,
    BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getF64Type())">;

class DS_Op<string mnemonic, list<Trait> traits = []> : Op<DS_Dialect, mnemonic, traits>;

/// An op that computes tensors from tensors: has a cost, a sharding rule, and is executed by a kernel.
class DS_ComputeOp<string mnemonic, list<Trait> traits = []>
    : DS_Op<mnemonic, !listconcat([Pure, CostOpInterface, InPlaceOpInterface,
                                   DeclareOpInterfaceMethods<ShardableOpInterface>], traits)> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

// One of these two is on every compute op.
defvar Differentiable = DeclareOpInterfaceMethods<DifferentiableOpInterface>;
def NotDifferentiable : NativeOpTrait<"NotDifferentiable"> { let cppNamespace = "::dsc::OpTrait"; }

// Lowered to a view, not to a kernel.
def SharesBytes : NativeOpTrait<"SharesBytes"> { let cppNamespace = "::dsc::OpTrait"; }

// The last, optional result is the first one in two bytes: ds-fuse folds a cast of an updated weight into it.
def WritesHalf : NativeOpTrait<"WritesHalf"> { let cppNamespace = "::dsc::OpTrait"; }

// Core of attention: computed again by `selective` recomputation.
def AttentionCore : NativeOpTrait<"AttentionCore"> { let cppNamespace = "::dsc::OpTrait"; }

// Has something to do where a loop is cut; the second also where a generic one is.
defvar CutsLoops = DeclareOpInterfaceMethods<ShardableOpInterface, ["cutLoop"]>;
defvar CutsGenericLoops = DeclareOpInterfaceMethods<ShardableOpInterface, ["canCut", "cutLoop"]>;

defvar HasFlops = DeclareOpInterfaceMethods<CostOpInterface, ["flops"]>;
defvar HasTraffic = DeclareOpInterfaceMethods<CostOpInterface, ["bytesRead"]>;
defvar NoTraffic = DeclareOpInterfaceMethods<CostOpInterface, ["bytesRead", "bytesWritten"]>;
defvar MayOverwrite = DeclareOpInterfaceMethods<InPlaceOpInterface, ["inPlaceOperand"]>;
defvar KeepsOperand = DeclareOpInterfaceMethods<InPlaceOpInterface, ["inPlaceOperand", "mustAlias"]>;
defvar Accumulates = DeclareOpInterfaceMethods<InPlaceOpInterface,
                                               ["inPlaceOperand", "mustAlias", "accumulateOnto"]>;

#endif // DSC_DIALECT_DS_BASE
