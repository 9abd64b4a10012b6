//===- TileMatmul.cpp - products of two-byte operands on tile registers ----===//
#include "TileMatmul.h"
#include "TileRegisters.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace dsc;

/// Lanes, and pairs of k, of a tile; elements of 32 bits in it; lanes of a panel: two tiles.
static constexpr int64_t kTile = 16, kTileWords = 256, kPanel = 32;
/// Bytes of an operand packed at a time: what should stay in the L2 cache.
static constexpr int64_t kPackedBytes = 1 << 20;

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t partsOf(bool f16) { return f16 ? 2 : 1; }
static int64_t tilesOfDepth(const MatmulShape &shape) { return ceilDiv(shape.k, 2 * kTile); }
/// Words of 32 bits that `lanes` lanes take, packed.
static int64_t packedWords(const MatmulShape &shape, int64_t parts, int64_t lanes) {
  return ceilDiv(lanes, kPanel) * 2 * tilesOfDepth(shape) * parts * kTileWords;
}
/// Lanes packed at a time, of `extent`.
static int64_t lanesAtOnce(const MatmulShape &shape, int64_t parts, int64_t extent) {
  int64_t panels = kPackedBytes / (4 * packedWords(shape, parts, kPanel));
  return std::min(ceilDiv(extent, kPanel), std::max<int64_t>(panels, 1)) * kPanel;
}

bool dsc::takesTiles(Type elementA, Type elementB, const Target &target) {
  return target.tiles != Tiles::None && elementA == elementB &&
         (elementA.isF16() || elementA.isBF16());
}

int64_t TileMatmul::workspaceBytes(const MatmulShape &shape, bool f16) {
  int64_t parts = partsOf(f16);
  return TileRegisters::workspaceBytes +
         4 * (kPanel * kPanel + packedWords(shape, parts, lanesAtOnce(shape, parts, shape.m)) +
              packedWords(shape, parts, lanesAtOnce(shape, parts, shape.n)));
}

TileMatmul::TileMatmul(KernelBuilder &b, const MatmulShape &shape, const MatmulEpilogue &epilogue,
                       Value a, Value bOperand, Value c, bool f16)
    : b(b), shape(shape), epilogue(epilogue), a{a, shape.m, shape.transposeA, /*byLane=*/true},
      bOperand{bOperand, shape.n, !shape.transposeB, /*byLane=*/false}, result(c),
      parts(partsOf(f16)) {}

void TileMatmul::emit(const MatmulSplit &split) {
  const int64_t rowsAtOnce = lanesAtOnce(shape, parts, shape.m);
  const int64_t columnsAtOnce = lanesAtOnce(shape, parts, shape.n);
  const int64_t wordsA = packedWords(shape, parts, rowsAtOnce);
  const int64_t wordsB = packedWords(shape, parts, columnsAtOnce);
  Type word = b.builder().getI32Type();
  int64_t at = TileRegisters::workspaceBytes;
  sums = b.workspace(at, kPanel * kPanel);
  packedA = b.workspace(at += 4 * kPanel * kPanel, wordsA, word);
  packedB = b.workspace(at += 4 * wordsA, wordsB, word);

  Value low = b.mul(b.begin(), b.index(split.itemSize));
  Value high =
      b.min(b.mul(b.end(), b.index(split.itemSize)), b.index(split.columns ? shape.n : shape.m));
  Value rowLow = split.columns ? b.index(0) : low;
  Value rowHigh = split.columns ? b.index(shape.m) : high;
  Value columnLow = split.columns ? low : b.index(0);
  Value columnHigh = split.columns ? high : b.index(shape.n);
  TileRegisters(b).configure();
  b.forRange(rowLow, rowHigh, rowsAtOnce, [&](Value row) {
    Value blockHigh = b.min(b.add(row, b.index(rowsAtOnce)), rowHigh);
    pack(a, packedA, row, blockHigh);
    b.forRange(columnLow, columnHigh, columnsAtOnce, [&](Value column) {
      Value end = b.min(b.add(column, b.index(columnsAtOnce)), columnHigh);
      pack(bOperand, packedB, column, end);
      emitColumns(row, blockHigh, column, end);
    });
  });
  TileRegisters(b).release();
}

