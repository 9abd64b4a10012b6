//===- KernelBuilder.cpp - constants, arithmetic, memory, reductions -------===//
// Loops are in KernelBuilderLoops.cpp, two-byte floats in KernelBuilderHalf.cpp.
#include "KernelBuilder.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace dsc;

/// What memory holds as f16 or, as integers, bf16.
static bool isHalf(Type element) { return element.isF16() || element.isInteger(16); }
static bool isFloat(Value value) { return isa<FloatType>(getElementTypeOrSelf(value)); }

KernelBuilder::KernelBuilder(func::FuncOp kernel, const Target &target)
    : kernel_(kernel), target_(target), builder_(kernel.getContext()), loc_(kernel.getLoc()) {
  Block *entry = kernel.empty() ? kernel.addEntryBlock() : &kernel.front();
  builder_.setInsertionPointToStart(entry);
  flat_.resize(entry->getNumArguments());
}

Value KernelBuilder::argument(unsigned i) { return kernel_.getArgument(i); }

Value KernelBuilder::flat(unsigned i) {
  if (flat_[i])
    return flat_[i];
  // At the top of the entry block, so that every later use is dominated.
  OpBuilder::InsertionGuard guard(builder_);
  builder_.setInsertionPointToStart(&kernel_.front());
  Value memory = argument(i);
  auto type = cast<MemRefType>(memory.getType());
  auto flatType = MemRefType::get({type.getNumElements()}, type.getElementType());
  if (type == flatType)
    return flat_[i] = memory;
  return flat_[i] = memref::ReinterpretCastOp::create(
             builder_, loc_, flatType, memory, /*offset=*/int64_t(0),
             ArrayRef<int64_t>{type.getNumElements()}, ArrayRef<int64_t>{1});
}

Value KernelBuilder::begin() { return argument(kernel_.getNumArguments() - 3); }
Value KernelBuilder::end() { return argument(kernel_.getNumArguments() - 2); }

Value KernelBuilder::workspace(int64_t byteOffset, int64_t count, Type element) {
  auto type = MemRefType::get({count}, element ? element : f32Type());
  return memref::ViewOp::create(builder_, loc_, type, argument(kernel_.getNumArguments() - 1),
                                index(byteOffset), ValueRange{});
}

void KernelBuilder::finish() { func::ReturnOp::create(builder_, loc_); }

Type KernelBuilder::f32Type() { return builder_.getF32Type(); }
Type KernelBuilder::f64Type() { return builder_.getF64Type(); }

VectorType KernelBuilder::vectorType(Type element, int64_t lanes) {
  if (!element)
    element = f32Type();
  if (!lanes)
    lanes = target_.vectorBits / element.getIntOrFloatBitWidth();
  return VectorType::get({lanes}, element);
}

Value KernelBuilder::constant(Type type, double value) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr scalar;
  if (isa<FloatType>(element))
    scalar = builder_.getFloatAttr(element, value);
  else
    scalar = builder_.getIntegerAttr(element, static_cast<int64_t>(value));
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(builder_, loc_,
                                     DenseElementsAttr::get(vector, Attribute(scalar)));
  return arith::ConstantOp::create(builder_, loc_, scalar);
}

Value KernelBuilder::index(int64_t value) {
  return arith::ConstantIndexOp::create(builder_, loc_, value);
}
Value KernelBuilder::f32(double value) { return constant(f32Type(), value); }
Value KernelBuilder::f64(double value) { return constant(f64Type(), value); }
Value KernelBuilder::i32(int64_t value) {
  return arith::ConstantIntOp::create(builder_, loc_, value, 32);
}
Value KernelBuilder::boolean(bool value) {
  return arith::ConstantIntOp::create(builder_, loc_, value, 1);
}
Value KernelBuilder::splat(double value) { return constant(vectorType(), value); }

Value KernelBuilder::add(Value a, Value b) {
  return isFloat(a) ? builder_.createOrFold<arith::AddFOp>(loc_, a, b)
                    : builder_.createOrFold<arith::AddIOp>(loc_, a, b);
}

Value KernelBuilder::sub(Value a, Value b) {
  return isFloat(a) ? builder_.createOrFold<arith::SubFOp>(loc_, a, b)
                    : builder_.createOrFold<arith::SubIOp>(loc_, a, b);
}

