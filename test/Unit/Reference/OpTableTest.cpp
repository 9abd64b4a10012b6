//===- OpTableTest.cpp - every row of the op table against the reference ---===//
#include "Table/OpTable.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Reference/GradientCheck.h"
#include "dsc/Reference/Interpreter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace dsc;
using namespace dsc::optable;

namespace {
/// One case of one row, named "linear_bias_7x16x17".
struct Item {
  const OpRow *row;
  const OpCase *opCase;
};

std::vector<Item> allItems() {
  std::vector<Item> items;
  for (const OpRow &row : allOpRows())
    for (const OpCase &opCase : row.cases)
      items.push_back({&row, &opCase});
  return items;
}

/// The cases whose op builds a backward.
std::vector<Item> differentiableItems() {
  MLIRContext context;
  context.loadDialect<ds::DSDialect>();
  std::vector<Item> items = allItems();
  std::erase_if(items, [&](const Item &item) {
    auto name = RegisteredOperationName::lookup(item.row->name, &context);
    return !name || !name->hasInterface<DifferentiableOpInterface>() || !item.opCase->differentiate;
  });
  return items;
}

std::string nameOf(const testing::TestParamInfo<Item> &info) {
  return info.param.row->name.substr(3) + "_" + info.param.opCase->label;
}

void PrintTo(const Item &item, std::ostream *out) {
  *out << item.row->name << " " << item.opCase->label;
}

class OpTable : public testing::TestWithParam<Item> {
protected:
  OpTable() { context.loadDialect<ds::DSDialect, func::FuncDialect>(); }
  void SetUp() override {
    module = parseCase(context, *GetParam().opCase);
    ASSERT_TRUE(module) << moduleText(*GetParam().opCase);
    op = opOf(*module);
    ASSERT_EQ(op->getName().getStringRef(), GetParam().row->name);
    operands = operandsOf(op, *GetParam().opCase, 20240229);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  Operation *op = nullptr;
  Tensors operands;
};

class OpTableGradient : public OpTable {};
} // namespace

// The interpreter equals a formula that was written a second time.
TEST_P(OpTable, ValueMatchesFormula) {
  ASSERT_TRUE(GetParam().opCase->expected);
  Tensors expected = GetParam().opCase->expected(operands);
  reference::Interpreter interpreter(*module);
  auto outcome = interpreter.run("case", operands);
  ASSERT_TRUE(succeeded(outcome));
  ASSERT_EQ(outcome->results.size(), expected.size());
  for (size_t r = 0; r < expected.size(); ++r) {
    const Tensor &value = outcome->results[r];
    ASSERT_EQ(value.shape, expected[r].shape);
    double greatest = 0;
    for (double element : expected[r].values)
      greatest = std::max(greatest, std::abs(element));
    // Both are f64 sums of at most some thousand terms; slopes of activations are differences.
    for (int64_t i = 0; i < value.count(); ++i)
      ASSERT_NEAR(value[i], expected[r][i], 1e-10 * greatest) << "result " << r << " element " << i;
  }
}

// The backward that the op builds equals central differences of its forward.
TEST_P(OpTableGradient, MatchesDifferences) {
  auto error = reference::checkGradient(op, operands, {.elements = 24});
  ASSERT_TRUE(succeeded(error));
  EXPECT_GT(error->compared, 0);
  EXPECT_LE(error->relative, 1e-6) << "operand " << error->operand << " element " << error->element
                                   << ": built " << error->built << ", numeric " << error->numeric;
}

INSTANTIATE_TEST_SUITE_P(Rows, OpTable, testing::ValuesIn(allItems()), nameOf);
INSTANTIATE_TEST_SUITE_P(Rows, OpTableGradient, testing::ValuesIn(differentiableItems()), nameOf);

// Every op that computes has a reference and a row, each row a case, and no row is left over.
TEST(OpTableCompleteness, EveryComputeOpHasAReferenceAndARow) {
  MLIRContext context;
  context.loadDialect<ds::DSDialect>();
  int computing = 0;
  for (RegisteredOperationName name : context.getRegisteredOperations()) {
    if (name.getDialectNamespace() != "ds" || !name.hasInterface<CostOpInterface>())
      continue;
    ++computing;
    EXPECT_TRUE(reference::findReference(name.getStringRef())) << name.getStringRef().str();
    const OpRow *row = findOpRow(name.getStringRef());
    ASSERT_TRUE(row) << name.getStringRef().str();
    EXPECT_FALSE(row->cases.empty()) << row->name;
  }
  EXPECT_EQ(static_cast<size_t>(computing), allOpRows().size());
}