void TileMatmul::pack(const Operand &operand, Value packed, Value first, Value high) {
  const int64_t words = tilesOfDepth(shape) * parts * kTileWords; // of 16 lanes
  // Both tiles of a panel are written, so that no product reads what an earlier one left.
  Value tiles =
      b.mul(b.div(b.add(b.sub(high, first), b.index(kPanel - 1)), b.index(kPanel)), b.index(2));
  b.forRange(b.index(0), tiles, 1, [&](Value tile) {
    Value lane = b.linear(tile, kTile, first), base = b.mul(tile, b.index(words));
    b.forRange(b.index(0), b.index(tilesOfDepth(shape)), 1, [&](Value depth) {
      Value k = b.mul(depth, b.index(2 * kTile));
      Value offset = b.linear(depth, parts * kTileWords, base);
      Value lanesThere = b.less(b.add(lane, b.index(kTile - 1)), high);
      Value depthThere = b.less(b.add(k, b.index(2 * kTile - 1)), b.index(shape.k));
      b.ifElse(
          b.bitAnd(lanesThere, depthThere),
          [&]() -> Carried {
            packTile(operand, packed, offset, lane, high, k, /*whole=*/true);
            return {};
          },
          [&]() -> Carried {
            packTile(operand, packed, offset, lane, high, k, /*whole=*/false);
            return {};
          });
    });
  });
}

SmallVector<Value> TileMatmul::load(const Operand &operand, Value offset, Value count) {
  Value mask = count ? b.mask(count, kTile) : Value();
  Type bits = b.builder().getI16Type();
  if (parts == 1) { // kernelMemory shows bf16 as its bits
    auto type = VectorType::get({kTile}, bits);
    if (!mask)
      return {vector::LoadOp::create(b.builder(), b.loc(), type, operand.source, offset)};
    return {vector::MaskedLoadOp::create(b.builder(), b.loc(), type, operand.source, offset, mask,
                                         b.constant(type, 0))};
  }
  Value x = b.loadVector(operand.source, offset, mask, kTile);
  Value high = b.narrow(x, bits);
  Value rest = b.sub(x, b.widen(high));
  // Infinity less itself is no number; its whole value is in the first part.
  rest = b.select(b.equal(rest, rest), rest, b.constant(x.getType(), 0));
  return {high, b.narrow(rest, bits)};
}

SmallVector<Value> TileMatmul::pairsOfLane(const Operand &operand, Value lane, Value high, Value k,
                                           bool whole) {
  Value offset = b.linear(lane, shape.k, k), count, rest;
  if (!whole) {
    count = b.select(b.less(lane, high), b.sub(b.index(shape.k), k), b.index(0));
    rest = b.sub(count, b.index(kTile));
  }
  Vectors first = load(operand, offset, count);
  Vectors second = load(operand, b.add(offset, b.index(kTile)), rest), pairs;
  SmallVector<int64_t> all;
  for (int64_t i = 0; i < 2 * kTile; ++i)
    all.push_back(i);
  for (int64_t part = 0; part < parts; ++part) {
    Value both = vector::ShuffleOp::create(b.builder(), b.loc(), first[part], second[part], all);
    pairs.push_back(vector::BitCastOp::create(
        b.builder(), b.loc(), VectorType::get({kTile}, b.builder().getI32Type()), both));
  }
  return pairs;
}

SmallVector<Value> TileMatmul::pairsOfLanes(const Operand &operand, Value lane, Value high, Value k,
                                            bool whole) {
  auto row = [&](Value depth) {
    Value count;
    if (!whole)
      count = b.select(b.less(depth, b.index(shape.k)), b.sub(high, lane), b.index(0));
    return load(operand, b.linear(depth, operand.extent, lane), count);
  };
  Vectors even = row(k), odd = row(b.add(k, b.index(1))), pairs;
  SmallVector<int64_t> alternating;
  for (int64_t i = 0; i < kTile; ++i)
    alternating.append({i, i + kTile});
  for (int64_t part = 0; part < parts; ++part) {
    Value both =
        vector::ShuffleOp::create(b.builder(), b.loc(), even[part], odd[part], alternating);
    pairs.push_back(vector::BitCastOp::create(
        b.builder(), b.loc(), VectorType::get({kTile}, b.builder().getI32Type()), both));
  }
  return pairs;
}

