//===- StepTest.cpp - whole training steps, as the passes make them ---------===//
// What the ops are tested for one by one, together: the loss is that of a model written a second
// time, reported gradients are slopes of the loss in every direction, updates follow formulas
// written a second time, windows add up, and neither a loss scale nor a working copy leaves a
// trace.
#include "PlainModel.h"
#include "dsc/Support/HalfFloat.h"
#include "gtest/gtest.h"
#include <cmath>
#include <functional>
#include <set>

using namespace mlir;
using namespace dsc;
using namespace dsc::test;
using reference::Outcome;
using reference::Tensor;

static FailureOr<Outcome> runWindow(TinyRun &run, const Window &window) {
  return run.interpreter->runStep(window.tokens, window.labels);
}

static std::vector<std::string> trained(TinyRun &run) {
  std::vector<std::string> names;
  for (auto variable : run.module->getOps<ds::VariableOp>())
    if (variable.getRole() == ds::Role::Parameter && !variable.getFrozen())
      names.push_back(variable.getSymName().str());
  return names;
}

//===-- the loss --===//

/// Specs that differ in what the importer and the training passes do.
static std::vector<std::pair<std::string, Spec>> variants() {
  std::vector<std::pair<std::string, Spec>> all;
  auto add = [&](const char *name, const std::function<void(Spec &)> &change) {
    Spec spec = tinySpec();
    change(spec);
    all.push_back({name, spec});
  };
  add("plain", [](Spec &) {});
  add("untied", [](Spec &s) { s.model.tiedHead = false; });
  add("two layers", [](Spec &s) {
    s.model.layers = 2;
    s.model.scaleByInverseLayer = true;
    s.model.activation = ActivationKind::Gelu;
  });
  add("unscaled, smoothed", [](Spec &s) {
    s.model.scaleAttention = false;
    s.labelSmoothing = 0.1;
  });
  add("windows", [](Spec &s) {
    s.train.batch = 6;
    s.train.microBatch = 2;
    s.labelSmoothing = 0.1;
    s.model.tiedHead = true;
  });
  add("windows, untied", [](Spec &s) {
    s.train.batch = 4;
    s.train.microBatch = 1;
    s.model.tiedHead = false;
  });
  for (bool tied : {true, false})
    add(tied ? "windows in a tree" : "windows in a tree, untied", [tied](Spec &s) {
      s.train.batch = 5;
      s.train.microBatch = 1;
      s.train.reproducible = Reproducible::Layout;
      s.model.tiedHead = tied;
    });
  add("samples", [](Spec &s) {
    s.train.batch = s.train.microBatch = 4;
    s.train.lossReduction = LossReduction::Sample;
    s.labelSmoothing = 0.1;
  });
  for (Reproducible order : {Reproducible::Run, Reproducible::Layout})
    add("samples in windows", [order](Spec &s) {
      s.train.batch = 6;
      s.train.microBatch = 2;
      s.train.lossReduction = LossReduction::Sample;
      s.train.reproducible = order;
    });
  return all;
}

/// Random biases and gains too: nothing hides behind a zero.
static void scatter(TinyRun &run) {
  for (const std::string &name : trained(run)) {
    Tensor tensor = *run.interpreter->variables.at(name);
    Tensor noise = tensor;
    fillNormal(5, name, 0.1, 0, noise.count(), noise.values.data());
    for (int64_t i = 0; i < tensor.count(); ++i)
      tensor[i] += noise[i];
    run.set(name, tensor);
  }
}

TEST(Step, LossIsThatOfAModelWrittenAgain) {
  for (const auto &[name, spec] : variants()) {
    SCOPED_TRACE(name);
    TinyRun run(spec);
    ASSERT_TRUE(run.ok());
    scatter(run);
    Window window(spec, 1);
    double wanted = PlainModel(run).loss(window, spec.labelSmoothing);
    auto outcome = runWindow(run, window);
    ASSERT_TRUE(succeeded(outcome));
    EXPECT_NEAR(outcome->reports["loss"].item(), wanted, 1e-12 * wanted);
  }
}

