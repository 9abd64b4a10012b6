//===- SettingsTest.cpp - dsrun --set --------------------------------------===//
#include "dsc/Runtime/Core/Settings.h"
#include "TestPlan.h"
#include <gtest/gtest.h>

using namespace dsc;

static std::string refused(const std::vector<std::string> &assignments) {
  plan::Plan plan = test::testPlan();
  Status status = applySettings(plan, assignments);
  EXPECT_EQ(status.code(), ErrorCode::Usage);
  return status.message();
}

TEST(Settings, ChangeScalarsAndTheSpec) {
  plan::Plan plan = test::testPlan();
  Status status = applySettings(plan, {"train.optimizer.params.lr=3e-4", "train.steps=7",
                                       "checkpoint.dir=a=b", "data.train.0.path=other.npy",
                                       "evaluation.batches=all", "init.from=gpt2"});
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(plan.scalars[0].value, 3e-4);
  const auto &spec = (*plan.manifest)["spec"];
  EXPECT_EQ(*findSetting(spec, "train.optimizer.params.lr"), 3e-4);
  EXPECT_EQ(*findSetting(spec, "train.steps"), 7);
  EXPECT_EQ(*findSetting(spec, "checkpoint.dir"), "a=b");
  EXPECT_EQ(*findSetting(spec, "data.train.0.path"), "other.npy");
  EXPECT_EQ(*findSetting(spec, "evaluation.batches"), 0);
  EXPECT_EQ(*findSetting(spec, "init.from"), "gpt2");
}

// Kernels read the seed of masks in halves.
TEST(Settings, TheSeedIsTwoScalars) {
  plan::Plan plan = test::testPlan();
  plan.scalars.push_back({"train.seed.low", 1, 0});
  plan.scalars.push_back({"train.seed.high", 2, 0});
  Status status = applySettings(plan, {"train.seed=1311768467463790320"}); // 0x123456789abcdef0
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(plan.scalars[plan.scalars.size() - 2].value, 0x9abcdef0);
  EXPECT_EQ(plan.scalars.back().value, 0x12345678);
}

TEST(Settings, UnknownPathsNameTheNearest) {
  EXPECT_EQ(refused({"train.optimizer.params.lrr=1"}),
            "--set train.optimizer.params.lrr=1: the plan has no such setting; the nearest is "
            "train.optimizer.params.lr");
  EXPECT_NE(refused({"train.step=1"}).find("the nearest is train.steps"), std::string::npos);
  EXPECT_NE(refused({"train.optimizer.params.momentum=0.9"}).find("no such setting"),
            std::string::npos);
  EXPECT_NE(refused({"data.train.1.path=x"}).find("no such setting"), std::string::npos);
  EXPECT_NE(refused({"train.lr=1"}).find("the nearest is train.optimizer.params.lr"),
            std::string::npos);
  EXPECT_EQ(refused({"train.optimizer.params.momentum=1"}).find("is train.optimizer.params.mom"),
            std::string::npos);
}

TEST(Settings, CompiledPartsAreRefusedWithTheFix) {
  for (const char *assignment : {"model.n_embd=16", "train.train_batch_size=4", "data.seq_length=8",
                                 "train.optimizer.type=AdamW", "model=x"})
    EXPECT_EQ(refused({assignment}),
              std::string("--set ") + assignment +
                  ": this is part of the compiled code and cannot change here: compile again with "
                  "dsc --set " +
                  assignment);
}

TEST(Settings, ValuesAreChecked) {
  for (const char *assignment :
       {"train.optimizer.params.lr=-1", "train.optimizer.params.lr=fast",
        "train.optimizer.params.lr=nan", "train.optimizer.params.lr=1e400",
        "train.optimizer.params.lr=", "train.steps=1.5", "train.steps=-1", "log.every=0",
        "data.validation_fraction=1", "evaluation.every=all"})
    EXPECT_NE(refused({assignment}).find("out of range or of the wrong type, expected a"),
              std::string::npos)
        << assignment;
  EXPECT_NE(refused({"train.steps"}).find("expected PATH=VALUE"), std::string::npos);
  EXPECT_NE(refused({"=5"}).find("expected PATH=VALUE"), std::string::npos);
}

TEST(Settings, WhatOneValueCannotShowIsChecked) {
  auto with = [](const char *path, double value, const std::vector<std::string> &assignments) {
    plan::Plan plan = test::testPlan();
    plan.scalars.push_back({path, value, 64});
    return applySettings(plan, assignments).message();
  };
  EXPECT_EQ(with("train.scheduler.params.min_lr", 0,
                 {"train.optimizer.params.lr=1e-3", "train.scheduler.params.min_lr=0.5"}),
            "train.scheduler.params.min_lr 0.5 is above the peak train.optimizer.params.lr 0.001");
  EXPECT_EQ(with("train.scheduler.params.min_lr", 0.5, {"train.optimizer.params.lr=0.5"}), "");
  EXPECT_EQ(with("train.scheduler.params.total_steps", 0, {"evaluation.every=2"}),
            "evaluation.every is 2, but there is no validation data: "
            "--set data.validation_fraction=0.05");
  EXPECT_EQ(with("train.scheduler.params.total_steps", 0,
                 {"evaluation.every=2", "data.validation_fraction=0.05"}),
            "");
}

TEST(Settings, EpochsGoBeforeStepsOfThePlan) {
  plan::Plan plan = test::testPlan();
  ASSERT_TRUE(applySettings(plan, {"train.steps=7", "train.epochs=2"}).ok());
  const auto &spec = (*plan.manifest)["spec"];
  EXPECT_EQ(findSetting(spec, "train.steps"), nullptr);
  EXPECT_EQ(*findSetting(spec, "train.epochs"), 2);
}

TEST(Settings, AllMistakesAtOnce) {
  std::string message = refused({"a=1", "log.every=0", "model.n_embd=1"});
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 2);
}
