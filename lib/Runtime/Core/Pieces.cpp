//===- Pieces.cpp - which bytes of a variable a rank has -------------------===//
#include "dsc/Runtime/Core/Pieces.h"
#include <algorithm>
#include <map>
#include <string_view>

using namespace dsc;
using namespace dsc::plan;

static uint64_t elementsOf(const std::vector<int64_t> &shape) {
  uint64_t elements = 1;
  for (int64_t dimension : shape)
    elements *= static_cast<uint64_t>(dimension);
  return elements;
}

/// True if the variable of a later stage is that of an earlier one again: a tied table.
static bool isOnEarlierStage(const Plan &plan, int64_t stage, const std::string &name) {
  for (int64_t s = 0; s < stage; ++s)
    for (const Variable &variable : plan.stages[static_cast<size_t>(s)].variables)
      if (variable.name == name)
        return true;
  return false;
}

static void addPieces(const Plan &plan, const Coordinates &at, const Variable &part, Piece piece,
                      std::vector<Piece> &out) {
  uint64_t size = static_cast<uint64_t>(byteSize(part.dtype));
  // Ranks that differ in what the variable is not cut along have the same.
  piece.home = !isOnEarlierStage(plan, at.pipeline, part.name);
  for (Axis axis : {Axis::Data, Axis::Tensor, Axis::Context})
    piece.home &= axis == part.share || axis == part.cut.axis || at.on(axis) == 0;
  piece.scalar = part.shape.empty();
  if (part.cut.axis == Axis::None) {
    uint64_t elements = elementsOf(part.shape);
    Share share{0, elements};
    if (part.share != Axis::None)
      share = shareOf(elements, shareBlock, static_cast<uint64_t>(at.on(part.share)),
                      static_cast<uint64_t>(plan.layout.size(part.share)));
    piece.wholeOffset = share.begin * size;
    piece.bytes = share.size() * size;
    if (piece.bytes)
      out.push_back(piece);
    return;
  }
  const Cut &cut = part.cut;
  uint64_t ranks = static_cast<uint64_t>(plan.layout.size(cut.axis));
  uint64_t each = (cut.count + ranks - 1) / ranks;
  uint64_t begin = std::min(each * static_cast<uint64_t>(at.on(cut.axis)), cut.count);
  uint64_t count = std::min(each, cut.count - begin);
  // A share of what is cut: in elements of the rank's part.
  uint64_t elements = elementsOf(part.shape);
  Share share{0, elements};
  if (part.share != Axis::None)
    share = shareOf(elements, shareBlock, static_cast<uint64_t>(at.on(part.share)),
                    static_cast<uint64_t>(plan.layout.size(part.share)));
  for (uint64_t outer = 0; outer < cut.outer && count; ++outer) {
    uint64_t first = outer * each * cut.inner, last = first + count * cut.inner; // of the part
    uint64_t low = std::max(first, share.begin), high = std::min(last, share.end);
    if (low >= high)
      continue;
    piece.partOffset = (low - share.begin) * size;
    piece.wholeOffset = ((outer * cut.count + begin) * cut.inner + (low - first)) * size;
    piece.bytes = (high - low) * size;
    out.push_back(piece);
  }
}

std::vector<Piece> dsc::piecesOf(const Plan &plan, int64_t rank) {
  std::map<std::string_view, size_t> whole;
  for (size_t v = 0; v < plan.variables.size(); ++v)
    whole.emplace(plan.variables[v].name, v);
  Coordinates at = plan.layout.coordinates(rank);
  const std::vector<Variable> &parts = plan.stages[static_cast<size_t>(at.pipeline)].variables;
  std::vector<Piece> pieces;
  for (size_t p = 0; p < parts.size(); ++p)
    if (auto found = whole.find(parts[p].name); found != whole.end())
      addPieces(plan, at, parts[p], {p, found->second, 0, 0, 0, false, false}, pieces);
  return pieces;
}
