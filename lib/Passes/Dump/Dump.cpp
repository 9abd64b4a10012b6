//===- Dump.cpp - collects the IR after every pass -------------------------===//
#include "dsc/Passes/Dump.h"
#include "DumpPage.h"
#include "dsc/Support/File.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

using namespace mlir;
using namespace dsc;

void Dump::add(const std::string &phase, const std::string &name, const std::string &summary,
               ModuleOp module, double milliseconds) {
  DumpStage stage{phase, name, summary, {}, {}, milliseconds, {}};
  std::string number = std::to_string(theStages.size() + 1);
  stage.file = std::string(number.size() < 2 ? "0" : "") + number + "-" + name + ".mlir";
  llvm::raw_string_ostream out(stage.text);
  module.print(out);
  out << "\n";
  module.walk([&](Operation *op) {
    if (op != module)
      ++stage.ops[op->getName().getStringRef().str()];
  });
  if (std::string map = memoryMapOf(module); !map.empty())
    memoryMap = std::move(map);
  theStages.push_back(std::move(stage));
}

namespace dsc {
/// Times each pass on the module and records its result.
class DumpInstrumentation : public PassInstrumentation {
public:
  DumpInstrumentation(Dump &dump, std::string phase, std::string whose)
      : dump(dump), phase(std::move(phase)), whose(std::move(whose)) {}

  void runBeforePass(Pass *pass, Operation *op) override { start = Clock::now(); }
  void runAfterPass(Pass *pass, Operation *op) override {
    double milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    if (auto module = dyn_cast<ModuleOp>(op); module && !pass->getArgument().empty())
      dump.add(phase, pass->getArgument().str(), pass->getDescription().str() + whose, module,
               milliseconds);
  }

private:
  using Clock = std::chrono::steady_clock;
  Dump &dump;
  std::string phase, whose;
  Clock::time_point start;
};
} // namespace dsc

void Dump::watch(PassManager &manager, const std::string &phase, const std::string &whose) {
  manager.addInstrumentation(std::make_unique<DumpInstrumentation>(*this, phase, whose));
}

Status Dump::write() const {
  if (Status status = makeFolders(folder); !status.ok())
    return status;
  for (const DumpStage &stage : theStages)
    if (Status status = writeFileAtomically(joinPath(folder, stage.file), stage.text); !status.ok())
      return status;
  return writeFileAtomically(joinPath(folder, "index.html"),
                             dumpPage({title, facts, memoryMap, theStages}));
}
