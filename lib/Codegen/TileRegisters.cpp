//===- TileRegisters.cpp - the eight tile registers of a thread ------------===//
// Registers are named by number, not by value: LLVM's tile values would have to pass through the
// branches of loops, which MLIR's piecewise lowering refuses, and eight are easily kept apart.
#include "TileRegisters.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace dsc;

static constexpr int64_t kRows = 16, kWords = 256;

TileRegisters::TileRegisters(KernelBuilder &b) : b(b) {
  if (b.target().tiles == Tiles::Played)
    registers = b.workspace(64, 8 * kWords, b.builder().getI32Type());
  else
    b.builder().getContext()->loadDialect<LLVM::LLVMDialect>();
}

void TileRegisters::call(const char *intrinsic, ValueRange operands) {
  LLVM::CallIntrinsicOp::create(b.builder(), b.loc(), b.builder().getStringAttr(intrinsic),
                                operands);
}

Value TileRegisters::immediate(int tile) {
  return LLVM::ConstantOp::create(b.builder(), b.loc(), b.builder().getI8Type(),
                                  b.builder().getI8IntegerAttr(static_cast<int8_t>(tile)));
}

Value TileRegisters::address(Value memory, Value offset) {
  Value base = memref::ExtractAlignedPointerAsIndexOp::create(b.builder(), b.loc(), memory);
  Value at = b.linear(offset, 4, base);
  Value number = b.convert(at, b.builder().getI64Type());
  return LLVM::IntToPtrOp::create(b.builder(), b.loc(),
                                  LLVM::LLVMPointerType::get(b.builder().getContext()), number);
}

Value TileRegisters::place(int tile, Value row) {
  return b.linear(row, kRows, b.index(tile * kWords));
}

void TileRegisters::forRows(function_ref<void(Value)> body) {
  b.forRange(b.index(0), b.index(kRows), 1, body);
}

void TileRegisters::configure() {
  if (registers)
    return;
  // Palette 1; bytes a row from byte 16 on, two bytes a register; rows from byte 48 on.
  Value config = b.workspace(0, 16, b.builder().getI32Type());
  auto store = [&](int64_t word, int64_t value) { b.store(b.i32(value), config, b.index(word)); };
  store(0, 1);
  for (int64_t word = 1; word < 16; ++word)
    store(word, word >= 4 && word < 8 ? 0x00400040 : word >= 12 && word < 14 ? 0x10101010 : 0);
  call("llvm.x86.ldtilecfg", {address(config, b.index(0))});
}

void TileRegisters::release() {
  if (!registers)
    call("llvm.x86.tilerelease", {});
}

void TileRegisters::zero(int tile) {
  if (!registers)
    return call("llvm.x86.tilezero", {immediate(tile)});
  auto none = VectorType::get({kRows}, b.builder().getI32Type());
  forRows([&](Value row) { b.storeVector(b.constant(none, 0), registers, place(tile, row)); });
}

void TileRegisters::load(int tile, Value memory, Value offset, int64_t stride) {
  if (!registers) {
    Value bytes = b.constant(b.builder().getI64Type(), static_cast<double>(4 * stride));
    return call("llvm.x86.tileloadd64", {immediate(tile), address(memory, offset), bytes});
  }
  forRows([&](Value row) {
    Value words = b.loadVector(memory, b.linear(row, stride, offset), {}, kRows);
    b.storeVector(b.bitcast(words, b.builder().getI32Type()), registers, place(tile, row));
  });
}

void TileRegisters::store(int tile, Value memory, Value offset, int64_t stride) {
  if (!registers) {
    Value bytes = b.constant(b.builder().getI64Type(), static_cast<double>(4 * stride));
    return call("llvm.x86.tilestored64", {immediate(tile), address(memory, offset), bytes});
  }
  Type element = cast<MemRefType>(memory.getType()).getElementType();
  forRows([&](Value row) {
    Value words = b.loadVector(registers, place(tile, row), {}, kRows);
    b.storeVector(b.bitcast(words, element), memory, b.linear(row, stride, offset));
  });
}

void TileRegisters::multiply(int sums, int a, int bTile) {
  if (!registers)
    return call("llvm.x86.tdpbf16ps", {immediate(sums), immediate(a), immediate(bTile)});
  Type word = b.builder().getI32Type();
  // The f32 that the lower or the upper half of each word is, as a bfloat16.
  auto lower = [&](Value words) {
    Value sixteen = b.constant(words.getType(), 16);
    return b.bitcast(arith::ShLIOp::create(b.builder(), b.loc(), words, sixteen), b.f32Type());
  };
  auto upper = [&](Value words) {
    return b.bitcast(b.bitAnd(words, b.constant(words.getType(), -65536)), b.f32Type());
  };
  forRows([&](Value row) {
    Value start = b.bitcast(b.loadVector(registers, place(sums, row), {}, kRows), b.f32Type());
    Carried total = b.forRange(
        b.index(0), b.index(kRows), 1, ValueRange(start), [&](Value pair, ValueRange sum) {
          Value left = b.broadcast(b.load(registers, b.add(place(a, row), pair)), kRows);
          Value right = b.loadVector(registers, place(bTile, pair), {}, kRows);
          Value even = b.fma(lower(left), lower(right), sum[0]);
          return Carried{b.fma(upper(left), upper(right), even)};
        });
    b.storeVector(b.bitcast(total[0], word), registers, place(sums, row));
  });
}
