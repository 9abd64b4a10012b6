//===- Parts.cpp - test rows of Ops/Parts.td -------------------------------===//
// Formulas over all classes, of which a rank sees some: 131 over 4 leaves one place empty.
#include "OpTable.h"
#include <algorithm>
#include <cmath>

using namespace dsc::optable;

static const double lowest = -3.40282346638528859812e38;

/// Classes of `all` that rank `rank` has in `columns` places.
static int64_t classesOf(double rank, int64_t columns, int64_t all) {
  int64_t first = static_cast<int64_t>(rank) * columns;
  return std::max<int64_t>(0, std::min(columns, all - first));
}

static Tensors lossPartsExpected(const Tensors &in, int64_t ranks, int64_t classes, bool total) {
  const Tensor &logits = in[0], &labels = in[1];
  double rank = in[2].item();
  int64_t rows = labels.count(), own = classesOf(rank, logits.columns(), classes);
  std::vector<int64_t> shape = labels.shape;
  shape.insert(shape.begin(), ranks);
  Tensor lse = Tensor::filled(shape, 0), chosen = Tensor::filled(labels.shape, 0), sums = chosen;
  for (int64_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (int64_t v = 0; v < own; ++v) {
      sum += std::exp(logits.row(i)[v]);
      sums[i] += logits.row(i)[v];
    }
    lse[static_cast<int64_t>(rank) * rows + i] = own ? std::log(sum) : lowest;
    if (labels[i] >= 0)
      chosen[i] = logits.row(i)[static_cast<int64_t>(labels[i])];
  }
  Tensors results = {lse, chosen};
  if (total)
    results.push_back(sums);
  return results;
}

/// Losses as log of a sum of probabilities' shares.
static Tensors joinLossExpected(const Tensors &in, double smoothing, int64_t classes,
                                bool weighted) {
  const Tensor &parts = in[0], &chosen = in[1], &labels = in[2];
  Tensor losses = Tensor::filled(labels.shape, 0), lse = losses;
  int64_t rows = labels.count();
  for (int64_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (int64_t r = 0; r < parts.count() / rows; ++r)
      sum += std::exp(parts[r * rows + i]);
    lse[i] = std::log(sum);
    if (labels[i] == -100)
      continue;
    double mean = smoothing > 0 ? in[4][i] / static_cast<double>(classes) : 0;
    losses[i] = lse[i] - (1 - smoothing) * chosen[i] - smoothing * mean;
    if (weighted)
      losses[i] *= in.back()[i];
  }
  return {losses, lse};
}

static Fill scalar(double value) { return {.exactly = {value}}; }

static OpRow onceRow() {
  OpRow row{"ds.once", {}};
  for (std::string shape : {"1", "131", "7x1031"})
    for (double rank : {0.0, 1.0, 3.0})
      row.cases.push_back({.label = shape + "_rank" + std::to_string(int(rank)),
                           .operands = {shape + "xf32", "f64"},
                           .results = {shape + "xf32"},
                           .text = "ds.once $0, $1 : (#0, #1) -> @0",
                           .fills = {{1, scalar(rank)}},
                           .expected = [rank](const Tensors &in) -> Tensors {
                             return {rank == 0 ? in[0] : Tensor::filled(in[0].shape, 0)};
                           },
                           .roundings = 0});
  return row;
}

static OpRow localIdsRow() {
  OpRow row{"ds.local_ids", {}};
  for (double rank : {0.0, 1.0, 3.0})
    row.cases.push_back({.label = "131_over_4_rank" + std::to_string(int(rank)),
                         .operands = {"3x37xi32", "f64"},
                         .results = {"3x37xi32"},
                         .text = "ds.local_ids $0, $1 {rows = 33 : i64} : (#0, #1) -> @0",
                         .fills = {{0, {.low = 0, .high = 131, .uncounted = 4}}, {1, scalar(rank)}},
                         .expected = [rank](const Tensors &in) -> Tensors {
                           Tensor result = in[0];
                           for (double &id : result.values)
                             if (id >= 0)
                               id = std::floor(id / 33) == rank ? id - 33 * rank : -1;
                           return {result};
                         },
                         .roundings = 0});
  return row;
}