Value KernelBuilder::mul(Value a, Value b) {
  return isFloat(a) ? builder_.createOrFold<arith::MulFOp>(loc_, a, b)
                    : builder_.createOrFold<arith::MulIOp>(loc_, a, b);
}

Value KernelBuilder::div(Value a, Value b) {
  return isFloat(a) ? builder_.createOrFold<arith::DivFOp>(loc_, a, b)
                    : builder_.createOrFold<arith::DivSIOp>(loc_, a, b);
}

Value KernelBuilder::rem(Value a, Value b) {
  return builder_.createOrFold<arith::RemSIOp>(loc_, a, b);
}

Value KernelBuilder::neg(Value a) {
  return isFloat(a) ? builder_.createOrFold<arith::NegFOp>(loc_, a)
                    : sub(constant(a.getType(), 0), a);
}

Value KernelBuilder::fma(Value a, Value b, Value c) {
  // math.fma becomes llvm.fma, which without the instruction is a library call.
  return target_.fma ? Value(math::FmaOp::create(builder_, loc_, a, b, c)) : add(mul(a, b), c);
}

Value KernelBuilder::less(Value a, Value b) {
  return isFloat(a) ? Value(arith::CmpFOp::create(builder_, loc_, arith::CmpFPredicate::OLT, a, b))
                    : builder_.createOrFold<arith::CmpIOp>(loc_, arith::CmpIPredicate::slt, a, b);
}

Value KernelBuilder::equal(Value a, Value b) {
  return isFloat(a) ? Value(arith::CmpFOp::create(builder_, loc_, arith::CmpFPredicate::OEQ, a, b))
                    : builder_.createOrFold<arith::CmpIOp>(loc_, arith::CmpIPredicate::eq, a, b);
}

Value KernelBuilder::select(Value condition, Value a, Value b) {
  return builder_.createOrFold<arith::SelectOp>(loc_, condition, a, b);
}

Value KernelBuilder::min(Value a, Value b) { return select(less(a, b), a, b); }
Value KernelBuilder::max(Value a, Value b) { return select(less(b, a), a, b); }
Value KernelBuilder::bitAnd(Value a, Value b) {
  return builder_.createOrFold<arith::AndIOp>(loc_, a, b);
}
Value KernelBuilder::sqrt(Value a) { return math::SqrtOp::create(builder_, loc_, a); }
Value KernelBuilder::abs(Value a) { return math::AbsFOp::create(builder_, loc_, a); }

Value KernelBuilder::convert(Value a, Type element) {
  Type from = getElementTypeOrSelf(a);
  if (from == element)
    return a;
  Type to = element;
  if (auto vector = dyn_cast<VectorType>(a.getType()))
    to = vector.clone(element);
  if (isa<FloatType>(from) && isa<FloatType>(element))
    return element.getIntOrFloatBitWidth() > from.getIntOrFloatBitWidth()
               ? Value(arith::ExtFOp::create(builder_, loc_, to, a))
               : Value(arith::TruncFOp::create(builder_, loc_, to, a));
  if (isa<FloatType>(element)) {
    if (isa<IndexType>(from))
      return convert(convert(a, builder_.getI64Type()), element);
    return arith::SIToFPOp::create(builder_, loc_, to, a);
  }
  if (isa<FloatType>(from))
    return arith::FPToSIOp::create(builder_, loc_, to, a);
  if (isa<IndexType>(from) || isa<IndexType>(element))
    return arith::IndexCastOp::create(builder_, loc_, to, a);
  return element.getIntOrFloatBitWidth() > from.getIntOrFloatBitWidth()
             ? Value(arith::ExtSIOp::create(builder_, loc_, to, a))
             : Value(arith::TruncIOp::create(builder_, loc_, to, a));
}

Value KernelBuilder::bitcast(Value a, Type element) {
  Type to = element;
  if (auto vector = dyn_cast<VectorType>(a.getType()))
    to = vector.clone(element);
  return arith::BitcastOp::create(builder_, loc_, to, a);
}

Value KernelBuilder::broadcast(Value scalar, int64_t lanes) {
  return vector::BroadcastOp::create(builder_, loc_, vectorType(scalar.getType(), lanes), scalar);
}

Value KernelBuilder::extract(Value vector, int64_t lane) {
  return vector::ExtractOp::create(builder_, loc_, vector, ArrayRef<int64_t>{lane});
}

