// RUN: not ds-opt %s --ds-insert-optimizer="optimizer=adagrad" 2>&1 | FileCheck %s --check-prefix=OPTIMIZER
// RUN: not ds-opt %s --ds-insert-optimizer="schedule=step" 2>&1 | FileCheck %s --check-prefix=SCHEDULE

// T4: names of optimizers and schedules.
// OPTIMIZER: error: T4: unknown optimizer 'adagrad', expected adamw, adam, sgd, lion, lamb or adafactor
// SCHEDULE: error: T4: unknown schedule 'step', expected constant, linear, cosine, inverse_sqrt, wsd, warmup_lr, warmup_decay_lr or warmup_cosine_lr
module {
}
