//===- Traits.h - what an op deliberately does without ---------------------===//
// Every compute op has each interface or says here why it does not; the completeness test reads
// these.
#ifndef DSC_INTERFACES_TRAITS_H
#define DSC_INTERFACES_TRAITS_H

#include "mlir/IR/OpDefinition.h"

namespace dsc::OpTrait {

/// Appears only after differentiation (gradients, training loop, tiles), so it has no derivative.
template <typename ConcreteType>
class NotDifferentiable : public mlir::OpTrait::TraitBase<ConcreteType, NotDifferentiable> {};

/// The result is the operands' bytes under another shape: no kernel is ever launched for it.
template <typename ConcreteType>
class SharesBytes : public mlir::OpTrait::TraitBase<ConcreteType, SharesBytes> {};

/// An update whose last, optional result is its first one in two bytes, for products to read.
template <typename ConcreteType>
class WritesHalf : public mlir::OpTrait::TraitBase<ConcreteType, WritesHalf> {};

/// Core of attention: much to keep for the little it costs to compute again, so `selective`
/// recomputation does that.
template <typename ConcreteType>
class AttentionCore : public mlir::OpTrait::TraitBase<ConcreteType, AttentionCore> {};

} // namespace dsc::OpTrait

#endif // DSC_INTERFACES_TRAITS_H
