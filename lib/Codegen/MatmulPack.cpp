//===- MatmulPack.cpp - copies blocks of A and B into panels ---------------===//
// A panel holds, for each k, the lanes a tile needs side by side: one stream for the tile to read,
// without TLB misses or cache sets that fill up. Lanes past the edge of a matrix are zero in B
// (whole vectors are read there) and absent in A.
#include "Matmul.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace dsc;

static Value shuffle(KernelBuilder &b, Value x, Value y, function_ref<int64_t(int64_t)> lane) {
  SmallVector<int64_t> lanes;
  for (int64_t i = 0, n = cast<VectorType>(x.getType()).getNumElements(); i < n; ++i)
    lanes.push_back(lane(i));
  return vector::ShuffleOp::create(b.builder(), b.loc(), x, y, lanes);
}

void dsc::transposeVectors(KernelBuilder &b, SmallVector<Value> &rows) {
  const int64_t n = rows.size();
  // 4 x 4 blocks inside each 128 bits: unpack, then unpack pairs. One instruction each.
  for (int64_t g = 0; g < n; g += 4) {
    auto unpack = [&](Value x, Value y, int64_t high) {
      return shuffle(b, x, y,
                     [&](int64_t i) { return i / 4 * 4 + high + i % 4 / 2 + (i % 2) * n; });
    };
    auto unpackPairs = [&](Value x, Value y, int64_t high) {
      return shuffle(b, x, y,
                     [&](int64_t i) { return i / 4 * 4 + high + i % 2 + (i % 4 / 2) * n; });
    };
    Value low01 = unpack(rows[g], rows[g + 1], 0), high01 = unpack(rows[g], rows[g + 1], 2);
    Value low23 = unpack(rows[g + 2], rows[g + 3], 0), high23 = unpack(rows[g + 2], rows[g + 3], 2);
    rows[g] = unpackPairs(low01, low23, 0);
    rows[g + 1] = unpackPairs(low01, low23, 2);
    rows[g + 2] = unpackPairs(high01, high23, 0);
    rows[g + 3] = unpackPairs(high01, high23, 2);
  }
  // Then blocks of 4 lanes change places with blocks of 4 rows.
  for (int64_t d = 4; d < n; d *= 2)
    for (int64_t i = 0; i < n; ++i) {
      if (i & d)
        continue;
      Value x = rows[i], y = rows[i + d];
      rows[i] = shuffle(b, x, y, [&](int64_t j) { return j & d ? n + j - d : j; });
      rows[i + d] = shuffle(b, x, y, [&](int64_t j) { return j & d ? n + j : j + d; });
    }
}

void MatmulEmitter::packCopy(Value source, int64_t stride, Value k0, Value kc, Value first,
                             Value packed, Value base, int64_t width, int64_t panel,
                             int64_t panels) {
  const int64_t panelSize = tiling.kcPadded() * panel;
  Value origin = b.linear(k0, stride, first);
  b.forRange(b.index(0), kc, 1, [&](Value k) {
    Value from = b.linear(k, stride, origin), to = b.linear(k, panel, base);
    // Rows may be pages apart, where no hardware prefetcher follows.
    for (int64_t line = 0; line < panels * width; line += 16)
      b.prefetch(source, b.add(from, b.index(8 * stride + line)), /*write=*/false);
    for (int64_t p = 0; p < panels; ++p)
      for (int64_t lane = 0; lane < width; lane += b.lanes()) {
        int64_t count = std::min(width - lane, b.lanes()), room = std::min(panel - lane, b.lanes());
        Value vector = b.loadLanes(source, b.add(from, b.index(p * panel + lane)), count);
        b.storeLanes(vector, packed, b.add(to, b.index(p * panelSize + lane)), room);
      }
  });
}

void MatmulEmitter::packTranspose(Value source, int64_t stride, Value k0, Value kc, Value first,
                                  Value packed, Value base, int64_t width, int64_t panel) {
  const int64_t lanes = b.lanes(), tail = shape.k % lanes;
  Value origin = b.linear(first, stride, k0);
  auto block = [&](Value k, int64_t count) {
    for (int64_t lane = 0; lane < width; lane += lanes) {
      SmallVector<Value> rows;
      for (int64_t r = 0; r < lanes; ++r) {
        Value from = b.add(origin, b.add(k, b.index((lane + r) * stride)));
        // The next panel's rows are other streams: let them arrive while this one is turned round.
        b.prefetch(source, b.add(from, b.index(panel * stride)), /*write=*/false);
        rows.push_back(lane + r < width ? b.loadLanes(source, from, count) : b.splat(0));
      }
      transposeVectors(b, rows);
      for (int64_t r = 0; r < count; ++r) {
        Value to = b.add(base, b.linear(b.add(k, b.index(r)), panel, b.index(lane)));
        b.storeLanes(rows[r], packed, to, std::min(panel - lane, lanes));
      }
    }
  };
  Value whole = b.sub(kc, b.rem(kc, b.index(lanes)));
  b.forRange(b.index(0), whole, lanes, [&](Value k) { block(k, lanes); });
  if (tail)
    b.ifThen(b.equal(b.add(k0, kc), b.index(shape.k)), [&] { block(whole, tail); });
}

void MatmulEmitter::packPanels(const Operand &operand, Value packed, Value k0, Value kc,
                               Value first, Value size) {
  const int64_t panel = operand.panel, edge = operand.extent % panel;
  const int64_t panelSize = tiling.kcPadded() * panel;
  // Side by side in memory, several panels are filled at once: whole cache lines, each page once.
  const int64_t group = operand.contiguous ? std::max<int64_t>(1, 64 / panel) : 1;
  auto pack = [&](Value index, int64_t width, int64_t panels) {
    Value lane = b.linear(index, panel, first), base = b.mul(index, b.index(panelSize));
    if (operand.contiguous)
      packCopy(operand.source, operand.extent, k0, kc, lane, packed, base, width, panel, panels);
    else
      packTranspose(operand.source, shape.k, k0, kc, lane, packed, base, width, panel);
  };
  Value whole = b.div(size, b.index(panel)), grouped = b.sub(whole, b.rem(whole, b.index(group)));
  if (group > 1 && operand.extent >= panel * group)
    b.forRange(b.index(0), grouped, group, [&](Value index) { pack(index, panel, group); });
  if (operand.extent >= panel)
    b.forRange(group > 1 ? grouped : b.index(0), whole, 1,
               [&](Value index) { pack(index, panel, 1); });
  if (edge)
    b.ifThen(b.equal(b.add(first, size), b.index(operand.extent)), [&] { pack(whole, edge, 1); });
}

void MatmulEmitter::packA(Value k0, Value kc, Value row, Value rows) {
  packPanels({sourceA, shape.m, tiling.mr, shape.transposeA}, packedA, k0, kc, row, rows);
}

void MatmulEmitter::packB(Value k0, Value kc, Value column, Value columns) {
  packPanels({sourceB, shape.n, tiling.nr, !shape.transposeB}, packedB, k0, kc, column, columns);
}
