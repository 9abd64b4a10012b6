//===- Interrupt.cpp - what ends a run after the running step -------===//
#include "dsc/Runtime/Core/Interrupt.h"
#include "dsc/Runtime/Comm/Communicator.h"
#include <csignal>
#include <unistd.h>

using namespace dsc;

static volatile std::sig_atomic_t noted = 0;
static volatile std::sig_atomic_t telling = 0;

static void note(int signal) {
  // Who presses Ctrl-C twice does not want to wait for the step.
  if (noted == SIGINT && signal == SIGINT) {
    std::signal(SIGINT, SIG_DFL);
    std::raise(SIGINT);
    return;
  }
  noted = signal;
  if (telling && signal == SIGTERM) {
    char text[4096];
    size_t size = describeOperations(text, sizeof text);
    if (write(STDERR_FILENO, text, size) < 0)
      return;
  }
}

void dsc::tellOperationsAtTermination() { telling = 1; }

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
