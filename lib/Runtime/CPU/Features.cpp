//===- Features.cpp - what this CPU can do ---------------------------------===//
#include "dsc/Runtime/CPU/Features.h"
#include "dsc/Support/TilePermission.h"
#include <cpuid.h>

using namespace dsc;

namespace {

enum Register { Eax, Ebx, Ecx, Edx };

struct FeatureBit {
  const char *name;
  unsigned leaf, subleaf;
  Register where;
  int bit;
  unsigned state; ///< bits of XCR0 that the system must have set
};

} // namespace

static constexpr unsigned avxState = 0x6, avx512State = 0xe6, amxState = 0x60000;

/// Intel SDM volume 2, CPUID; AMD APM volume 3, appendix E.
static constexpr FeatureBit bits[] = {
    {"fpu", 1, 0, Edx, 0, 0},
    {"cx8", 1, 0, Edx, 8, 0},
    {"cmov", 1, 0, Edx, 15, 0},
    {"mmx", 1, 0, Edx, 23, 0},
    {"fxsr", 1, 0, Edx, 24, 0},
    {"sse", 1, 0, Edx, 25, 0},
    {"sse2", 1, 0, Edx, 26, 0},
    {"pni", 1, 0, Ecx, 0, 0},
    {"sse3", 1, 0, Ecx, 0, 0},
    {"pclmulqdq", 1, 0, Ecx, 1, 0},
    {"ssse3", 1, 0, Ecx, 9, 0},
    {"fma", 1, 0, Ecx, 12, avxState},
    {"cx16", 1, 0, Ecx, 13, 0},
    {"sse4_1", 1, 0, Ecx, 19, 0},
    {"sse4_2", 1, 0, Ecx, 20, 0},
    {"movbe", 1, 0, Ecx, 22, 0},
    {"popcnt", 1, 0, Ecx, 23, 0},
    {"aes", 1, 0, Ecx, 25, 0},
    {"xsave", 1, 0, Ecx, 26, 0},
    {"avx", 1, 0, Ecx, 28, avxState},
    {"f16c", 1, 0, Ecx, 29, avxState},
    {"rdrand", 1, 0, Ecx, 30, 0},
    {"bmi1", 7, 0, Ebx, 3, 0},
    {"avx2", 7, 0, Ebx, 5, avxState},
    {"bmi2", 7, 0, Ebx, 8, 0},
    {"erms", 7, 0, Ebx, 9, 0},
    {"avx512f", 7, 0, Ebx, 16, avx512State},
    {"avx512dq", 7, 0, Ebx, 17, avx512State},
    {"adx", 7, 0, Ebx, 19, 0},
    {"avx512ifma", 7, 0, Ebx, 21, avx512State},
    {"avx512cd", 7, 0, Ebx, 28, avx512State},
    {"avx512bw", 7, 0, Ebx, 30, avx512State},
    {"avx512vl", 7, 0, Ebx, 31, avx512State},
    {"avx512vbmi", 7, 0, Ecx, 1, avx512State},
    {"avx512_vbmi2", 7, 0, Ecx, 6, avx512State},
    {"vaes", 7, 0, Ecx, 9, avxState},
    {"avx512_vnni", 7, 0, Ecx, 11, avx512State},
    {"avx512_bitalg", 7, 0, Ecx, 12, avx512State},
    {"avx512_vpopcntdq", 7, 0, Ecx, 14, avx512State},
    {"amx_bf16", 7, 0, Edx, 22, amxState},
    {"avx512_fp16", 7, 0, Edx, 23, avx512State},
    {"amx_tile", 7, 0, Edx, 24, amxState},
    {"amx_int8", 7, 0, Edx, 25, amxState},
    {"avx_vnni", 7, 1, Eax, 4, avxState},
    {"avx512_bf16", 7, 1, Eax, 5, avx512State},
    {"amx_fp16", 7, 1, Eax, 21, amxState},
    {"lahf_lm", 0x80000001, 0, Ecx, 0, 0},
    {"abm", 0x80000001, 0, Ecx, 5, 0},
    {"lm", 0x80000001, 0, Edx, 29, 0},
};

static unsigned enabledState() {
  unsigned eax, ebx, ecx, edx;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx >> 27 & 1)) // OSXSAVE
    return 0;
  asm volatile("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
  return eax;
}

std::set<std::string> dsc::cpuFeatures() {
  std::set<std::string> have;
  unsigned state = enabledState();
  for (const FeatureBit &feature : bits) {
    unsigned r[4];
    if (!__get_cpuid_count(feature.leaf, feature.subleaf, &r[0], &r[1], &r[2], &r[3]))
      continue;
    // A subleaf beyond the last (leaf 7 tells it in EAX of subleaf 0) answers with other data.
    unsigned last = 0, b, c, d;
    if (feature.subleaf &&
        (!__get_cpuid_count(feature.leaf, 0, &last, &b, &c, &d) || last < feature.subleaf))
      continue;
    if ((r[feature.where] >> feature.bit & 1) && (state & feature.state) == feature.state &&
        (feature.state != amxState || requestTiles()))
      have.insert(feature.name);
  }
  return have;
}

/// Names in `image` that `have` lacks, or empty.
static std::string missing(const plan::KernelImage &image, const std::set<std::string> &have) {
  std::string names;
  for (const std::string &feature : image.features)
    if (!have.count(feature))
      names += (names.empty() ? "" : ", ") + feature;
  return names;
}

StatusOr<size_t> dsc::chooseImage(const std::vector<plan::KernelImage> &images,
                                  const std::set<std::string> &have, const std::string &forced) {
  std::string known, lacking;
  for (size_t i = 0; i < images.size(); ++i) {
    std::string names = missing(images[i], have);
    known += (i ? ", " : "") + images[i].isa;
    if (!names.empty())
      lacking += (lacking.empty() ? "" : "; ") + images[i].isa + " needs " + names;
    if (images[i].isa != forced)
      continue;
    if (!names.empty())
      return damagedError("this CPU cannot run " + forced + ": it lacks " + names);
    return i;
  }
  if (!forced.empty())
    return Status(ErrorCode::Usage, "the plan has no code for '" + forced + "'; it has " +
                                        (known.empty() ? "none" : known));
  bool found = false;
  size_t best = 0;
  for (size_t i = 0; i < images.size(); ++i)
    if (missing(images[i], have).empty() &&
        (!found || images[i].features.size() >= images[best].features.size())) {
      best = i;
      found = true;
    }
  if (!found)
    return damagedError("the plan has no code for this CPU: " + lacking +
                        "; compile again with dsc --target=native on this machine");
  return best;
}
