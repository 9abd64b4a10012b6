//===- Pieces.h - which bytes of a variable a rank has ---------------------===//
#ifndef DSC_RUNTIME_CORE_PIECES_H
#define DSC_RUNTIME_CORE_PIECES_H

#include "dsc/Plan/Plan.h"

namespace dsc {

/// A run of bytes that a rank has of a variable of the whole plan.
struct Piece {
  size_t variable;     ///< in the tables of the rank's stage
  size_t whole;        ///< the variable of the same name in the plan's own table
  uint64_t partOffset; ///< bytes from the start of what the rank has
  uint64_t wholeOffset, bytes;
  bool home;   ///< gathered from this rank, not from another that has the same
  bool scalar; ///< a scalar that says how far training is
};

/// All pieces of the variables that the plan's own table has too, in the order of the stage's
/// table.
std::vector<Piece> piecesOf(const plan::Plan &plan, int64_t rank);

} // namespace dsc

#endif // DSC_RUNTIME_CORE_PIECES_H
