//===- CompletenessTest.cpp - no op lacks what passes and tests ask of it --===//
// Walks all registered ops of the dialect. A compute op (one with a sharding rule) must have a
// cost, a derivative, a kernel generator, a float64 reference, a row in the op test table and one
// in the precision policy, or the trait that says why not.
#include "../Reference/Table/OpTable.h"
#include "dsc/Codegen/KernelOpInterface.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Passes/PrecisionPolicy.h"
#include "dsc/Reference/Table.h"
#include "gtest/gtest.h"
#include <functional>

using namespace mlir;
using namespace dsc;

namespace {
/// Ops that hold the program together and compute nothing: interpreter and ds-to-plan handle them
/// by kind.
const char *const structural[] = {
    "ds.variable",       "ds.hyperparameter", "ds.read",  "ds.assign",   "ds.block",
    "ds.yield",          "ds.report",         "ds.guard", "ds.schedule", "ds.all_reduce",
    "ds.reduce_scatter", "ds.all_gather",     "ds.send",  "ds.receive"};

/// What is asked of each op; a test takes one answer away.
struct Registries {
  std::function<bool(StringRef)> generator = [](StringRef name) {
    return findGenerator(name) != nullptr;
  };
  std::function<bool(StringRef)> reference = [](StringRef name) {
    return reference::findReference(name) != nullptr;
  };
  std::function<bool(StringRef)> row = [](StringRef name) {
    const optable::OpRow *found = optable::findOpRow(name);
    return found && !found->cases.empty();
  };
  std::function<bool(StringRef)> policy = [](StringRef name) {
    return findPrecisionPolicy(name) != nullptr;
  };
};

std::vector<RegisteredOperationName> opsOf(MLIRContext &context) {
  context.loadDialect<ds::DSDialect>();
  std::vector<RegisteredOperationName> ops;
  for (RegisteredOperationName name : context.getRegisteredOperations())
    if (name.getDialectNamespace() == "ds")
      ops.push_back(name);
  return ops;
}

/// "ds.linear: no reference", sorted by op.
std::vector<std::string> gaps(const Registries &registries) {
  MLIRContext context;
  std::vector<std::string> found;
  for (RegisteredOperationName op : opsOf(context)) {
    StringRef name = op.getStringRef();
    auto missing = [&](bool present, const char *what) {
      if (!present)
        found.push_back((name + ": no " + what).str());
    };
    if (!op.hasInterface<ShardableOpInterface>()) {
      missing(llvm::is_contained(structural, name), "sharding rule");
      continue;
    }
    missing(op.hasInterface<CostOpInterface>(), "cost");
    missing(op.hasInterface<InPlaceOpInterface>(), "in-place answer");
    bool differentiable = op.hasInterface<DifferentiableOpInterface>();
    bool optedOut = op.hasTrait<dsc::OpTrait::NotDifferentiable>();
    missing(differentiable || optedOut, "derivative");
    missing(!(differentiable && optedOut), "single answer to whether it has a derivative");
    missing(registries.generator(name) || op.hasTrait<dsc::OpTrait::SharesBytes>(),
            "kernel generator");
    missing(registries.reference(name), "reference");
    missing(registries.row(name), "row in the op table");
    missing(registries.policy(name), "precision policy");
  }
  return found;
}

/// `answer`, but false for `removed`.
std::function<bool(StringRef)> without(std::function<bool(StringRef)> answer, StringRef removed) {
  return [=](StringRef name) { return name != removed && answer(name); };
}
} // namespace

TEST(Completeness, EveryOpHasAllThatIsAskedOfIt) {
  EXPECT_EQ(gaps({}), std::vector<std::string>{});
}

TEST(Completeness, TheDialectIsThere) {
  MLIRContext context;
  EXPECT_GE(opsOf(context).size(), 30u);
}

TEST(Completeness, ARemovedGeneratorIsNoticed) {
  Registries registries;
  registries.generator = without(registries.generator, "ds.linear");
  EXPECT_TRUE(llvm::is_contained(gaps(registries), "ds.linear: no kernel generator"));
}

TEST(Completeness, ARemovedReferenceIsNoticed) {
  Registries registries;
  registries.reference = without(registries.reference, "ds.attention_grad");
  EXPECT_TRUE(llvm::is_contained(gaps(registries), "ds.attention_grad: no reference"));
}

TEST(Completeness, ARemovedPolicyIsNoticed) {
  Registries registries;
  registries.policy = without(registries.policy, "ds.add");
  EXPECT_TRUE(llvm::is_contained(gaps(registries), "ds.add: no precision policy"));
}

TEST(Completeness, ARemovedTestRowIsNoticed) {
  Registries registries;
  registries.row = without(registries.row, "ds.slice_rows");
  EXPECT_TRUE(llvm::is_contained(gaps(registries), "ds.slice_rows: no row in the op table"));
}
