//===- Layout.cpp - the device grid and who owns what ----------------------===//
#include "dsc/Support/Layout.h"
#include <algorithm>

using namespace dsc;

const char *dsc::nameOf(Axis axis) {
  static constexpr const char *names[] = {"none", "data", "tensor", "pipeline", "context"};
  return names[static_cast<int>(axis)];
}

int64_t Coordinates::on(Axis axis) const {
  switch (axis) {
  case Axis::None:
    return 0;
  case Axis::Data:
    return data;
  case Axis::Tensor:
    return tensor;
  case Axis::Pipeline:
    return pipeline;
  case Axis::Context:
    return context;
  }
  return 0;
}

int64_t Layout::size(Axis axis) const {
  return axis == Axis::None ? 1 : Coordinates{data, tensor, pipeline, context}.on(axis);
}

Coordinates Layout::coordinates(int64_t rank) const {
  Coordinates at;
  at.tensor = rank % tensor;
  at.context = rank / tensor % context;
  at.data = rank / (tensor * context) % data;
  at.pipeline = rank / (tensor * context * data);
  return at;
}

int64_t Layout::rank(const Coordinates &at) const {
  return ((at.pipeline * data + at.data) * context + at.context) * tensor + at.tensor;
}

std::vector<int> Layout::group(Axis axis, int64_t rank) const {
  Coordinates at = coordinates(rank);
  int64_t *moving = axis == Axis::Data       ? &at.data
                    : axis == Axis::Tensor   ? &at.tensor
                    : axis == Axis::Pipeline ? &at.pipeline
                    : axis == Axis::Context  ? &at.context
                                             : nullptr;
  if (!moving)
    return {static_cast<int>(rank)};
  std::vector<int> ranks;
  for (*moving = 0; *moving < size(axis); ++*moving)
    ranks.push_back(static_cast<int>(this->rank(at)));
  return ranks;
}

int64_t Layout::onStage(int64_t stage, int64_t rank) const {
  Coordinates at = coordinates(rank);
  at.pipeline = stage;
  return this->rank(at);
}

Share dsc::shareOf(uint64_t elements, uint64_t block, uint64_t index, uint64_t ranks) {
  uint64_t blocks = (elements + block - 1) / block;
  return {std::min(blocks * index / ranks * block, elements),
          std::min(blocks * (index + 1) / ranks * block, elements)};
}

uint64_t dsc::largestShare(uint64_t elements, uint64_t block, uint64_t ranks) {
  uint64_t blocks = (elements + block - 1) / block;
  return (blocks + ranks - 1) / ranks * block;
}
