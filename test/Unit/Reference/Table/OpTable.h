//===- OpTable.h - one row of test cases for each compute op ---------------===//
// A row serves every test of an op: its reference against a formula written a second time, its
// backward against central differences, its kernel against its reference. Sizes are odd on purpose:
// none is a multiple of every vector width or tile.
#ifndef DSC_TEST_UNIT_REFERENCE_OPTABLE_H
#define DSC_TEST_UNIT_REFERENCE_OPTABLE_H

#include "dsc/Reference/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace dsc::optable {

using reference::Tensor;
using Tensors = std::vector<Tensor>;

/// Where the elements of an operand come from: uniform numbers, all exact in the element type.
struct Fill {
  double low = -1, high = 1;
  double hole = 0;       ///< numbers nearer to 0 than this are moved away: a kink lies there
  int64_t uncounted = 0; ///< ids only: one in so many is -100; 0: none
  std::vector<double> exactly = {}; ///< if not empty, these elements in turn
};

/// One set of shapes and attributes.
struct OpCase {
  std::string label;                 ///< "bias_7x17x131"
  std::vector<std::string> operands; ///< types: "3x7x17xf32"; "f64" is a scalar
  std::vector<std::string> results;
  std::string text; ///< "ds.linear $0, $1 : #0, #1 -> @0": $ operand, # its type, @ result type
  std::map<unsigned, Fill> fills =
      {}; ///< of operands that are not uniform in [-1, 1] (ids: [0, 7))
  /// Results by a formula of its own; null where a test by hand says more.
  std::function<Tensors(const Tensors &)> expected = nullptr;
  /// False for forms that exist only after differentiation.
  bool differentiate = true;
  /// Roundings that an element of the f32 kernel's result may collect: terms of its sums and ulps
  /// of functions.
  double roundings = 4;
  /// Magnitude those roundings are relative to; 0: the greatest absolute value of each result.
  double magnitude = 0;
};

struct OpRow {
  std::string name; ///< "ds.linear"
  std::vector<OpCase> cases;
};

/// All rows in the order of families.
const std::vector<OpRow> &allOpRows();
/// The row of an op name, or null.
const OpRow *findOpRow(llvm::StringRef opName);

/// Value or derivative of an activation by another formula than the reference's.
double activationValue(const std::string &activation, double x);
double activationSlope(const std::string &activation, double x);

/// func.func @case with the op and a return of its results.
std::string moduleText(const OpCase &opCase);
/// The module, parsed and verified; null with a diagnostic if it is wrong. The context must have ds
/// and func.
mlir::OwningOpRef<mlir::ModuleOp> parseCase(mlir::MLIRContext &context, const OpCase &opCase);
/// The op under test in a parsed case.
mlir::Operation *opOf(mlir::ModuleOp module);
/// Operands of the op, the same for the same seed.
Tensors operandsOf(mlir::Operation *op, const OpCase &opCase, uint64_t seed);

// Rows of the families, in the files of their names.
std::vector<OpRow> elementwiseRows();
std::vector<OpRow> embeddingRows();
std::vector<OpRow> linearRows();
std::vector<OpRow> normRows();
std::vector<OpRow> attentionRows();
std::vector<OpRow> dropoutRows();
std::vector<OpRow> lossRows();
std::vector<OpRow> partsRows();
std::vector<OpRow> optimizerRows();
std::vector<OpRow> scalarRows();

} // namespace dsc::optable

#endif // DSC_TEST_UNIT_REFERENCE_OPTABLE_H