Value KernelBuilder::linear(Value i, int64_t stride, Value j) {
  Value offset = mul(i, index(stride));
  return j ? add(offset, j) : offset;
}

static Type elementIn(Value memory) { return cast<MemRefType>(memory.getType()).getElementType(); }

Value KernelBuilder::load(Value memory, Value offset) {
  Value value = memref::LoadOp::create(builder_, loc_, memory, offset);
  return isHalf(elementIn(memory)) ? widen(value) : value;
}

void KernelBuilder::store(Value value, Value memory, Value offset) {
  Type element = elementIn(memory);
  if (isHalf(element) && value.getType() != element)
    value = narrow(value, element);
  memref::StoreOp::create(builder_, loc_, value, memory, offset);
}

Value KernelBuilder::loadVector(Value memory, Value offset, Value mask, int64_t lanes) {
  Type element = elementIn(memory);
  if (mask && !lanes)
    lanes = cast<VectorType>(mask.getType()).getNumElements();
  if (isHalf(element) && !lanes)
    lanes = this->lanes();
  VectorType type = vectorType(element, lanes);
  Value vector;
  if (!mask)
    vector = vector::LoadOp::create(builder_, loc_, type, memory, offset);
  else
    vector =
        vector::MaskedLoadOp::create(builder_, loc_, type, memory, offset, mask, constant(type, 0));
  return isHalf(element) ? widen(vector) : vector;
}

void KernelBuilder::storeVector(Value vector, Value memory, Value offset, Value mask) {
  Type element = elementIn(memory);
  if (isHalf(element) && getElementTypeOrSelf(vector) != element)
    vector = narrow(vector, element);
  if (mask)
    vector::MaskedStoreOp::create(builder_, loc_, memory, offset, mask, vector);
  else
    vector::StoreOp::create(builder_, loc_, vector, memory, offset);
}

void KernelBuilder::prefetch(Value memory, Value offset, bool write) {
  memref::PrefetchOp::create(builder_, loc_, memory, offset, write, /*localityHint=*/3,
                             /*isDataCache=*/true);
}

Value KernelBuilder::mask(Value count, int64_t lanes) {
  auto type = VectorType::get({lanes ? lanes : this->lanes()}, builder_.getI1Type());
  return vector::CreateMaskOp::create(builder_, loc_, type, count);
}

void KernelBuilder::storeLanes(Value vector, Value memory, Value offset, int64_t count) {
  int64_t lanes = cast<VectorType>(vector.getType()).getNumElements(), done = 0;
  if (count >= lanes)
    return storeVector(vector, memory, offset);
  if (Type element = elementIn(memory); isHalf(element))
    vector = narrow(vector, element); // at once, not piece by piece
  for (int64_t piece = lanes / 2; piece >= 2; piece /= 2)
    if (count & piece) {
      Value part =
          vector::ExtractStridedSliceOp::create(builder_, loc_, vector, ArrayRef<int64_t>{done},
                                                ArrayRef<int64_t>{piece}, ArrayRef<int64_t>{1});
      storeVector(part, memory, add(offset, index(done)));
      done += piece;
    }
  if (count & 1)
    store(extract(vector, done), memory, add(offset, index(done)));
}

Value KernelBuilder::loadLanes(Value memory, Value offset, int64_t count, int64_t lanes) {
  Type element = elementIn(memory);
  if (!lanes)
    lanes = isHalf(element) ? this->lanes() : vectorType(element).getNumElements();
  if (count >= lanes)
    return loadVector(memory, offset, {}, lanes);
  return loadVector(memory, offset, mask(index(count), lanes));
}

Value KernelBuilder::reduce(Value vector, function_ref<Value(Value, Value)> combine) {
  for (int64_t n = cast<VectorType>(vector.getType()).getNumElements(); n > 1; n /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t i = 0; i < n / 2; ++i) {
      low.push_back(i);
      high.push_back(n / 2 + i);
    }
    Value a = vector::ShuffleOp::create(builder_, loc_, vector, vector, low);
    Value b = vector::ShuffleOp::create(builder_, loc_, vector, vector, high);
    vector = combine(a, b);
  }
  return extract(vector, 0);
}

Value KernelBuilder::reduceAdd(Value vector) {
  return reduce(vector, [&](Value a, Value b) { return add(a, b); });
}

Value KernelBuilder::reduceMax(Value vector) {
  return reduce(vector, [&](Value a, Value b) { return max(a, b); });
}
