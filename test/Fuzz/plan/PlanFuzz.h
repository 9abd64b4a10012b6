//===- PlanFuzz.h - any bytes as a plan -------------------------------------===//
#ifndef DSC_TEST_FUZZ_PLAN_PLANFUZZ_H
#define DSC_TEST_FUZZ_PLAN_PLANFUZZ_H

#include "dsc/Plan/Container.h"
#include "dsc/Plan/Print.h"
#include "dsc/Support/Hash.h"
#include <cstdlib>
#include <cstring>

namespace dsc::fuzz {

/// Writes size and hashes anew where they lie inside, so that damage reaches what comes after them.
inline std::string repairPlan(std::string bytes) {
  using namespace dsc::plan;
  if (bytes.size() < headerBytes)
    return bytes;
  auto put = [&](uint64_t at, uint64_t value) { std::memcpy(bytes.data() + at, &value, 8); };
  auto get = [&](uint64_t at) {
    uint64_t value;
    std::memcpy(&value, bytes.data() + at, 8);
    return value;
  };
  std::string_view all = bytes;
  for (uint64_t at = headerBytes;
       at + entryBytes <= bytes.size() && at < headerBytes + 8 * entryBytes; at += entryBytes) {
    uint64_t offset = get(at + 40), size = get(at + 48);
    if (offset <= bytes.size() && size <= bytes.size() - offset && offset > at)
      put(at + 56, hash64(all.substr(offset, size)));
  }
  put(16, bytes.size());
  uint64_t parts[2] = {hash64(all.substr(0, 24)), hash64(all.substr(headerBytes))};
  put(24, hash64(parts, sizeof parts));
  return bytes;
}

/// Accepted or refused with a message, as it is and repaired; what is accepted can be printed and
/// written again.
inline void plan(std::string_view bytes) {
  std::string repaired = repairPlan(std::string(bytes));
  for (std::string_view each : {bytes, std::string_view(repaired)}) {
    auto plan = plan::deserialize(each);
    if (!plan.ok()) {
      if (plan.status().message().find("section '") != 0)
        std::abort();
      continue;
    }
    for (const std::string &section : plan::printableSections())
      plan::printSection(*plan, section);
    if (!plan::deserialize(plan::serialize(*plan)).ok())
      std::abort();
  }
}

} // namespace dsc::fuzz

#endif // DSC_TEST_FUZZ_PLAN_PLANFUZZ_H
