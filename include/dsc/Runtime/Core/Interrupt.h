//===- Interrupt.h - what ends a run after the running step ----------------===//
#ifndef DSC_RUNTIME_CORE_INTERRUPT_H
#define DSC_RUNTIME_CORE_INTERRUPT_H

namespace dsc {

/// From now on SIGINT, SIGTERM and SIGHUP (unless it was ignored) are noted instead of ending the
/// process. A second SIGINT ends it at once.
void noteInterrupts();

/// From now on SIGTERM also writes what this process's ranks are at to stderr: a launcher sends it
/// when another process has died.
void tellOperationsAtTermination();

/// The signal that came, or 0.
int interruptSignal();

} // namespace dsc

#endif // DSC_RUNTIME_CORE_INTERRUPT_H
