//===- OpTableKernelTest.cpp - generated kernels against the reference -----===//
// Every case of the op table, compiled for each instruction set that this CPU runs. An element may
// be off by the roundings its case states, each 2^-24 of the magnitude it states (results in f64:
// 2^-53 a term). Then once more with f16 and bf16 where the precision policy stores two bytes:
// kernels compute in f32 as before and round each result once, so an element may differ by one more
// unit in the last place of its type, where f32 errors push it over a tie. One thread and three,
// results beside the operands and over them, must give the same bits.
#include "KernelRun.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Passes/PrecisionPolicy.h"
#include "dsc/Reference/Interpreter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "gtest/gtest.h"
#include <deque>

using namespace mlir;
using namespace dsc;
using namespace dsc::optable;

namespace {
struct KernelItem {
  const OpRow *row;
  const OpCase *opCase;
  const Target *target;
};

std::vector<KernelItem> itemsOf(const OpRow &row, const OpCase &opCase) {
  std::vector<KernelItem> items;
  for (const Target &target : allTargets())
    if (findGenerator(row.name) && hostSupports(target))
      items.push_back({&row, &opCase, &target});
  return items;
}

std::vector<KernelItem> kernelItems() {
  std::vector<KernelItem> items;
  for (const OpRow &row : allOpRows())
    for (const OpCase &opCase : row.cases)
      llvm::append_range(items, itemsOf(row, opCase));
  return items;
}

/// The case with `type` for f32 where the policy stores two bytes; false if it does so nowhere.
/// `wanted`: results that may be either are two bytes too.
bool storeHalf(MLIRContext &context, OpCase &opCase, const std::string &type, bool wanted) {
  OwningOpRef<ModuleOp> module = parseCase(context, opCase);
  Operation *op = opOf(*module);
  bool changed = false;
  auto retype = [&](std::string &text, Storage storage) {
    bool half = storage == Storage::Half || storage == Storage::Together ||
                (storage == Storage::Wanted && wanted);
    if (!half || !StringRef(text).ends_with("xf32"))
      return;
    text = text.substr(0, text.size() - 3) + type;
    changed = true;
  };
  for (OpOperand &operand : op->getOpOperands())
    retype(opCase.operands[operand.getOperandNumber()], storageOf(operand));
  for (OpResult result : op->getResults())
    retype(opCase.results[result.getResultNumber()], storageOf(result));
  opCase.label += "_" + type;
  return changed;
}

std::vector<KernelItem> halfItems() {
  static std::deque<OpCase> cases;
  MLIRContext context;
  context.loadDialect<ds::DSDialect, func::FuncDialect>();
  std::vector<KernelItem> items;
  for (const OpRow &row : allOpRows())
    for (const OpCase &opCase : row.cases)
      for (std::string type : {"f16", "bf16"}) {
        cases.push_back(opCase);
        std::vector<KernelItem> targets = itemsOf(row, cases.back());
        // bf16 is the same integer arithmetic everywhere.
        if (type == "bf16" && !targets.empty())
          targets.erase(targets.begin(), targets.end() - 1);
        if (storeHalf(context, cases.back(), type, /*wanted=*/true))
          llvm::append_range(items, targets);
        if (row.name != "ds.linear" || type == "bf16")
          continue;
        cases.push_back(opCase);
        cases.back().label += "_wide";
        storeHalf(context, cases.back(), type, /*wanted=*/false);
        llvm::append_range(items, itemsOf(row, cases.back()));
      }
  return items;
}

/// This CPU's best target, with tile registers that plain code plays: packing, loops and edges are
/// those of a target that has them.
const Target &playedTiles() {
  static const Target target = [] {
    Target played = nativeTarget();
    played.name += "_tiles";
    played.tiles = Tiles::Played;
    return played;
  }();
  return target;
}

/// Products on tiles: every form of the op table at one size, and larger ones, of several
/// panels and blocks of k.
std::vector<KernelItem> tileItems() {
  static std::deque<OpCase> cases;
  MLIRContext context;
  context.loadDialect<ds::DSDialect, func::FuncDialect>();
  std::vector<KernelItem> items;
  for (const OpRow &row : allOpRows()) {
    if (row.name != "ds.linear" && row.name != "ds.linear_input_grad" &&
        row.name != "ds.linear_weight_grad")
      continue;
    for (std::string type : {"f16", "bf16"}) {
      for (const OpCase &opCase : row.cases) {
        // All epilogues, at one size with edges on every side.
        if (type == "bf16" || !StringRef(opCase.label).ends_with("37x67x270"))
          continue;
        cases.push_back(opCase);
        if (storeHalf(context, cases.back(), type, /*wanted=*/true))
          items.push_back({&row, &cases.back(), &playedTiles()});
      }
      for (auto [m, k, n] : {std::tuple(70, 100, 75), {33, 65, 130}, {100, 1100, 40}}) {
        auto shape = [&](int64_t rows, int64_t columns) {
          return std::to_string(rows) + "x" + std::to_string(columns) + "x";
        };
        bool weight = row.name == "ds.linear_weight_grad";
        for (bool transposed : {false, true}) {
          std::string x = shape(m, k), y = shape(m, n), w = transposed ? shape(n, k) : shape(k, n);
          OpCase c{.label = x + std::to_string(n) + (transposed ? "_transposed_" : "_") + type,
                   .operands = {},
                   .results = {},
                   .text = ""};
          if (weight)
            c.operands = {x + type, y + type, w + "f32"};
          else
            c.operands = {(row.name == "ds.linear" ? x : y) + type, w + type};
          c.results = {weight ? w + "f32" : (row.name == "ds.linear" ? y : x) + type};
          c.text = row.name + " $0, $1" + (weight ? " init $2" : "") +
                   (transposed ? " {transpose_weight}" : "") + " : #0, #1" +
                   (weight ? " init #2" : "") + " -> @0";
          c.roundings = c.magnitude = (weight ? m : row.name == "ds.linear" ? k : n) + 2;
          cases.push_back(c);
          items.push_back({&row, &cases.back(), &playedTiles()});
        }
      }
    }
  }
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

class OpTableKernel : public testing::TestWithParam<KernelItem> {
protected:
  OpTableKernel() { context.loadDialect<ds::DSDialect, func::FuncDialect>(); }
  void run();
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
      ASSERT_NEAR(load(results[r], i, element), expected[r][i],
                  bound + lastPlace(expected[r][i], element))
          << "result " << r << " element " << i;
  }
}

void OpTableKernel::run() {
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

  if (KernelRunner::resultArguments(op, false) == KernelRunner::resultArguments(op, true))
    return; // and compiling takes nearly all the time of a test
  auto over = KernelRunner::create(op, *GetParam().target, /*inPlace=*/true);
  ASSERT_TRUE(succeeded(over));
  EXPECT_TRUE(results == runKernel(**over, op, operands, 1)) << "in place gives other bits";
}

TEST_P(OpTableKernel, MatchesReference) { run(); }

namespace {
class OpTableHalfKernel : public OpTableKernel {};
} // namespace

TEST_P(OpTableHalfKernel, MatchesReference) { run(); }

INSTANTIATE_TEST_SUITE_P(Rows, OpTableKernel, testing::ValuesIn(kernelItems()), nameOf);
INSTANTIATE_TEST_SUITE_P(Rows, OpTableHalfKernel, testing::ValuesIn(halfItems()), nameOf);
INSTANTIATE_TEST_SUITE_P(Tiles, OpTableHalfKernel, testing::ValuesIn(tileItems()), nameOf);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OpTableKernel);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OpTableHalfKernel);
