//===- WorkingCopies.cpp - two-byte copies of parameters -------------------===//
#include "dsc/Runtime/Core/WorkingCopies.h"
#include "dsc/Support/Fault.h"
#include "dsc/Support/HalfFloat.h"
#include <cstring>

using namespace dsc;
using namespace dsc::plan;

namespace {
struct Rounding {
  const std::byte *from;
  std::byte *to;
  DType type; ///< of the copy
  int64_t elements, workers;
};
} // namespace

static void roundShare(void *context, int worker) {
  const Rounding &r = *static_cast<Rounding *>(context);
  auto convert = r.type == DType::F16 ? floatToHalf : floatToBfloat;
  int64_t end = r.elements * (worker + 1) / r.workers;
  for (int64_t i = r.elements * worker / r.workers; i < end; ++i) {
    float value;
    std::memcpy(&value, r.from + i * 4, 4);
    uint16_t half = convert(value);
    std::memcpy(r.to + i * 2, &half, 2);
  }
}

void dsc::refreshWorkingCopies(Executor &executor) {
  const std::vector<Variable> &variables = executor.plan().variables;
  for (size_t i = 0; i < variables.size(); ++i) {
    if (DSC_FAULT(83, variables[i].role != Kind::WorkingCopy, true))
      continue;
    std::string_view master = std::string_view(variables[i].name).substr(workingCopyPrefix.size());
    for (size_t j = 0; j < variables.size(); ++j) {
      if (variables[j].name != master)
        continue;
      int64_t elements = 1;
      for (int64_t dimension : variables[i].shape)
        elements *= dimension;
      Rounding job{executor.variable(j), executor.variable(i), variables[i].dtype, elements,
                   executor.threads()};
      executor.workers().run(roundShare, &job);
    }
  }
}
