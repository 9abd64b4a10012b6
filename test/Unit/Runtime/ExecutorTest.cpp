//===- ExecutorTest.cpp - programs of the small plan, instruction by instruction ===//
#include "dsc/Runtime/Core/Executor.h"
#include "TestPlan.h"
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <new>
#include <sys/resource.h>

using namespace dsc;
using namespace dsc::plan;

/// Every allocation of this program is counted: C++ goes through malloc in these replacements.
static std::atomic<int64_t> allocations{0};
void *operator new(size_t bytes) {
  ++allocations;
  if (void *memory = std::malloc(bytes ? bytes : 1))
    return memory;
  std::abort();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

namespace {

struct SmallRun {
  std::unique_ptr<Executor> executor;
  size_t train = 0;
  int32_t *tokens = nullptr, *labels = nullptr;
  float *weight = nullptr;
  double *updates = nullptr;

  explicit SmallRun(ExecutorOptions options = {}, Plan plan = test::testPlan()) {
    if (!options.threads)
      options.threads = 2;
    options.aloneBytes = 0; // all that can be dealt out
    auto created = Executor::create(std::move(plan), options);
    EXPECT_TRUE(created.ok()) << created.status().message();
    executor = std::move(*created);
    train = *executor->program("train");
    tokens = input("tokens");
    labels = input("labels");
    weight = reinterpret_cast<float *>(executor->variable(0));
    updates = reinterpret_cast<double *>(executor->variable(1));
    for (int i = 0; i < 64; ++i)
      weight[i] = static_cast<float>(i % 5) * 0.1f;
    *updates = 0;
    feed(0);
  }
  int32_t *input(const char *name) {
    auto buffer = executor->find(train, name, Kind::Input, DType::I32);
    EXPECT_TRUE(buffer.ok());
    return reinterpret_cast<int32_t *>(executor->data(**buffer));
  }
  double output(const char *name) {
    auto buffer = executor->find(train, name, Kind::Output, DType::F64);
    EXPECT_TRUE(buffer.ok()) << buffer.status().message();
    double value;
    std::memcpy(&value, executor->data(**buffer), 8);
    return value;
  }
  void feed(int step, bool counted = true) {
    for (int i = 0; i < 12; ++i) {
      tokens[i] = (i * 3 + step) % 8;
      labels[i] = counted ? (i * 5 + step) % 8 : -100;
    }
  }
  std::vector<float> weights() const { return {weight, weight + 64}; }
};

} // namespace

TEST(Executor, TrainsTheBigramModel) {
  SmallRun run;
  double first = 0, last = 0;
  for (int step = 0; step < 200; ++step) {
    run.feed(0);
    ASSERT_EQ(run.executor->run(run.train), Outcome::Done);
    last = run.output("loss");
    if (step == 0)
      first = last;
  }
  EXPECT_EQ(*run.updates, 200);
  EXPECT_EQ(run.output("tokens"), 12);
  EXPECT_EQ(run.output("learning_rate"), 0.5);
  EXPECT_GT(first, 1.5);
  EXPECT_LT(last, 0.7 * first);
}

TEST(Executor, ThreadsAndPoisonChangeNoBit) {
  auto train = [](int threads, bool poison) {
    ExecutorOptions options;
    options.threads = threads;
    options.poison = poison;
    SmallRun run(options);
    std::vector<double> trace;
    for (int step = 0; step < 20; ++step) {
      run.feed(step);
      EXPECT_EQ(run.executor->run(run.train), Outcome::Done);
      trace.push_back(run.output("loss"));
      trace.push_back(run.output("grad_norm"));
    }
    return std::pair(trace, run.weights());
  };
  auto expected = train(1, false);
  for (int threads : {1, 2, 3, 12, 17})
    for (bool poison : {false, true})
      EXPECT_EQ(train(threads, poison), expected) << threads << " threads, poison " << poison;
}

TEST(Executor, PoisonShowsABufferThatIsReadBeforeItIsWritten) {
  // `rows` is read by mean_loss without row_losses having run.
  Plan plan = test::testPlan();
  Program &program = plan.programs[0];
  program.instructions[1] = program.instructions[0];
  for (bool poison : {false, true}) {
    ExecutorOptions options;
    options.poison = poison;
    SmallRun run(options, plan);
    EXPECT_EQ(run.executor->run(run.train), poison ? Outcome::NotFinite : Outcome::Done);
  }
}

TEST(Executor, GuardEndsAnEmptyStepBeforeTheUpdate) {
  SmallRun run;
  auto before = run.weights();
  run.feed(0, /*counted=*/false);
  EXPECT_EQ(run.executor->run(run.train), Outcome::Empty);
  EXPECT_EQ(run.weights(), before);
  EXPECT_EQ(*run.updates, 0);
  EXPECT_EQ(run.output("loss"), 0);
}

TEST(Executor, GuardStopsBeforeTheUpdateAndNamesTheFirstTensor) {
  SmallRun run;
  run.weight[9] = 1e30f; // exp overflows: the loss is inf; row 1 is token 1
  auto before = run.weights();
  ASSERT_EQ(run.executor->run(run.train), Outcome::NotFinite);
  EXPECT_EQ(run.weights(), before);
  EXPECT_EQ(*run.updates, 0);
  EXPECT_EQ(run.executor->badVariable(), "");
  std::string first = run.executor->badTensor(run.train);
  EXPECT_EQ(first.find("activation 'rows' is inf at element "), 0u) << first;
  EXPECT_NE(first.find("in instruction 1 (bigram: row_losses)"), std::string::npos) << first;
  run.weight[9] = std::numeric_limits<float>::quiet_NaN();
  ASSERT_EQ(run.executor->run(run.train), Outcome::NotFinite);
  EXPECT_EQ(run.executor->badVariable(), "parameter 'wte.weight' is nan at element 9");
}

// CL-06: the loss is finite, the norm of the gradients is not.
TEST(Executor, CL_06_ANormThatIsNotFiniteStopsBeforeTheUpdate) {
  SmallRun run;
  std::fill_n(run.tokens, 12, 0); // so that row 7 of the weights has no part in the loss
  run.weight[7 * 8] = 1e30f;
  auto before = run.weights();
  ASSERT_EQ(run.executor->run(run.train), Outcome::NotFinite);
  EXPECT_TRUE(std::isfinite(run.output("loss")));
  EXPECT_FALSE(std::isfinite(run.output("grad_norm")));
  EXPECT_EQ(run.weights(), before);
  EXPECT_EQ(*run.updates, 0);
}

TEST(Executor, StepsTakeNothingFromTheHeap) {
  SmallRun run;
  run.executor->run(run.train);
  int64_t before = allocations;
  for (int step = 0; step < 50; ++step) {
    run.feed(step);
    run.executor->run(run.train);
  }
  EXPECT_EQ(allocations - before, 0);
  run.executor->program("no such").status().message();
  EXPECT_GT(allocations - before, 0) << "the count itself does not work";
}

TEST(Executor, ScalarsAreData) {
  SmallRun run;
  run.executor->setScalar("train.optimizer.params.lr", 0.25);
  run.executor->run(run.train);
  EXPECT_EQ(run.output("learning_rate"), 0.25);
}

TEST(Executor, RefusesWhatThisMachineCannotDo) {
  ExecutorOptions options;
  options.threads = 1;
  Plan plan = test::testPlan();
  plan.images[0].features = {"sse2", "quantum"};
  auto foreign = Executor::create(plan, options);
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.status().code(), ErrorCode::Damaged);
  EXPECT_NE(foreign.status().message().find("x86-64 needs quantum"), std::string::npos);

  plan = test::testPlan();
  plan.kernels.push_back({"absent", {}});
  auto absent = Executor::create(plan, options);
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.status().code(), ErrorCode::Damaged);
  EXPECT_EQ(absent.status().message(), "section 'kernels.x86-64': kernel 'absent' is missing");

  plan = test::testPlan();
  plan.arenaBytes = uint64_t{1} << 46;
  auto large = Executor::create(plan, options);
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.status().code(), ErrorCode::Memory);
  EXPECT_NE(large.status().message().find("the plan needs 64.0 TiB"), std::string::npos)
      << large.status().message();
  EXPECT_NE(large.status().message().find("are available ("), std::string::npos);

  plan = test::testPlan();
  plan.workspaceBytes = uint64_t{1} << 40;
  options.threads = 4096;
  auto workspace = Executor::create(plan, options);
  ASSERT_FALSE(workspace.ok());
  EXPECT_EQ(workspace.status().code(), ErrorCode::Memory);
}

TEST(Executor, TwoImagesInOneProcess) {
  // The C library remembers libraries by path, and both came by /proc/self/fd/N.
  SmallRun one;
  Plan plan = test::testPlan();
  SmallRun two({}, plan);
  one.executor->run(one.train);
  two.executor->run(two.train);
  EXPECT_EQ(one.weights(), two.weights());
}