// Initial weights are spread as GPT-2's: what is added to the residual stream less, by the number
// of additions. No two variables start from the same numbers.
TEST(Step, InitialWeightsAreSpreadAsGPT2s) {
  Spec spec = tinySpec();
  spec.model.layers = 8;
  spec.model.width = 24;
  TinyRun run(spec);
  ASSERT_TRUE(run.ok());
  std::set<double> firsts;
  size_t drawn = 0;
  for (auto variable : run.module->getOps<ds::VariableOp>()) {
    std::string name = variable.getSymName().str();
    if (variable.getRole() != ds::Role::Parameter ||
        variable.getInitializer() != ds::Initializer::Normal)
      continue;
    Tensor values = *run.interpreter->variables.at(name);
    fillNormal(spec.initSeed, name, variable.getStddev().convertToDouble(), 0, values.count(),
               values.values.data());
    double squares = 0, count = static_cast<double>(values.count());
    for (double value : values.values)
      squares += value * value;
    bool residual = name.find("c_proj.weight") != std::string::npos;
    double wanted = spec.model.initializerRange / (residual ? 4 : 1);
    // Five standard errors of a sample's spread.
    EXPECT_NEAR(std::sqrt(squares / count), wanted, 5 * wanted / std::sqrt(2 * count)) << name;
    firsts.insert(values[0] / variable.getStddev().convertToDouble());
    ++drawn;
  }
  EXPECT_EQ(firsts.size(), drawn);
  EXPECT_EQ(drawn, 2u + 4 * 8);
}

//===-- gradients --===//

/// Slope of the loss of a step in a direction, from four points.
static double slope(TinyRun &run, const Window &window, const std::string &name,
                    const Tensor &direction) {
  auto start = run.interpreter->variables;
  auto lossAt = [&](double distance) {
    run.interpreter->variables = start;
    Tensor moved = *start.at(name);
    for (int64_t i = 0; i < moved.count(); ++i)
      moved[i] += distance * direction[i];
    run.set(name, moved);
    return runWindow(run, window)->reports["loss"].item();
  };
  double h = 1e-3;
  double near = lossAt(h) - lossAt(-h), far = lossAt(2 * h) - lossAt(-2 * h);
  run.interpreter->variables = start;
  return (8 * near - far) / (12 * h);
}

/// Every reported gradient against slopes; they carry the loss scale.
static void checkGradients(const Spec &spec) {
  TinyRun run(spec);
  ASSERT_TRUE(run.ok());
  scatter(run);
  Window window(spec, 2);
  auto start = run.interpreter->variables;
  auto outcome = runWindow(run, window);
  ASSERT_TRUE(succeeded(outcome));
  ASSERT_EQ(outcome->end, Outcome::End::Finished);
  run.interpreter->variables = start;
  auto scaleReport = outcome->reports.find("loss_scale");
  double scale = scaleReport == outcome->reports.end() ? 1 : scaleReport->second.item();
  double squares = 0;
  for (const std::string &name : trained(run)) {
    Tensor gradient = outcome->reports["grad:" + name], direction = gradient;
    for (double g : gradient.values)
      squares += g * g / scale / scale;
    for (unsigned seed : {1u, 2u, 3u}) {
      fillNormal(seed, "direction of " + name, 1, 0, direction.count(), direction.values.data());
      double length = 0, along = 0, size = 0;
      for (double d : direction.values)
        length += d * d;
      for (double &d : direction.values)
        d /= std::sqrt(length);
      for (int64_t i = 0; i < direction.count(); ++i) {
        along += gradient[i] / scale * direction[i];
        size += gradient[i] / scale * gradient[i] / scale;
      }
      EXPECT_NEAR(along, slope(run, window, name, direction), 1e-7 * std::sqrt(size) + 1e-10)
          << name;
    }
  }
  EXPECT_NEAR(outcome->reports["grad_norm"].item(), std::sqrt(squares), 1e-12 * std::sqrt(squares));
}

