//===- Progress.cpp - progress bar and plain lines -----------------------------===//
#include "dsc/Runtime/Monitor/Progress.h"
#include "dsc/Support/Numbers.h"
#include <algorithm>
#include <cmath>
#include <ctime>
#include <sys/ioctl.h>
#include <unistd.h>

using namespace dsc;
using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
}

std::string dsc::printDuration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 3.6e8)
    return "?";
  auto whole = static_cast<int64_t>(seconds + 0.5);
  auto two = [](int64_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  if (whole < 60)
    return std::to_string(whole) + " s";
  if (whole < 3600)
    return std::to_string(whole / 60) + ":" + two(whole % 60);
  return std::to_string(whole / 3600) + ":" + two(whole / 60 % 60) + ":" + two(whole % 60);
}

static std::string stepText(const StepRecord &record, int64_t steps) {
  return "step " + std::to_string(record.step) + (steps ? "/" + std::to_string(steps) : "");
}

static std::string lossText(const StepRecord &record) {
  return "loss " + printFixed(record.loss, 4) +
         (record.skipped.empty() ? "" : " (skipped: " + record.skipped + ")");
}

static std::string speedText(double tokensPerSecond) {
  return std::isfinite(tokensPerSecond) && tokensPerSecond < 1e15
             ? printGrouped(static_cast<int64_t>(tokensPerSecond + 0.5)) + " tokens/s"
             : "? tokens/s";
}

std::string dsc::progressText(const StepRecord &record, int64_t steps, double tokensPerSecond,
                              double secondsLeft, std::optional<double> evalLoss, int width) {
  std::string text = stepText(record, steps) + "  " + lossText(record);
  if (evalLoss)
    text += "  eval " + printFixed(*evalLoss, 4);
  text += "  " + speedText(tokensPerSecond);
  if (steps)
    text += "  " + printDuration(secondsLeft) + " left";
  int room = width - static_cast<int>(text.size()) - 5; // brackets, two spaces, last column
  if (steps && room >= 8) {
    int cells = std::min(room, 40);
    auto full = static_cast<int>(std::clamp<double>(
        static_cast<double>(record.step) / static_cast<double>(steps) * cells, 0, cells));
    text = "[" + std::string(static_cast<size_t>(full), '#') +
           std::string(static_cast<size_t>(cells - full), '-') + "]  " + text;
  }
  return text.substr(0, static_cast<size_t>(std::max(width - 1, 0)));
}

Progress::Progress(std::FILE *out, int64_t steps, int64_t every, std::optional<bool> terminal,
                   ConsoleStyle style)
    : out(out), steps(steps), every(std::max<int64_t>(every, 1)), style(style),
      terminal(!style.megatron && terminal.value_or(::isatty(::fileno(out)) == 1)),
      start(Clock::now()), lastDraw(start) {}

static std::string localTime() {
  std::time_t now = std::time(nullptr);
  std::tm parts;
  char text[32] = "";
  if (::localtime_r(&now, &parts))
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

Progress::~Progress() { finish(); }

void Progress::step(const StepRecord &record) {
  std::lock_guard lock(mutex);
  if (finished)
    return;
  if (!last) {
    firstStep = record.step;
    speed = record.tokensPerSecond;
    start = Clock::now() - std::chrono::duration_cast<Clock::duration>(
                               std::chrono::duration<double, std::milli>(record.stepMs));
  }
  speed += 0.1 * (record.tokensPerSecond - speed);
  if (record.evalLoss)
    lastEvalLoss = record.evalLoss;
  last = record;
  bool final = steps && record.step >= steps;
  if (terminal) {
    // Ten times a second is enough for eyes, and cheap at a thousand steps a second.
    if (!drawn || final || record.evalLoss || secondsSince(lastDraw) >= 0.1)
      draw();
    return;
  }
  if (style.megatron) {
    std::string lines = megatronLine(record, steps, localTime()) + megatronEvaluation(record);
    std::fputs(lines.c_str(), out);
    std::fflush(out);
    return;
  }
  if (record.step % every != 0 && !final && !record.evalLoss && record.step != firstStep)
    return;
  std::string line = stepText(record, steps) + "  " + lossText(record);
  if (record.gradNorm)
    line += "  grad_norm " + printFixed(*record.gradNorm, 4);
  line += "  lr " + printShortest(static_cast<float>(record.learningRate));
  if (record.evalLoss)
    line += "  eval_loss " + printFixed(*record.evalLoss, 4);
  line += "  " + speedText(record.tokensPerSecond) + "\n";
  std::fputs(line.c_str(), out);
  std::fflush(out);
}

void Progress::draw() {
  struct winsize size;
  int width = ::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
  // Time left from the mean over the run so far, evaluations included.
  double done = static_cast<double>(last->step - firstStep + 1);
  double left = secondsSince(start) / done * static_cast<double>(steps - last->step);
  std::string text = progressText(*last, steps, speed, left, lastEvalLoss, width);
  std::fprintf(out, "\r\x1b[K%s", text.c_str());
  std::fflush(out);
  lastDraw = Clock::now();
  drawn = true;
}

void Progress::erase() {
  if (drawn)
    std::fputs("\r\x1b[K", out);
  drawn = false;
}

void Progress::message(const std::string &line) {
  std::lock_guard lock(mutex);
  erase();
  std::fprintf(out, "%s\n", line.c_str());
  if (terminal && last && !finished)
    draw();
  std::fflush(out);
}

void Progress::finish() {
  std::lock_guard lock(mutex);
  if (finished)
    return;
  finished = true;
  if (terminal && last) {
    draw();
    std::fputs("\n", out);
    drawn = false;
  }
  std::fflush(out);
}
