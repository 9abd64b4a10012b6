//===- TileRegisters.h - the eight tile registers of a thread --------------===//
#ifndef DSC_LIB_CODEGEN_TILEREGISTERS_H
#define DSC_LIB_CODEGEN_TILEREGISTERS_H

#include "KernelBuilder.h"

namespace dsc {

/// Writes instructions on tile registers, all of them 16 rows of 64 bytes. Where the target merely
/// plays tiles, they are memory, and plain code does what the instructions would: so products on
/// tiles are tested on CPUs without.
class TileRegisters {
public:
  /// At the start of a thread's workspace.
  static constexpr int64_t workspaceBytes = 64 + 8 * 1024;

  explicit TileRegisters(KernelBuilder &b);

  /// Before the first use in a kernel, and after the last.
  void configure();
  void release();
  void zero(int tile);
  /// Row r from `memory`, of elements of four bytes, at `offset` + r * `stride` elements.
  void load(int tile, Value memory, Value offset, int64_t stride);
  void store(int tile, Value memory, Value offset, int64_t stride);
  /// sums[i, j] += sum_p A[i, 2p] B[p, 2j] + A[i, 2p + 1] B[p, 2j + 1] of bfloat16, in f32
  /// (TDPBF16PS of the Intel SDM).
  void multiply(int sums, int a, int bTile);

private:
  void call(const char *intrinsic, ValueRange operands);
  Value immediate(int tile);
  Value address(Value memory, Value offset);
  /// Word (row, 0) of a tile that is memory.
  Value place(int tile, Value row);
  void forRows(function_ref<void(Value)> body);

  KernelBuilder &b;
  Value registers; ///< of a target that plays them
};

} // namespace dsc

#endif // DSC_LIB_CODEGEN_TILEREGISTERS_H
