//===- OpTableKernelTest.cpp - generated kernels against the reference -----===//
// Every case of the op table, compiled for each instruction set that this CPU runs. An element may
// be off by the roundings its case states, each 2^-24 of the magnitude it states (results in f64:
// 2^-53 a term). One thread and three, results beside the operands and over them, must give the
// same bits.
#include "Table/OpTable.h"
#include "dsc/Codegen/KernelRunner.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Reference/Interpreter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace dsc;
using namespace dsc::optable;

namespace {
struct KernelItem {
  const OpRow *row;
  const OpCase *opCase;
  const Target *target;
};

std::vector<KernelItem> kernelItems() {
  std::vector<KernelItem> items;
  for (const OpRow &row : allOpRows())
    for (const OpCase &opCase : row.cases)
      for (const Target &target : allTargets())
        if (findGenerator(row.name) && hostSupports(target))
          items.push_back({&row, &opCase, &target});
  return items;
}

void PrintTo(const KernelItem &item, std::ostream *out) {
  *out << item.row->name << " " << item.opCase->label << " " << item.target->name;
}

std::string nameOf(const testing::TestParamInfo<KernelItem> &info) {
  std::string name = info.param.row->name.substr(3) + "_" + info.param.opCase->label + "_" +
                     info.param.target->name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

/// Writes the elements of `tensor` in the element type of `type`.
void store(void *to, const Tensor &tensor, Type type) {
  Type element = cast<RankedTensorType>(type).getElementType();
  for (int64_t i = 0; i < tensor.count(); ++i) {
    if (element.isF32())
      static_cast<float *>(to)[i] = static_cast<float>(tensor[i]);
    else if (element.isF64())
      static_cast<double *>(to)[i] = tensor[i];
    else
      static_cast<int32_t *>(to)[i] = static_cast<int32_t>(tensor[i]);
  }
}

double load(const std::vector<char> &bytes, int64_t i, Type element) {
  if (element.isF64()) {
    double value;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    return value;
  }
  float value;
  std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
  return value;
}

/// The bytes of each result of one run.
using Results = std::vector<std::vector<char>>;

Results runKernel(KernelRunner &runner, Operation *op, const Tensors &operands, unsigned threads) {
  std::vector<KernelMemory> memory;
  std::vector<void *> arguments;
  for (int64_t bytes : runner.argumentBytes()) {
    memory.emplace_back(bytes);
    arguments.push_back(memory.back().data());
  }
  for (size_t i = 0; i < operands.size(); ++i)
    store(arguments[i], operands[i], op->getOperand(i).getType());
  runner.run(arguments, threads);
  Results results;
  for (int64_t argument : runner.resultArguments()) {
    const char *data = static_cast<const char *>(arguments[argument]);
    results.emplace_back(data, data + runner.argumentBytes()[argument]);
  }
  return results;
}

class OpTableKernel : public testing::TestWithParam<KernelItem> {
protected:
  OpTableKernel() { context.loadDialect<ds::DSDialect, func::FuncDialect>(); }
  void compare(const Results &results, const Tensors &expected);

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  Operation *op = nullptr;
};
} // namespace

void OpTableKernel::compare(const Results &results, const Tensors &expected) {
  const OpCase &opCase = *GetParam().opCase;
  for (size_t r = 0; r < expected.size(); ++r) {
    Type element = cast<RankedTensorType>(op->getResult(r).getType()).getElementType();
    double magnitude = opCase.magnitude;
    for (double value : expected[r].values)
      magnitude = std::max(magnitude, std::abs(value));
    // Sums in f64 here have at most some thousand terms.
    double bound =
        element.isF64() ? 4096 * 0x1p-53 * magnitude : opCase.roundings * 0x1p-24 * magnitude;
    for (int64_t i = 0; i < expected[r].count(); ++i)
      ASSERT_NEAR(load(results[r], i, element), expected[r][i], bound)
          << "result " << r << " element " << i;
  }
}

TEST_P(OpTableKernel, MatchesReference) {
  module = parseCase(context, *GetParam().opCase);
  ASSERT_TRUE(module);
  op = opOf(*module);
  Tensors operands = operandsOf(op, *GetParam().opCase, 20240229);
  auto outcome = reference::Interpreter(*module).run("case", operands);
  ASSERT_TRUE(succeeded(outcome));

  auto runner = KernelRunner::create(op, *GetParam().target);
  ASSERT_TRUE(succeeded(runner));
  Results results = runKernel(**runner, op, operands, 1);
  compare(results, outcome->results);
  EXPECT_TRUE(results == runKernel(**runner, op, operands, 3)) << "three threads give other bits";

  auto over = KernelRunner::create(op, *GetParam().target, /*inPlace=*/true);
  ASSERT_TRUE(succeeded(over));
  if ((*over)->resultArguments() != (*runner)->resultArguments())
    EXPECT_TRUE(results == runKernel(**over, op, operands, 1)) << "in place gives other bits";
}

INSTANTIATE_TEST_SUITE_P(Rows, OpTableKernel, testing::ValuesIn(kernelItems()), nameOf);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OpTableKernel);