TEST(Step, GradientsAreSlopesOfTheLoss) {
  for (const auto &[name, spec] : variants()) {
    SCOPED_TRACE(name);
    checkGradients(spec);
  }
}

TEST(Step, GradientsUnderDropoutAreSlopesOfTheLoss) {
  Spec spec = tinySpec();
  spec.model.embeddingDropout = spec.model.attentionDropout = spec.model.residualDropout = 0.3;
  spec.train.batch = 4;
  spec.train.microBatch = 2;
  checkGradients(spec);
}

TEST(Step, GradientsUnderALossScaleAreSlopesOfTheLoss) {
  Spec spec = tinySpec();
  spec.train.scaling.mode = LossScaleMode::Dynamic;
  spec.train.scaling.initial = 1000; // no power of two
  spec.train.batch = 4;
  spec.train.microBatch = 2;
  checkGradients(spec);
}

TEST(Step, GradientsPastFrozenParametersAreSlopesOfTheLoss) {
  Spec spec = tinySpec();
  spec.train.groups = {{"h.0.*", {}, {}, true}, {"ln_f.*", {}, {}, true}};
  checkGradients(spec);
}

//===-- updates --===//

// AdamW with warm-up, clipping and decay, from the gradients that are reported: decay on matrices
// alone, the rate of each update, t from 1.
TEST(Step, AdamWFollowsItsFormula) {
  for (int64_t parts : {1, 2}) {
    Spec spec = tinySpec();
    spec.train.batch = 2 * parts;
    spec.train.lr = 0.02;
    spec.train.beta2 = 0.95;
    spec.train.weightDecay = 0.3;
    spec.train.gradientClipping = 0.5;
    spec.train.schedule = ScheduleKind::Cosine;
    spec.train.warmupSteps = 2;
    TinyRun run(spec);
    ASSERT_TRUE(run.ok());
    scatter(run);
    const double rates[] = {0.01, 0.02, 0.02, 0.02 * (1 + std::cos(M_PI / 8)) / 2};
    std::map<std::string, std::vector<double>> m, v;
    for (int t = 1; t <= 4; ++t) {
      auto before = run.state();
      auto outcome = runWindow(run, Window(spec, t));
      ASSERT_TRUE(succeeded(outcome));
      double squares = 0, rate = rates[t - 1];
      for (const std::string &name : trained(run))
        for (double g : outcome->reports["grad:" + name].values)
          squares += g * g;
      EXPECT_NEAR(outcome->reports["grad_norm"].item(), std::sqrt(squares), 1e-13);
      EXPECT_NEAR(outcome->reports["learning_rate"].item(), rate, 1e-16);
      EXPECT_GT(squares, 0.25);
      double factor = std::min(1.0, 0.5 / std::sqrt(squares));
      for (const std::string &name : trained(run)) {
        bool matrix = run.interpreter->variables.at(name)->shape.size() > 1;
        const auto &g = outcome->reports["grad:" + name].values;
        m[name].resize(g.size());
        v[name].resize(g.size());
        for (size_t i = 0; i < g.size(); ++i) {
          double c = factor * g[i], w = before[name][i];
          m[name][i] = 0.9 * m[name][i] + 0.1 * c;
          v[name][i] = 0.95 * v[name][i] + 0.05 * c * c;
          double wanted = w - rate * (matrix ? 0.3 : 0) * w -
                          rate * (m[name][i] / (1 - std::pow(0.9, t))) /
                              (std::sqrt(v[name][i] / (1 - std::pow(0.95, t))) + spec.train.eps);
          ASSERT_NEAR(run[name][i], wanted, 1e-13) << name << " update " << t;
        }
      }
      EXPECT_EQ(run["updates"][0], t);
    }
  }
}