void TileMatmul::packTile(const Operand &operand, Value packed, Value offset, Value lane,
                          Value high, Value k, bool whole) {
  b.forRange(b.index(0), b.index(kTile), 1, [&](Value i) {
    Vectors pairs = operand.contiguous ? pairsOfLanes(operand, lane, high, b.linear(i, 2, k), whole)
                                       : pairsOfLane(operand, b.add(lane, i), high, k, whole);
    for (int64_t part = 0; part < parts; ++part)
      b.storeVector(pairs[part], packed,
                    b.linear(i, kTile, b.add(offset, b.index(part * kTileWords))));
  });
  // Vectors are by pair where lanes are contiguous, else by lane.
  if (operand.contiguous != operand.byLane)
    return;
  b.forRange(b.index(0), b.index(parts), 1, [&](Value part) {
    auto place = [&](int64_t i) {
      return b.add(b.linear(part, kTileWords, offset), b.index(i * kTile));
    };
    Vectors rows;
    for (int64_t i = 0; i < kTile; ++i)
      rows.push_back(b.loadVector(packed, place(i), {}, kTile));
    transposeVectors(b, rows);
    for (int64_t i = 0; i < kTile; ++i)
      b.storeVector(rows[i], packed, place(i));
  });
}

void TileMatmul::emitColumns(Value row, Value rowHigh, Value column, Value columnHigh) {
  const int64_t words = 2 * tilesOfDepth(shape) * parts * kTileWords; // of a panel
  b.forRange(column, columnHigh, kPanel, [&](Value j) {
    Value panelB = b.mul(b.div(b.sub(j, column), b.index(kPanel)), b.index(words));
    b.forRange(row, rowHigh, kPanel, [&](Value i) {
      Value panelA = b.mul(b.div(b.sub(i, row), b.index(kPanel)), b.index(words));
      emitTile(i, rowHigh, j, panelA, panelB);
    });
  });
}

void TileMatmul::multiply(Value panelA, Value panelB) {
  // Registers 0 to 3 are the sums of a 2 x 2 of tiles, 4 and 5 tiles of A, 6 and 7 tiles of B.
  TileRegisters registers(b);
  const int64_t second = tilesOfDepth(shape) * parts * kTileWords; // from one tile of lanes to next
  auto loadPart = [&](int first, Value packed, Value panel, Value depth, int64_t part) {
    for (int64_t t = 0; t < 2; ++t)
      registers.load(first + t, packed,
                     b.add(b.linear(depth, parts * kTileWords, panel),
                           b.index(t * second + part * kTileWords)),
                     kTile);
  };
  auto multiplyAll = [&] {
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j)
        registers.multiply(2 * i + j, 4 + i, 6 + j);
  };
  for (int sum = 0; sum < 4; ++sum)
    registers.zero(sum);
  b.forRange(b.index(0), b.index(tilesOfDepth(shape)), 1, [&](Value depth) {
    auto loadA = [&](int64_t part) { loadPart(4, packedA, panelA, depth, part); };
    auto loadB = [&](int64_t part) { loadPart(6, packedB, panelB, depth, part); };
    loadA(0);
    loadB(0);
    multiplyAll();
    if (parts == 1)
      return;
    loadA(1);
    multiplyAll();
    loadB(1);
    multiplyAll();
    loadA(0);
    multiplyAll();
  });
  for (int sum = 0; sum < 4; ++sum)
    registers.store(sum, sums, b.index(sum / 2 * kTile * kPanel + sum % 2 * kTile), kPanel);
}

void TileMatmul::emitTile(Value row, Value rowHigh, Value column, Value panelA, Value panelB) {
  multiply(panelA, panelB);
  const int64_t edge = shape.n % kPanel;
  auto whole = [&] { finish(row, rowHigh, column, kPanel); };
  if (!edge)
    return whole();
  b.ifElse(
      b.less(b.add(column, b.index(kPanel - 1)), b.index(shape.n)),
      [&]() -> Carried {
        whole();
        return {};
      },
      [&]() -> Carried {
        finish(row, rowHigh, column, edge);
        return {};
      });
}

void TileMatmul::finish(Value row, Value rowHigh, Value column, int64_t columns) {
  const int64_t lanes = b.lanes();
  Value rows = b.min(b.sub(rowHigh, row), b.index(kPanel));
  Value origin = b.linear(row, shape.n, column);
  b.forRange(b.index(0), rows, 1, [&](Value r) {
    for (int64_t v = 0; v < columns; v += lanes) {
      int64_t count = std::min(columns - v, lanes);
      Value at = b.add(b.linear(r, shape.n, origin), b.index(v));
      Value sum = b.loadVector(sums, b.linear(r, kPanel, b.index(v)));
      if (epilogue.accumulate)
        sum = b.add(b.loadLanes(result, at, count), sum);
      if (epilogue.finish)
        sum = epilogue.finish(b, sum, b.add(column, b.index(v)), at, count);
      b.storeLanes(sum, result, at, count);
    }
  });
}
