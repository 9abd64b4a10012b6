//===- Target.cpp - instruction sets that kernels are generated for --------===//
// The levels are those of the x86-64 psABI. The running CPU's level is found by feature bits, never
// by its name: names are often unknown to the compiler and sometimes wrong.
#include "dsc/Codegen/KernelOpInterface.h"
#include "dsc/Support/TilePermission.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/Host.h"

using namespace dsc;

static std::vector<std::string> join(std::vector<std::string> a,
                                     const std::vector<std::string> &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const std::vector<Target> &dsc::allTargets() {
  static const std::vector<std::string> flagsV2 = {"cx16",   "lahf_lm", "popcnt", "pni",
                                                   "sse4_1", "sse4_2",  "ssse3"};
  static const std::vector<std::string> flagsV3 =
      join(flagsV2, {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"});
  static const std::vector<std::string> flagsV4 =
      join(flagsV3, {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"});
  static const std::string featuresV2 = "+cx16,+sahf,+popcnt,+sse3,+sse4.1,+sse4.2,+ssse3";
  static const std::string featuresV3 =
      featuresV2 + ",+lzcnt,+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+movbe,+xsave";
  static const std::string featuresV4 =
      featuresV3 + ",+avx512bw,+avx512cd,+avx512dq,+avx512f,+avx512vl";
  static const std::vector<Target> targets = {
      {"x86-64-v2", flagsV2, featuresV2, /*vectorBits=*/128, /*fma=*/false, /*registers=*/16,
       /*f16c=*/false},
      {"x86-64-v3", flagsV3, featuresV3, /*vectorBits=*/256, /*fma=*/true, /*registers=*/16,
       /*f16c=*/true},
      {"x86-64-v4", flagsV4, featuresV4, /*vectorBits=*/512, /*fma=*/true, /*registers=*/32,
       /*f16c=*/true},
      {"x86-64-v4+amx-bf16", join(flagsV4, {"amx_bf16", "amx_tile"}),
       featuresV4 + ",+amx-bf16,+amx-tile", /*vectorBits=*/512, /*fma=*/true, /*registers=*/32,
       /*f16c=*/true, Tiles::Bf16},
  };
  return targets;
}

const Target *dsc::findTarget(llvm::StringRef name) {
  if (name == "native")
    return &nativeTarget();
  for (const Target &target : allTargets())
    if (target.name == name)
      return &target;
  return nullptr;
}

bool dsc::hostSupports(const Target &target) {
  // Operating-system support for the wide registers is part of what this asks.
  static const llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  llvm::SmallVector<llvm::StringRef> features;
  llvm::StringRef(target.llvmFeatures).split(features, ',');
  if (target.tiles == Tiles::Bf16 && !requestTiles())
    return false;
  return llvm::all_of(features,
                      [&](llvm::StringRef feature) { return host.lookup(feature.drop_front()); });
}

const Target &dsc::nativeTarget() {
  const Target *best = &allTargets().front();
  for (const Target &target : allTargets())
    if (target.tiles == Tiles::None && hostSupports(target))
      best = &target;
  return *best;
}
