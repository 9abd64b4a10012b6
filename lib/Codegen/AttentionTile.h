//===- AttentionTile.h - what the two attention kernels share --------------===//
// Scores are held transposed, [key][query]: vectors run over queries, so that maxima, sums and
// masks need no step across lanes, and keys and values are read as scalars from plain row-major
// copies. docs/Rationale/Kernels.md has the reasons and the measurements.
#ifndef DSC_LIB_CODEGEN_ATTENTIONTILE_H
#define DSC_LIB_CODEGEN_ATTENTIONTILE_H

#include "KernelBuilder.h"
#include "RandomBits.h"

namespace dsc {

/// Sizes of one attention on one target.
struct AttentionShape {
  int64_t batch, length, heads, width; ///< width of one head
  int64_t lanes;
  int64_t rows;    ///< of a register tile: keys, or channels
  int64_t queries; ///< of a register tile: two vectors
  double scale;
  AttentionShape(mlir::Value qkv, int64_t heads, double scale, const Target &target);

  /// Rounded up to whole counters of the random numbers: the mask draws for 4 keys at a time.
  static int64_t wholeCounters(int64_t keys) { return (keys + 3) / 4 * 4; }
  int64_t model() const { return heads * width; }
  /// Keys of a head, rounded up to whole tiles; rows past `length` are zeros.
  int64_t paddedKeys() const { return (length + rows - 1) / rows * rows; }
  /// Width of a head, rounded up to whole vectors.
  int64_t paddedWidth() const { return (width + lanes - 1) / lanes * lanes; }
  /// Offset of channel 0 of (sample, head) at position 0: of queries in qkv, of rows of [b, t, d].
  Value qkvBase(KernelBuilder &b, Value sample, Value head) const;
  Value rowBase(KernelBuilder &b, Value sample, Value head) const;
};

/// Hands out aligned pieces of the workspace.
class WorkspaceLayout {
public:
  int64_t take(int64_t floats) {
    int64_t at = bytes_;
    bytes_ += (floats * 4 + 63) / 64 * 64;
    return at;
  }
  int64_t bytes() const { return bytes_; }

private:
  int64_t bytes_ = 0;
};

/// Where factor (k, index) of a product is: memory[base + k * perK + index * perIndex].
struct TileFactor {
  Value memory, base;
  int64_t perK, perIndex;
};

/// sums[r][c] += sum over k in [low, high) of a(k, r) * b(k, c), k in order; `a` is read as
/// scalars, `b` as vectors (perIndex counts vectors and is ignored: they are adjacent). `sums` is
/// row-major.
Carried tileProduct(KernelBuilder &b, int64_t rows, int64_t vectors, Value low, Value high,
                    const TileFactor &a, const TileFactor &v, ValueRange sums);

/// `lanes` vectors of `lanes` elements, transposed.
SmallVector<Value> transpose(KernelBuilder &b, ValueRange vectors);

/// `count` channels as tiles of at most `rows`, as equal as they can be: (first, size) of each run
/// of equal tiles and how many there are.
struct ChannelRun {
  int64_t first, size, count;
};
SmallVector<ChannelRun> channelTiles(int64_t count, int64_t rows);

/// Copies `rows` rows of `width` elements to a row-major matrix with `stride` elements a row;
/// columns past `width` up to whole vectors become zeros if the stride has room for them.
void copyRows(KernelBuilder &b, Value rows, int64_t width, Value from, Value fromBase,
              int64_t fromStride, Value to, int64_t toStride);
void fillZeros(KernelBuilder &b, Value memory, int64_t low, int64_t high);

/// Draws the mask of dropout over a block of scores.
class AttentionMask {
public:
  AttentionMask(const AttentionShape &shape, double p) : shape(shape), mask(p) {}
  /// Before anything else in the kernel: reads the key, argument `i`.
  void begin(KernelBuilder &b, unsigned i) { key = loadRandomKey(b, i); }
  void beginHead(Value sample, Value head) {
    this->sample = sample;
    this->head = head;
  }
  double scale() const { return mask.scale(); }
  /// For keys key + [0, count), four at a time and past `count` up to a multiple of 4, and
  /// `vectors` vectors of queries from `query` on: calls `body` with the key's place in the block,
  /// the number of the vector and ones where the pair is kept. `key` is a multiple of 4.
  void forPairs(KernelBuilder &b, Value query, Value firstKey, Value count, int64_t vectors,
                function_ref<void(Value, int64_t, Value)> body) const;

private:
  const AttentionShape &shape;
  DropoutMask mask;
  RandomKey key;
  Value sample, head;
};

/// Which keys queries look at: all up to their own, or with position_ids those of their document.
class KeyRange {
public:
  KeyRange(const AttentionShape &shape, bool packed) : shape(shape), packed(packed) {}
  bool isPacked() const { return packed; }
  /// Before anything else in the kernel: position_ids are argument `i`.
  void begin(KernelBuilder &b, unsigned i) { positions = b.flat(i); }
  void beginSample(KernelBuilder &b, Value sample) { base = b.linear(sample, shape.length); }
  /// The first key that a block of queries from `first` on needs, rounded down to a multiple of
  /// `step`: documents follow each other, so it is that of the first query.
  Value start(KernelBuilder &b, Value first, int64_t step) const;
  /// i1 vector of the lanes whose query, of `first` + lane (+ `vector` vectors), exists and is of
  /// no padding; null where documents are not packed.
  Value isToken(KernelBuilder &b, Value first, int64_t vector) const;
  /// i1 vector: those queries may look at `key`.
  Value mask(KernelBuilder &b, Value first, int64_t vector, Value key) const;

private:
  Value positionsOf(KernelBuilder &b, Value first, int64_t vector) const;
  const AttentionShape &shape;
  bool packed;
  Value positions, base;
};

/// i1 vector: query `first` + lane (+ `vector` vectors) may look at `key`.
Value causalMask(KernelBuilder &b, Value first, int64_t vector, Value key);

} // namespace dsc

#endif // DSC_LIB_CODEGEN_ATTENTIONTILE_H
