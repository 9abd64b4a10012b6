//===- Policy.cpp - what is stored in two bytes, op by op ------------------===//
#include "dsc/Passes/PrecisionPolicy.h"
#include "dsc/Support/Fault.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace dsc;

// Letters are those of Storage. Operands stand as in the op's record, optional ones among them.
static constexpr PrecisionPolicy table[] = {
    // op                             operands  results
    {"ds.activation", "h", "h"},
    {"ds.activation_grad", "hh", "h"},
    {"ds.add", "tt", "t"},
    {"ds.cast", ".", "."},
    // qkv, key, position_ids -> result, lse; gradient, qkv, output, lse, key, position_ids
    {"ds.attention", "h..", "hw"},
    {"ds.attention_grad", "hhhw..", "h"},
    // qkv, keys, values, position_ids, rows -> result, new_keys, new_values
    {"ds.cached_attention", "hww..", "hww"},
    {"ds.random_key", ".", "."},
    {"ds.dropout", "t.", "t"},
    // ids, table, positions, position_ids; gradient, ids, init; gradient
    {"ds.embedding", ".hh.", "h"},
    {"ds.embedding_grad", "h.w", "w"},
    {"ds.position_grad", "h", "w"},
    // input, weight, bias, residual -> result, pre. A product whose sums only the loss reads keeps
    // them.
    {"ds.linear", "hhwh", "rh"},
    // gradient, weight, pre, residual; input, gradient, init; gradient, init
    {"ds.linear_input_grad", "hhhh", "h"},
    {"ds.linear_weight_grad", "hhw", "w"},
    {"ds.bias_grad", "hw", "w"},
    // input, gain, bias -> result, mean, rstd
    {"ds.layer_norm", "hww", "hww"},
    // gradient, input, gain, mean, rstd, residual; gradient, input, mean, rstd -> dgain, dbias
    {"ds.layer_norm_input_grad", "hhwwwh", "h"},
    {"ds.layer_norm_parameter_grad", "hhww", "ww"},
    // logits, labels, smoothing, weights -> losses, lse; logits, labels, lse, seed, smoothing,
    // weights
    {"ds.cross_entropy", "w..w", "ww"},
    {"ds.cross_entropy_grad", "w.w..w.", "h"},
    // Made after the types are settled: input, rank; ids, rank; key, rank; logits, labels, rank;
    // parts, chosen, labels, smoothing, total, weights
    {"ds.once", "t.", "t"},
    {"ds.local_ids", "..", "."},
    {"ds.part_key", "..", "."},
    {"ds.loss_parts", "w..", "www"},
    {"ds.join_loss", "ww..ww", "ww"},
    {"ds.label_weights", ".", "w"},
    {"ds.count", ".", "."},
    {"ds.loss_seed", ".", "."},
    {"ds.token_mean", "w.", "."},
    {"ds.slice_rows", "t", "t"},
    {"ds.concat_rows", "t", "t"},
    {"ds.square_sum", "w", "."},
    {"ds.global_norm", ".", "."},
    {"ds.clip_factor", ".", "."},
    {"ds.learning_rate", ".", "."},
    {"ds.increment", ".", "."},
    {"ds.zeros", ".", "."},
    {"ds.unscale", ".", "."},
    {"ds.loss_scale_update", ".", "."},
    // weight, gradient, state; scalars -> weight, state
    {"ds.adam_update", "wwww.", "www."},
    {"ds.sgd_update", "www.", "ww."},
    {"ds.lion_update", "www.", "ww"},
    {"ds.lamb_direction", "wwww.", "www"},
    {"ds.descend", "ww.", "w"},
    {"ds.clip_values", "w.", "w"},
    {"ds.scale_rate", ".", "."},
    {"ds.trust_ratio", ".", "."},
    {"ds.factor_sums", "w", "."},
    {"ds.factor_moment", ".w.", "w"},
    {"ds.moment_mean", "w", "."},
    {"ds.factored_direction", "www.", "w"},
    {"ds.adafactor_direction", "ww.", "w"},
    {"ds.update_power", ".", "."},
    {"ds.adafactor_factor", ".", "."},
};

const PrecisionPolicy *dsc::findPrecisionPolicy(StringRef opName) {
  const auto *found =
      llvm::find_if(table, [&](const PrecisionPolicy &row) { return row.op == opName; });
  return found == std::end(table) ? nullptr : found;
}

static Storage letter(StringRef letters, size_t index) {
  return Storage(letters[std::min(index, letters.size() - 1)]);
}

/// Which operand of the op's record an operand is: absent optional ones count.
static size_t groupOf(OpOperand &operand) {
  Operation *op = operand.getOwner();
  auto sizes = llvm::dyn_cast_or_null<DenseI32ArrayAttr>(
      op->getInherentAttr("operandSegmentSizes").value_or(Attribute()));
  if (!sizes)
    return operand.getOperandNumber();
  int64_t end = 0;
  for (auto [group, size] : llvm::enumerate(sizes.asArrayRef()))
    if (operand.getOperandNumber() < (end += size))
      return group;
  return operand.getOperandNumber();
}

Storage dsc::storageOf(OpOperand &operand) {
  const auto *row = findPrecisionPolicy(operand.getOwner()->getName().getStringRef());
  return row ? letter(row->operands, groupOf(operand)) : Storage::Other;
}

Storage dsc::storageOf(OpResult result) {
  const auto *row = findPrecisionPolicy(result.getOwner()->getName().getStringRef());
  Storage storage = row ? letter(row->results, result.getResultNumber()) : Storage::Other;
  return DSC_FAULT(23, storage, storage == Storage::Wanted ? Storage::Half : storage);
}
