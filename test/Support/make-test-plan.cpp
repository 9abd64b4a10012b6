//===- make-test-plan.cpp - the plan of the tests as a file ----------------===//
#include "TestPlan.h"
#include <cstdio>
#include <cstdlib>
#include <string_view>

using namespace dsc;

// make-test-plan FOLDER STEPS [foreign]: `foreign` asks for a CPU feature that does not exist.
int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: make-test-plan FOLDER STEPS [foreign]\n");
    return 2;
  }
  plan::Plan plan = test::testPlan();
  if (argc > 3 && std::string_view(argv[3]) == "foreign")
    plan.images[0] = {"x86-64-v9", {"sse2", "avx9", "quantum"}, plan.images[0].elf};
  test::writeTestPlan(argv[1], std::atoll(argv[2]), plan);
}
