//===- PrintGrid.cpp - who is where in a layout ----------------------------===//
#include "dsc/Frontend/Frontend.h"
#include <algorithm>

using namespace dsc;

/// Ranks up to which each has its line. Of more, the first and the last of a stage have, and of so
/// many stages the first and the last half.
static constexpr int64_t mostLines = 64;

/// Part `part` of the model: "embedding, h.0 to h.3".
static std::string contents(const Spec &spec, size_t part, int64_t first) {
  const std::vector<int64_t> &stages = spec.parallel.stages;
  int64_t last = first + stages[part] - 1;
  std::string text = part == 0 ? "embedding, " : "";
  text += "h." + std::to_string(first) + (last > first ? " to h." + std::to_string(last) : "");
  return text + (part + 1 == stages.size() ? ", head" : "");
}

/// What each stage has.
static std::vector<std::string> stageContents(const Spec &spec) {
  std::vector<std::string> texts(spec.parallel.layout.pipeline);
  int64_t first = 0;
  for (size_t part = 0; part < spec.parallel.stages.size(); ++part) {
    std::string &text = texts[part % texts.size()];
    text += (text.empty() ? "" : "; ") + contents(spec, part, first);
    first += spec.parallel.stages[part];
  }
  return texts;
}

static std::string right(const std::string &text, size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

std::string dsc::printGrid(const Spec &spec) {
  const Layout &layout = spec.parallel.layout;
  std::vector<Axis> axes;
  std::string text = "\n" + std::to_string(layout.ranks()) + " ranks: ";
  for (Axis axis : {Axis::Pipeline, Axis::Data, Axis::Context, Axis::Tensor})
    if (layout.size(axis) > 1) {
      text += (axes.empty() ? "" : " × ") + std::string(nameOf(axis)) + " " +
              std::to_string(layout.size(axis));
      axes.push_back(axis);
    }
  int64_t micros = spec.microBatches();
  text += "; a rank has " + std::to_string(micros) +
          (micros == 1 ? " micro-batch" : " micro-batches") + " of " +
          std::to_string(spec.train.microBatch) + " in an update\n";
  constexpr size_t rankWidth = 7;
  text += right("rank", rankWidth);
  for (Axis axis : axes)
    text += "  " + std::string(nameOf(axis));
  text += "  holds\n";
  std::vector<std::string> holds = stageContents(spec);
  int64_t inStage = layout.ranks() / layout.pipeline;
  std::vector<std::string> lines;
  for (int64_t rank = 0; rank < layout.ranks(); ++rank) {
    int64_t within = rank % inStage;
    if (layout.ranks() > mostLines && within > 0 && within + 1 < inStage) {
      lines.push_back(right("...", rankWidth) + "\n");
      rank += inStage - 2 - within;
      continue;
    }
    std::string line = right(std::to_string(rank), rankWidth);
    Coordinates at = layout.coordinates(rank);
    for (Axis axis : axes)
      line += "  " + right(std::to_string(at.on(axis)), std::string_view(nameOf(axis)).size());
    lines.push_back(line + "  " + holds[at.pipeline] + "\n");
  }
  int64_t count = static_cast<int64_t>(lines.size()), cut = std::max<int64_t>(0, count - mostLines);
  for (int64_t i = 0; i < count; ++i) {
    if (cut > 0 && i == mostLines / 2) {
      text += right("...", rankWidth) + "\n";
      i += cut;
    }
    text += lines[i];
  }
  return text;
}
