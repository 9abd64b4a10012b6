//===- DumpPage.cpp - the IR page ------------------------------------------===//
// The page holds each text once, as inert script elements, and the edit script between neighbours;
// the browser renders what is looked at. So it opens at once, also for large models.
#include "DumpPage.h"
#include "../Plan/Lifetimes.h"
#include "LineDiff.h"
#include "dsc/Support/HtmlPage.h"
#include "dsc/Support/Json.h"

using namespace mlir;
using namespace dsc;
using nlohmann::ordered_json;

/// Text that may stand in a script element: no `</` may occur in it.
static std::string inert(const std::string &text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == '<' && i + 1 < text.size() && (text[i + 1] == '/' || text[i + 1] == '!'))
      out += '\\';
  }
  return out;
}

std::string dsc::memoryMapOf(ModuleOp module) {
  ordered_json programs = ordered_json::array();
  for (auto program : module.getOps<plan::ProgramOp>()) {
    plan::Lifetimes lifetimes = plan::computeLifetimes(program);
    ordered_json buffers = ordered_json::array(), labels = ordered_json::array();
    for (auto [op, life] : lifetimes.buffers) {
      plan::BufferOp buffer(op);
      if (!buffer.getOffset())
        return {};
      if (plan::livesAcrossPrograms(buffer.getKind()) || life.last < life.first)
        continue;
      buffers.push_back({buffer.getLabel().str(), plan::stringifyBufferKind(buffer.getKind()).str(),
                         life.first, life.last, *buffer.getOffset(),
                         plan::byteSize(cast<MemRefType>(buffer.getBuffer().getType()))});
    }
    for (Operation *instruction : lifetimes.instructions) {
      auto launch = dyn_cast<plan::LaunchOp>(instruction);
      labels.push_back(launch ? launch.getLabel().str()
                              : instruction->getName().getStringRef().str());
    }
    programs.push_back(
        {{"name", program.getSymName().str()}, {"labels", labels}, {"buffers", buffers}});
  }
  return programs.empty() ? std::string() : programs.dump();
}

std::string dsc::dumpPage(const PageContents &contents) {
  ordered_json stages = ordered_json::array();
  std::string texts;
  const DumpStage *before = nullptr;
  for (const DumpStage &stage : contents.stages) {
    ordered_json entry = {{"phase", stage.phase},     {"name", stage.name},
                          {"summary", stage.summary}, {"file", stage.file},
                          {"ms", stage.milliseconds}, {"ops", stage.ops}};
    // Kernel functions have nothing to do with the IR before them.
    if (before && stage.phase != "kernels") {
      ordered_json runs = ordered_json::array();
      for (const DiffRun &run : diffLines(before->text, stage.text))
        runs.push_back({run.equal, run.removed, run.added});
      entry["diff"] = std::move(runs);
    }
    texts += "<script type=\"text/plain\" id=\"ir-" + std::to_string(stages.size()) + "\">" +
             inert(stage.text) + "</script>\n";
    stages.push_back(std::move(entry));
    before = &stage;
  }
  std::string body =
      "<nav id=\"ribbon\" aria-label=\"Phases and passes\"></nav>\n<main id=\"stage\"></main>\n"
      "<script type=\"application/json\" id=\"stages\">" +
      inertJson(stages.dump()) + "</script>\n<script type=\"application/json\" id=\"memory\">" +
      (contents.memoryMap.empty() ? "[]" : inertJson(contents.memoryMap)) + "</script>\n" + texts +
      "<script>" + pageScript + "</script>\n";
  return printPage({contents.title, "IR after every pass", contents.facts, pageStyle, body});
}
