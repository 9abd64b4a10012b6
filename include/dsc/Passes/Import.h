//===- Import.h - from a resolved spec to ds IR ----------------------------===//
// The first phase. It is a function and not a pass because it starts from a Spec, not from IR;
// dumps show its result under the name ds-import.
#ifndef DSC_PASSES_IMPORT_H
#define DSC_PASSES_IMPORT_H

#include "dsc/Frontend/Spec.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <map>
#include <string>

namespace dsc {

namespace ds {
enum class Schedule : uint32_t;
}

struct ImportOptions {
  /// Programs to build. @train and @evaluate take `train.train_batch_size` sequences of
  /// `data.seq_length` ids and labels; @logits takes one sequence.
  bool train = true, evaluate = true, logits = true, generate = true;
  /// Where a key of the spec stands, "model.json:12" or "model.json:12:7", by its canonical name.
  /// Ops get the place of the key they come from, so that later errors point into the spec.
  std::map<std::string, std::string> places;
};

/// Builds a module with
///   ds.variable         one a parameter, under its Hugging Face name without `transformer.`
///   ds.hyperparameter   the scalars of the training loop, under their paths (only with @train)
///   @train, @evaluate   (tokens, labels: tensor<BxTxi32>), reports "loss" (mean over counted
///   labels), "tokens"
///   @logits             (tokens: tensor<1xTxi32>), reports "logits" [1, T, vocabulary]
///   @prefill, @decode   where `generation.batch` is R > 0: (tokens, position_ids: tensor<1xTxi32>
///                       or tensor<Rx1xi32>, rows: tensor<1xi32> or tensor<Rxi32>): keep keys and
///                       values of the tokens in rows of ds.variable "cache.h.0.keys" and so on
///                       [R, T, width]; @decode reports "logits" [R, 1, vocabulary]
/// With `data.packing` @train and @evaluate have a third argument, position_ids.
/// with one ds.block a layer: "embedding", "h.0", ..., "head". T is `data.seq_length`, or where
/// that is unknown (0) and only @logits is asked for, `model.n_positions`. Fails with a diagnostic
/// if a size does not fit, which a checked spec rules out.
mlir::OwningOpRef<mlir::ModuleOp> importSpec(mlir::MLIRContext &context, const Spec &spec,
                                             const ImportOptions &options = {});

/// The schedule of a spec, as ds.learning_rate names it.
ds::Schedule scheduleOf(const Spec &spec);

} // namespace dsc

#endif // DSC_PASSES_IMPORT_H
