//===- ImportTest.cpp - from a spec to ds IR -------------------------------===//
#include "dsc/Passes/Import.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Passes/Pipelines.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace dsc;

namespace {
Spec smallSpec() {
  Spec spec;
  spec.model.vocabSize = 131;
  spec.model.positions = 40;
  spec.model.width = 60;
  spec.model.layers = 2;
  spec.model.heads = 5;
  spec.model.inner = 240;
  spec.data.seqLength = 37;
  spec.train.batch = spec.train.microBatch = 3;
  return spec;
}

std::string text(ModuleOp module) {
  std::string result;
  llvm::raw_string_ostream(result) << module;
  return result;
}

class Import : public testing::Test {
protected:
  OwningOpRef<ModuleOp> import(const Spec &spec, const ImportOptions &options = {}) {
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      llvm::raw_string_ostream(message) << diagnostic.getLocation() << ": " << diagnostic;
      return success();
    });
    OwningOpRef<ModuleOp> module = importSpec(context, spec, options);
    if (module) {
      PassManager passes(&context);
      buildImportPipeline(passes);
      EXPECT_TRUE(succeeded(passes.run(*module)));
    }
    return module;
  }
  template <typename OpTy> std::vector<OpTy> all(Operation *root) {
    std::vector<OpTy> found;
    root->walk([&](OpTy op) { found.push_back(op); });
    return found;
  }
  MLIRContext context;
  std::string message;
};
} // namespace

TEST_F(Import, DeclaresParametersUnderTheirNames) {
  Spec spec = smallSpec();
  auto module = import(spec);
  ASSERT_TRUE(module);
  std::vector<std::string> names;
  for (auto variable : module->getOps<ds::VariableOp>())
    names.push_back(variable.getSymName().str());
  ASSERT_EQ(names.size(), 2u + 2 * 12 + 2);
  EXPECT_EQ(names[0], "wte.weight");
  EXPECT_EQ(names[1], "wpe.weight");
  EXPECT_EQ(names[2], "h.0.ln_1.weight");
  EXPECT_EQ(names[5], "h.0.attn.c_attn.bias");
  EXPECT_EQ(names.back(), "ln_f.bias");

  auto variable = [&](StringRef name) { return module->lookupSymbol<ds::VariableOp>(name); };
  EXPECT_EQ(cast<RankedTensorType>(variable("h.1.attn.c_attn.weight").getType()).getShape(),
            (ArrayRef<int64_t>{60, 180}));
  EXPECT_EQ(variable("wte.weight").getStddev().convertToDouble(), 0.02);
  EXPECT_EQ(variable("h.0.mlp.c_proj.weight").getStddev().convertToDouble(), 0.02 / std::sqrt(4.0));
  EXPECT_EQ(variable("h.0.mlp.c_fc.weight").getStddev().convertToDouble(), 0.02);
  EXPECT_EQ(variable("ln_f.weight").getInitializer(), ds::Initializer::Ones);
  EXPECT_EQ(variable("ln_f.bias").getInitializer(), ds::Initializer::Zeros);
  // AW-05: matrices decay, gains and biases do not.
  for (auto op : module->getOps<ds::VariableOp>())
    EXPECT_EQ(op.getDecay(), cast<RankedTensorType>(op.getType()).getRank() == 2)
        << op.getSymName().str();
}

// Masks are drawn in training only, each under the name of its Hugging Face module; both halves of
// the seed are scalars of the plan.
TEST_F(Import, DropoutIsForTrainingOnly) {
  Spec spec = smallSpec();
  spec.model.embeddingDropout = 0.1;
  spec.model.attentionDropout = 0.2;
  spec.model.residualDropout = 0.3;
  spec.train.seed = 0x123456789abcdef0;
  auto module = import(spec);
  ASSERT_TRUE(module);
  auto train = module->lookupSymbol<func::FuncOp>("train");
  std::vector<std::string> paths;
  train.walk([&](ds::RandomKeyOp key) { paths.push_back(key.getPath().str()); });
  EXPECT_EQ(paths, (std::vector<std::string>{
                       "drop", "h.0.attn.attn_dropout", "h.0.attn.resid_dropout", "h.0.mlp.dropout",
                       "h.1.attn.attn_dropout", "h.1.attn.resid_dropout", "h.1.mlp.dropout"}));
  EXPECT_EQ(all<ds::DropoutOp>(train).size(), 5u);
  for (const char *name : {"evaluate", "logits"}) {
    auto program = module->lookupSymbol<func::FuncOp>(name);
    EXPECT_TRUE(all<ds::RandomKeyOp>(program).empty());
    EXPECT_TRUE(all<ds::DropoutOp>(program).empty());
    for (ds::AttentionOp attention : all<ds::AttentionOp>(program))
      EXPECT_EQ(attention.getDropout().convertToDouble(), 0);
  }
  auto scalar = [&](StringRef name) {
    return module->lookupSymbol<ds::HyperparameterOp>(name).getValue().convertToDouble();
  };
  EXPECT_EQ(scalar("train.seed.low"), 0x9abcdef0);
  EXPECT_EQ(scalar("train.seed.high"), 0x12345678);
  EXPECT_EQ(module->lookupSymbol<ds::VariableOp>("steps").getRole(), ds::Role::StepState);
  EXPECT_EQ(module->lookupSymbol<ds::VariableOp>("window.sample").getRole(), ds::Role::Window);
  EXPECT_FALSE(import(smallSpec())->lookupSymbol("steps"));
}

