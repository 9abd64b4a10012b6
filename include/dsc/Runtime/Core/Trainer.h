//===- Trainer.h - the training loop, evaluation ---------------------------===//
#ifndef DSC_RUNTIME_CORE_TRAINER_H
#define DSC_RUNTIME_CORE_TRAINER_H

#include "dsc/Runtime/Core/Session.h"
#include <functional>

namespace dsc {

/// Mean loss over validation data, each token counted once.
struct EvaluationResult {
  double loss = 0;                   ///< nats a token
  std::optional<double> bitsPerByte; ///< where tokens are bytes (DataConfig::validationIsBytes)
  int64_t tokens = 0, batches = 0;
  bool complete = true; ///< false: a signal ended it early
};

/// Runs program `evaluate` over `stream` (at most `limit` batches, 0: all) and adds the batches'
/// losses, weighted by their tokens, in order.
/// `between` is called after each.
StatusOr<EvaluationResult> evaluate(
    Session &session, EvaluationStream &stream, int64_t limit,
    const std::function<void()> &between = [] {});

/// dsrun PLAN: trains, logs, evaluates, saves. Prints to stdout. Returns when the run has ended;
/// after a signal (interruptSignal()) with the weights saved and Ok. Numeric: the loss or a
/// gradient is not finite, the weights of the last good step are saved.
/// Under a launcher rank 0 does so, and the other processes do as it says.
Status train(Session &session);

/// dsrun PLAN --evaluate.
Status evaluateOnly(Session &session);

} // namespace dsc

#endif // DSC_RUNTIME_CORE_TRAINER_H
