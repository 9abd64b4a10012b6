//===- Embedding.cpp - float64 reference of Ops/Embedding.td ---------------===//
#include "Functions.h"

using namespace dsc;
using namespace dsc::reference;

/// Row of the table for token `i`; fails and returns -1 if there is none.
static int64_t tableRow(const Tensor &ids, int64_t i, int64_t rows, Evaluation &at) {
  int64_t id = static_cast<int64_t>(ids[i]);
  if (id >= 0 && id < rows)
    return id;
  at.fail("id " + llvm::Twine(id) + " of sample " + llvm::Twine(i / ids.columns()) + ", position " +
          llvm::Twine(i % ids.columns()) + ", is outside a table of " + llvm::Twine(rows) +
          " rows");
  return -1;
}

void reference::evaluate(ds::EmbeddingOp op, Evaluation &at) {
  const Tensor &ids = at(op.getIds()), &table = at(op.getTable());
  const Tensor *positions = at.optional(op.getPositions());
  const Tensor *positionIds = at.optional(op.getPositionIds());
  Tensor &result = at.result(op.getResult());
  int64_t length = ids.columns(), width = table.columns();
  for (int64_t i = 0; i < ids.count(); ++i) {
    bool elsewhere = ids[i] < 0;
    int64_t row = elsewhere ? 0 : tableRow(ids, i, table.rows(), at), position = i % length;
    bool padding = positionIds && (*positionIds)[i] < 0;
    if (positionIds && !padding)
      position = tableRow(*positionIds, i, positions->rows(), at);
    if (row < 0 || position < 0)
      return;
    for (int64_t c = 0; c < width; ++c)
      result[i * width + c] =
          (elsewhere ? 0 : table.row(row)[c]) + (positions && !padding ? positions->row(position)[c] : 0);
  }
}

void reference::evaluate(ds::EmbeddingGradOp op, Evaluation &at) {
  const Tensor &gradient = at(op.getGradient()), &ids = at(op.getIds());
  Tensor &result = at.result(op.getResult());
  if (const Tensor *init = at.optional(op.getInit()))
    result.values = init->values;
  for (int64_t i = 0; i < ids.count(); ++i) {
    if (ids[i] < 0)
      continue;
    int64_t row = tableRow(ids, i, result.rows(), at);
    if (row < 0)
      return;
    for (int64_t c = 0; c < result.columns(); ++c)
      result.row(row)[c] += gradient.row(i)[c];
  }
}

void reference::evaluate(ds::PositionGradOp op, Evaluation &at) {
  const Tensor &gradient = at(op.getGradient());
  Tensor &result = at.result(op.getResult());
  int64_t length = gradient.shape[gradient.shape.size() - 2];
  for (int64_t i = 0; i < gradient.rows(); ++i)
    for (int64_t c = 0; c < gradient.columns(); ++c)
      result.row(i % length)[c] += gradient.row(i)[c];
}