// Three windows of micro-batches leave the weights of three whole batches, whatever the loss of a
// window is the mean over.
TEST(Step, WindowsAddUp) {
  for (auto [micro, reduction, order] : {std::tuple{1, LossReduction::Token, Reproducible::Run},
                                         {2, LossReduction::Token, Reproducible::Run},
                                         {3, LossReduction::Token, Reproducible::Layout},
                                         {1, LossReduction::Sample, Reproducible::Layout},
                                         {2, LossReduction::Sample, Reproducible::Run},
                                         {3, LossReduction::Sample, Reproducible::Run}}) {
    Spec spec = tinySpec();
    spec.train.batch = spec.train.microBatch = 6;
    spec.train.gradientClipping = 0.5;
    spec.train.lossReduction = reduction;
    spec.labelSmoothing = 0.1;
    TinyRun again(spec);
    spec.train.microBatch = micro;
    spec.train.reproducible = order;
    TinyRun cut(spec);
    ASSERT_TRUE(cut.ok() && again.ok());
    for (int step = 0; step < 3; ++step) {
      auto a = runWindow(again, Window(spec, step)), b = runWindow(cut, Window(spec, step));
      ASSERT_TRUE(succeeded(a) && succeeded(b));
      for (const char *report : {"loss", "grad_norm", "tokens", "learning_rate"})
        EXPECT_NEAR(a->reports[report].item(), b->reports[report].item(), 1e-12) << report;
    }
    for (const std::string &name : trained(cut))
      for (size_t i = 0; i < cut[name].size(); ++i)
        ASSERT_NEAR(cut[name][i], again[name][i], 1e-11) << name;
  }
}

// A scale that is a power of two changes no bit of a step in float64.
TEST(Step, ALossScaleLeavesNoTrace) {
  Spec spec = tinySpec();
  spec.train.gradientClipping = 0.5;
  TinyRun plain(spec);
  for (LossScaleMode mode : {LossScaleMode::Static, LossScaleMode::Dynamic}) {
    spec.train.scaling.mode = mode;
    spec.train.scaling.initial = 1024;
    TinyRun scaled(spec), again(plain.spec);
    ASSERT_TRUE(scaled.ok() && again.ok());
    for (int step = 0; step < 3; ++step) {
      auto a = runWindow(again, Window(spec, step)), b = runWindow(scaled, Window(spec, step));
      ASSERT_TRUE(succeeded(a) && succeeded(b));
      EXPECT_EQ(a->reports["grad_norm"].item(), b->reports["grad_norm"].item());
    }
    for (const std::string &name : trained(scaled))
      EXPECT_EQ(scaled[name], again[name]) << name;
  }
}

// The scale of a run follows its state from step to step: overflow, hysteresis, growth.
TEST(Step, TheScaleIsCarriedFromStepToStep) {
  Spec spec = tinySpec();
  spec.train.scaling = {.mode = LossScaleMode::Dynamic, .initial = 8, .window = 2, .hysteresis = 2};
  TinyRun run(spec);
  ASSERT_TRUE(run.ok());
  Tensor good = *run.interpreter->variables.at("wpe.weight"), bad = good;
  bad[0] = std::nan("");
  // Overflow in steps 2, 3 and 7: the first costs hysteresis, the second halves, two good ones
  // double.
  const bool overflow[] = {false, true, true, false, false, false, true, false, false, false};
  const double scales[] = {8, 8, 8, 4, 4, 8, 8, 8, 8, 16};
  for (int step = 0; step < 10; ++step) {
    Tensor now = *run.interpreter->variables.at("wpe.weight");
    auto before = run.state();
    run.set("wpe.weight", overflow[step] ? bad : now);
    auto outcome = runWindow(run, Window(spec, step));
    ASSERT_TRUE(succeeded(outcome));
    EXPECT_EQ(outcome->reports["loss_scale"].item(), scales[step]) << step + 1;
    EXPECT_EQ(outcome->end, overflow[step] ? Outcome::End::Overflow : Outcome::End::Finished);
    if (overflow[step]) {
      run.set("wpe.weight", now);
      for (const std::string &name : trained(run))
        EXPECT_EQ(run[name], before[name]) << name;
    }
  }
}

