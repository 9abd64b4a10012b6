//===- Evaluation.cpp - what validation says, and when it says stop --------===//
#include "dsc/Runtime/Monitor/Evaluation.h"
#include "dsc/Support/Fault.h"
#include "dsc/Support/Numbers.h"
#include "dsc/Support/PortableMath.h"
#include <cmath>

using namespace dsc;

void EvaluationSum::see(std::span<const int32_t> labels) {
  if (countsBytes)
    for (int32_t label : labels)
      bytes += label >= 0 && label < 256;
}

void EvaluationSum::add(double meanLoss, int64_t counted) {
  sum += meanLoss * static_cast<double>(DSC_FAULT(81, counted, 1));
  total += counted;
}

std::optional<double> EvaluationSum::bitsPerByte() const {
  constexpr double ln2 = 0x1.62e42fefa39efp-1;
  if (!bytes)
    return std::nullopt;
  return sum / ln2 / static_cast<double>(bytes);
}

double dsc::perplexityOf(double loss) { return portableExp(loss); }

void EarlyStopping::note(int64_t step, double loss) {
  if (std::isfinite(loss) && (!bestStep || loss < best - minDelta)) {
    best = loss;
    bestStep = step;
    since = 0;
    return;
  }
  ++since;
}

std::string EarlyStopping::reason() const {
  std::string count =
      " for " + std::to_string(since) + (since == 1 ? " evaluation" : " evaluations");
  if (!bestStep)
    return "eval_loss has not been finite" + count;
  return "eval_loss has not fallen " + (minDelta > 0 ? "by " + printShortest(minDelta) + " " : "") +
         "below " + printFixed(best, 4) + " (step " + std::to_string(bestStep) + ")" + count;
}