// The names that patterns are matched against are those of the variables.
TEST_F(Import, ParameterNamesAreThoseOfTheSpec) {
  for (bool tied : {false, true}) {
    Spec spec = smallSpec();
    spec.model.tiedHead = tied;
    auto module = import(spec);
    ASSERT_TRUE(module);
    std::vector<std::string> names;
    for (auto variable : module->getOps<ds::VariableOp>())
      names.push_back(variable.getSymName().str());
    EXPECT_EQ(names, parameterNames(spec.model));
  }
}

TEST_F(Import, BuildsThreePrograms) {
  auto module = import(smallSpec());
  ASSERT_TRUE(module);
  auto train = module->lookupSymbol<func::FuncOp>("train");
  ASSERT_TRUE(train && module->lookupSymbol<func::FuncOp>("evaluate"));
  EXPECT_EQ(cast<RankedTensorType>(train.getArgumentTypes()[1]).getShape(),
            (ArrayRef<int64_t>{3, 37}));
  auto logits = module->lookupSymbol<func::FuncOp>("logits");
  ASSERT_TRUE(logits);
  EXPECT_EQ(cast<RankedTensorType>(logits.getArgumentTypes()[0]).getShape(),
            (ArrayRef<int64_t>{1, 37}));
  std::vector<std::string> labels;
  for (auto block : train.getOps<ds::BlockOp>())
    labels.push_back(block.getLabel().str());
  EXPECT_EQ(labels, (std::vector<std::string>{"embedding", "h.0", "h.1", "head"}));
  // A parameter is read once a program, also the tied table.
  EXPECT_EQ(all<ds::ReadOp>(train).size(), 2u + 2 * 12 + 2);
}

TEST_F(Import, EvaluationAloneHasNoHyperparameters) {
  ImportOptions options;
  options.train = options.evaluate = false;
  Spec spec = smallSpec();
  spec.data.seqLength = 0; // unknown without training data: all positions
  auto module = import(spec, options);
  ASSERT_TRUE(module);
  EXPECT_TRUE(module->getOps<ds::HyperparameterOp>().empty());
  auto logits = module->lookupSymbol<func::FuncOp>("logits");
  EXPECT_EQ(cast<RankedTensorType>(logits.getArgumentTypes()[0]).getShape(),
            (ArrayRef<int64_t>{1, 40}));
}

TEST_F(Import, TiedHeadIsTheTokenTable) {
  auto module = import(smallSpec());
  ASSERT_TRUE(module);
  for (auto linear : all<ds::LinearOp>(module->lookupSymbol("train")))
    if (linear.getTransposeWeight())
      EXPECT_EQ(linear.getWeight().getDefiningOp<ds::ReadOp>().getVariable(), "wte.weight");
}

TEST_F(Import, UntiedHeadHasItsOwnWeight) {
  Spec spec = smallSpec();
  spec.model.tiedHead = false;
  auto module = import(spec);
  ASSERT_TRUE(module);
  auto head = module->lookupSymbol<ds::VariableOp>("lm_head.weight");
  ASSERT_TRUE(head);
  EXPECT_EQ(cast<RankedTensorType>(head.getType()).getShape(), (ArrayRef<int64_t>{131, 60}));
  int64_t heads = 0;
  for (auto linear : all<ds::LinearOp>(module->lookupSymbol("logits")))
    if (linear.getTransposeWeight() && ++heads)
      EXPECT_EQ(linear.getWeight().getDefiningOp<ds::ReadOp>().getVariable(), "lm_head.weight");
  EXPECT_EQ(heads, 1);
}