// A sample in which nothing counts, as padding does not, has no part in anything: its tokens may be
// what they like.
TEST(Step, AT_06_APaddedSampleChangesNothing) {
  Spec spec = tinySpec();
  TinyRun run(spec), other(spec);
  ASSERT_TRUE(run.ok() && other.ok());
  Window window(spec, 3), changed(spec, 3);
  for (int64_t i = spec.data.seqLength; i < 2 * spec.data.seqLength; ++i) {
    ASSERT_EQ(window.labels[i], -100);
    changed.tokens[i] = 12 - changed.tokens[i];
  }
  auto a = runWindow(run, window), b = runWindow(other, changed);
  ASSERT_TRUE(succeeded(a) && succeeded(b));
  for (const auto &[name, value] : a->reports) {
    for (double element : value.values)
      ASSERT_TRUE(std::isfinite(element)) << name;
    EXPECT_EQ(value.values, b->reports[name].values) << name;
  }
  EXPECT_EQ(run.state(), other.state());
}

//===-- lowering --===//

// Fused ops, dissolved blocks and a head that is cut into runs of rows compute what the
// ops that passes have not touched do.
TEST(Step, LoweringChangesNothing) {
  for (auto &[name, spec] : variants())
    for (int64_t rows : {1, 3}) {
      SCOPED_TRACE(name);
      TinyRun plain(spec), lowered(spec);
      ASSERT_TRUE(plain.ok() && lowered.ok());
      PassManager passes(&lowered.context);
      LoweringOptions options;
      options.blockBytes = rows * spec.model.vocabSize * 4;
      buildLoweringPipeline(passes, options);
      ASSERT_TRUE(succeeded(passes.run(*lowered.module)));
      auto variables = lowered.interpreter->variables;
      lowered.interpreter = std::make_unique<reference::Interpreter>(*lowered.module);
      lowered.interpreter->variables = variables;
      scatter(plain);
      scatter(lowered);
      for (int step = 0; step < 2; ++step) {
        auto a = runWindow(plain, Window(spec, step)), b = runWindow(lowered, Window(spec, step));
        ASSERT_TRUE(succeeded(a) && succeeded(b));
        for (const auto &[report, value] : a->reports)
          for (int64_t i = 0; i < value.count(); ++i)
            ASSERT_NEAR(b->reports[report][i], value[i], 1e-12) << report << " step " << step;
      }
      for (const std::string &parameter : trained(plain))
        for (size_t i = 0; i < plain[parameter].size(); ++i)
          ASSERT_NEAR(lowered[parameter][i], plain[parameter][i], 1e-9) << parameter;
    }
}

//===-- mixed precision --===//

static double rounded(double value, Precision precision) {
  return precision == Precision::F16 ? roundToHalf(value) : roundToBfloat(value);
}

// After every update the working copy is the master, rounded; logits and what else leaves a program
// are not rounded.
TEST(Step, WorkingCopiesFollowTheWeights) {
  for (Precision precision : {Precision::F16, Precision::BF16}) {
    Spec spec = tinySpec();
    spec.train.precision = precision;
    TinyRun run(spec);
    ASSERT_TRUE(run.ok());
    int copies = 0;
    for (int step = 0; step < 2; ++step) {
      ASSERT_TRUE(succeeded(runWindow(run, Window(spec, step))));
      for (const auto &[name, values] : run.state())
        if (name.rfind("half.", 0) == 0) {
          ++copies;
          for (size_t i = 0; i < values.size(); ++i)
            ASSERT_EQ(values[i], rounded(run[name.substr(5)][i], precision)) << name;
        }
    }
    EXPECT_GE(copies, 2 * 5);
  }
}

TEST(Step, LogitsAreNotRounded) {
  Spec spec = tinySpec();
  spec.train.precision = Precision::F16;
  TinyRun run(spec);
  ASSERT_TRUE(run.ok());
  auto outcome = run.interpreter->run("logits", {Tensor({1, 5}, {1, 2, 3, 4, 5})});
  ASSERT_TRUE(succeeded(outcome));
  int unrounded = 0;
  for (double logit : outcome->reports["logits"].values)
    unrounded += logit != rounded(logit, Precision::F16);
  EXPECT_GT(unrounded, 50); // of 65
}
