//===- make-test-plan.cpp - the plan of the tests as a file ----------------===//
#include "RankPlans.h"
#include "TestPlan.h"
#include <cstdio>
#include <cstdlib>
#include <string_view>

using namespace dsc;

// make-test-plan FOLDER STEPS [foreign|small|shares|stages]: `foreign` asks for CPU features that
// do not exist, `small` has code that is a header only (a seed for fuzzing, not to be run), and so
// have `shares` and `stages`, of many ranks.
int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: make-test-plan FOLDER STEPS [foreign|small|shares|stages]\n");
    return 2;
  }
  plan::Plan plan = test::testPlan();
  std::string_view variant = argc > 3 ? argv[3] : "";
  if (variant == "shares")
    plan = test::twoRanks();
  if (variant == "stages")
    plan = test::pipeline(3, 4, 2);
  if (variant == "small" || variant == "shares" || variant == "stages") {
    plan.images[0].elf.resize(64);
    plan.images[0].elf[56] = plan.images[0].elf[57] = 0; // segments
  }
  if (variant == "foreign")
    plan.images[0] = {"x86-64-v9", {"sse2", "avx9", "quantum"}, plan.images[0].elf};
  test::writeTestPlan(argv[1], std::atoll(argv[2]), plan);
}