TEST_F(Import, ScalesAttentionAsTheConfigurationSays) {
  auto scales = [&](bool scaled, bool byLayer) {
    Spec spec = smallSpec();
    spec.model.scaleAttention = scaled;
    spec.model.scaleByInverseLayer = byLayer;
    auto module = import(spec);
    std::vector<double> result;
    for (auto attention : all<ds::AttentionOp>(module->lookupSymbol("train")))
      result.push_back(attention.getScale().convertToDouble());
    return result;
  };
  double scale = 1 / std::sqrt(12.0);
  EXPECT_EQ(scales(true, false), (std::vector<double>{scale, scale}));
  EXPECT_EQ(scales(true, true), (std::vector<double>{scale, scale / 2}));
  EXPECT_EQ(scales(false, false), (std::vector<double>{1, 1}));
  EXPECT_EQ(scales(false, true), (std::vector<double>{1, 0.5}));
}

TEST_F(Import, TakesActivationAndEpsilonFromTheSpec) {
  Spec spec = smallSpec();
  spec.model.activation = ActivationKind::Relu;
  spec.model.layerNormEps = 1e-6;
  auto module = import(spec);
  ASSERT_TRUE(module);
  for (auto op : all<ds::ActivationOp>(*module))
    EXPECT_EQ(op.getFunction(), ds::Activation::Relu);
  for (auto op : all<ds::LayerNormOp>(*module))
    EXPECT_EQ(op.getEps().convertToDouble(), 1e-6);
}

TEST_F(Import, GivesHyperparametersTheirPaths) {
  Spec spec = smallSpec();
  spec.train.lr = 3e-4;
  spec.train.warmupSteps = 7;
  auto value = [&](ModuleOp module, StringRef path) {
    auto op = module.lookupSymbol<ds::HyperparameterOp>(path);
    return op ? op.getValue().convertToDouble() : NAN;
  };
  auto module = import(spec);
  ASSERT_TRUE(module);
  EXPECT_EQ(value(*module, "train.optimizer.params.lr"), 3e-4);
  EXPECT_EQ(value(*module, "train.optimizer.params.betas.1"), 0.999);
  EXPECT_EQ(value(*module, "train.scheduler.params.warmup_steps"), 7);
  EXPECT_TRUE(std::isnan(value(*module, "train.optimizer.params.momentum")));
  spec.train.optimizer = OptimizerKind::Sgd;
  module = import(spec);
  ASSERT_TRUE(module);
  EXPECT_EQ(value(*module, "train.optimizer.params.momentum"), 0);
  EXPECT_TRUE(std::isnan(value(*module, "train.optimizer.params.eps")));
}

TEST_F(Import, PointsIntoTheSpec) {
  ImportOptions options;
  options.places = {{"model.n_head", "model.json:3:5"}, {"model", "model.json:2"}};
  auto module = import(smallSpec(), options);
  ASSERT_TRUE(module);
  auto attention = all<ds::AttentionOp>(module->lookupSymbol("train"))[1];
  auto name = dyn_cast<NameLoc>(attention.getLoc());
  ASSERT_TRUE(name);
  EXPECT_EQ(name.getName(), "h.1.attn");
  EXPECT_EQ(name.getChildLoc(), FileLineColLoc::get(&context, "model.json", 3, 5));
  // No place of its own: that of the section.
  auto linear = all<ds::LinearOp>(module->lookupSymbol("train"))[0];
  EXPECT_EQ(cast<NameLoc>(linear.getLoc()).getChildLoc(),
            FileLineColLoc::get(&context, "model.json", 2, 0));
}

TEST_F(Import, RefusesSizesThatDoNotFit) {
  ImportOptions options;
  options.places = {{"data.seq_length", "model.json:9"}};
  Spec spec = smallSpec();
  spec.data.seqLength = 41;
  EXPECT_FALSE(import(spec, options));
  EXPECT_EQ(message, "loc(\"model.json\":9:0): 'data.seq_length' must lie between 1 and the 40 "
                     "positions of the model, found 41");
  message.clear();
  spec = smallSpec();
  spec.model.heads = 7;
  EXPECT_FALSE(import(spec));
  EXPECT_EQ(message, "loc(unknown): 'model.n_head' must divide 'model.n_embd': 7 heads, width 60");
}

// The whole step, twice in different contexts: the same text.
TEST_F(Import, AndTrainingAreDeterministic) {
  auto build = [](MLIRContext &context, OptimizerKind optimizer) {
    Spec spec = smallSpec();
    spec.train.optimizer = optimizer;
    OwningOpRef<ModuleOp> module = importSpec(context, spec);
    PassManager passes(&context);
    TrainingOptions options;
    setTrainingOptions(spec, options);
    buildImportPipeline(passes);
    buildTrainingPipeline(passes, options);
    EXPECT_TRUE(succeeded(passes.run(*module)));
    return text(*module);
  };
  for (OptimizerKind optimizer : {OptimizerKind::AdamW, OptimizerKind::Adam, OptimizerKind::Sgd}) {
    MLIRContext first, second;
    EXPECT_EQ(build(first, optimizer), build(second, optimizer));
  }
}