static OpRow partKeyRow() {
  OpRow row{"ds.part_key", {}};
  row.cases.push_back(
      {.label = "third",
       .operands = {"5xf64", "f64"},
       .results = {"6xf64"},
       .text = "ds.part_key $0, $1 {elements = 20 : i64} : (#0, #1) -> @0",
       .fills = {{0, {.exactly = {3000000001.0, 7, 40, 12, 2166136261.0}}}, {1, scalar(3)}},
       .expected = [](const Tensors &) -> Tensors {
         return {Tensor({6}, {3000000001.0, 7, 40, 12, 2166136261.0, 15})};
       },
       .roundings = 0});
  return row;
}

std::vector<OpRow> dsc::optable::partsRows() {
  OpRow parts{"ds.loss_parts", {}}, join{"ds.join_loss", {}};
  struct Sizes {
    std::string leading, columns;
    int64_t ranks, classes;
    double rank;
  };
  for (const Sizes &s :
       {Sizes{"7", "16", 2, 32, 1}, Sizes{"2x7", "33", 4, 131, 0}, Sizes{"2x7", "33", 4, 131, 3},
        Sizes{"3", "2", 4, 5, 3}, Sizes{"5", "1031", 2, 2061, 1}})
    for (bool total : {false, true}) {
      std::string row = s.leading + "xf32", ids = s.leading + "xi32";
      std::string lse = std::to_string(s.ranks) + "x" + row;
      std::string classes = " {classes = " + std::to_string(s.classes) + " : i64} : ";
      std::string label = std::to_string(s.classes) + "_over_" + std::to_string(s.ranks) + "_rank" +
                          std::to_string(int(s.rank)) + (total ? "_total" : "");
      double columns = std::stod(s.columns);
      double own = double(classesOf(s.rank, std::stol(s.columns), s.classes));
      std::vector<std::string> results = {lse, row};
      if (total)
        results.push_back(row);
      parts.cases.push_back(
          {.label = label,
           .operands = {s.leading + "x" + s.columns + "xf32", ids, "f64"},
           .results = results,
           .text = "ds.loss_parts $0, $1, $2" + classes + "(#0, #1, #2) -> " +
                   (total ? "(@0, @1, @2)" : "(@0, @1)"),
           .fills = {{0, {.low = -4, .high = 4}},
                     {1, {.low = own > 0 ? 0.0 : -1.0, .high = std::max(own, 0.0), .uncounted = 4}},
                     {2, scalar(s.rank)}},
           .expected =
               [s, total](const Tensors &in) {
                 return lossPartsExpected(in, s.ranks, s.classes, total);
               },
           .roundings = columns + 8,
           .magnitude = 12});
      // The same number of ranks, joined.
      std::string weighted = total ? " smoothing $3, $4 weights $5" : "";
      join.cases.push_back(
          {.label = label,
           .operands = total ? std::vector<std::string>{lse, row, ids, "f64", row, row}
                             : std::vector<std::string>{lse, row, ids},
           .results = {row, row},
           .text = "ds.join_loss $0, $1, $2" + weighted + classes +
                   (total ? "(#0, #1, #2, #3, #4, #5)" : "(#0, #1, #2)") + " -> (@0, @1)",
           .fills = {{0, {.low = 0, .high = 8}},
                     {1, {.low = -4, .high = 4}},
                     {2, {.low = 0, .high = 7, .uncounted = 4}},
                     {3, scalar(0.1)},
                     {5, {.low = 0.125, .high = 1}}},
           .expected =
               [s, total](const Tensors &in) {
                 return joinLossExpected(in, total ? 0.1 : 0, s.classes, total);
               },
           .roundings = 16,
           .magnitude = 24});
    }
  return {onceRow(), localIdsRow(), partKeyRow(), parts, join};
}
