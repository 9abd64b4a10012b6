//===- Interrupt.cpp - what ends a run after the running step -------===//
#include "dsc/Runtime/Core/Interrupt.h"
#include <csignal>

static volatile std::sig_atomic_t noted = 0;

static void note(int signal) {
  // Who presses Ctrl-C twice does not want to wait for the step.
  if (noted == SIGINT && signal == SIGINT) {
    std::signal(SIGINT, SIG_DFL);
    std::raise(SIGINT);
    return;
  }
  noted = signal;
}

void dsc::noteInterrupts() {
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // A terminal that closes; nohup has it ignored, and so it stays.
  struct sigaction before {};
  if (sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
    sigaction(SIGHUP, &action, nullptr);
}

int dsc::interruptSignal() { return noted; }
