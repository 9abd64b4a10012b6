//===- ReproducerTest.cpp - what --crash-repro writes ----------------------===//
#include "dsc/Passes/Reproducer.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Passes/Passes.h"
#include "dsc/Support/File.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Transforms/Passes.h"
#include "gtest/gtest.h"
#include <filesystem>

using namespace mlir;
using namespace dsc;

/// Runs canonicalisation and the check of the training phase on `source`; returns the reproducer.
static std::string reproducerOf(const char *source, bool expected) {
  std::string file = testing::TempDir() + "dsc-reproducer-" + std::to_string(getpid()) + ".mlir";
  std::filesystem::remove(file);
  MLIRContext context;
  context.disableMultithreading();
  context.loadDialect<ds::DSDialect, func::FuncDialect>();
  ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(source, &context);
  EXPECT_TRUE(module);
  PassManager manager(&context);
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createDsVerifyTraining());
  reproduceFailures(manager, file);
  EXPECT_EQ(succeeded(manager.run(*module)), expected);
  auto text = readFile(file);
  std::filesystem::remove(file);
  return text.ok() ? *text : "";
}

TEST(Reproducer, HoldsTheModuleAndThePassThatFailed) {
  std::string text = reproducerOf("func.func @train() { return }", false);
  EXPECT_NE(text.find("func.func @train"), std::string::npos) << text;
  EXPECT_NE(text.find("mlir_reproducer"), std::string::npos) << text;
  EXPECT_NE(text.find("ds-verify-training"), std::string::npos) << text;
  EXPECT_EQ(text.find("canonicalize"), std::string::npos) << "only the pass that failed\n" << text;
}

TEST(Reproducer, IsNotWrittenWhenAllGoesWell) {
  EXPECT_EQ(reproducerOf("func.func @other() { return }", true), "");
}
