//===- Launch.cpp - what launchers say about a process ----------------------------------===//
#include "dsc/Runtime/Comm/Communicator.h"
#include <charconv>
#include <cstdlib>
#include <cstring>

using namespace dsc;

namespace {
struct Launcher {
  const char *name, *rank;
  const char *sizes[2]; ///< the first that is set
  const char *localRank, *localSize;
};
} // namespace

// Where one launcher starts another (mpirun within a Slurm job), the inner one speaks for the
// process.
static constexpr Launcher launchers[] = {
    {"mpirun (Open MPI)",
     "OMPI_COMM_WORLD_RANK",
     {"OMPI_COMM_WORLD_SIZE", nullptr},
     "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"mpiexec (PMI)", "PMI_RANK", {"PMI_SIZE", nullptr}, "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    // The step's size first: SLURM_NTASKS is that of the job.
    {"srun (Slurm)",
     "SLURM_PROCID",
     {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
     "SLURM_LOCALID",
     nullptr},
    {"torchrun (RANK, WORLD_SIZE)",
     "RANK",
     {"WORLD_SIZE", nullptr},
     "LOCAL_RANK",
     "LOCAL_WORLD_SIZE"},
};

static std::optional<int> number(const char *text) {
  if (!text)
    return std::nullopt;
  int value = 0;
  const char *end = text + std::strlen(text);
  auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc() || stop != end || value < 0)
    return std::nullopt;
  return value;
}

std::optional<LaunchEnvironment>
dsc::findLaunchEnvironment(const char *(*variable)(const char *name)) {
  auto look = [&](const char *name) { return name ? number(variable(name)) : std::nullopt; };
  for (const Launcher &launcher : launchers) {
    std::optional<int> rank = look(launcher.rank), size = look(launcher.sizes[0]);
    if (!size)
      size = look(launcher.sizes[1]);
    if (rank && size && *rank < *size)
      return LaunchEnvironment{launcher.name, *rank, *size, look(launcher.localRank).value_or(-1),
                               look(launcher.localSize).value_or(-1)};
  }
  return std::nullopt;
}

std::optional<LaunchEnvironment> dsc::findLaunchEnvironment() {
  return findLaunchEnvironment([](const char *name) -> const char * { return std::getenv(name); });
}
