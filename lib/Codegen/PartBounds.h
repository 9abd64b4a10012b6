//===- PartBounds.h - where the part of a rank ends ------------------------===//
#ifndef DSC_LIB_CODEGEN_PARTBOUNDS_H
#define DSC_LIB_CODEGEN_PARTBOUNDS_H

#include "KernelBuilder.h"

namespace dsc {

/// index: how many of its `columns` classes a rank really has, where there are `classes` in all;
/// the others are padding. `rank` is the flat scalar of the coordinate.
inline Value ownClasses(KernelBuilder &b, Value rank, int64_t columns, int64_t classes) {
  Value coordinate = b.convert(b.load(rank, b.index(0)), b.builder().getI64Type());
  Value first = b.mul(b.convert(coordinate, b.builder().getIndexType()), b.index(columns));
  return b.max(b.min(b.sub(b.index(classes), first), b.index(columns)), b.index(0));
}

} // namespace dsc

#endif // DSC_LIB_CODEGEN_PARTBOUNDS_H
