//===- JoinWorld.cpp - loads MPI, and makes this process a rank
//---------------------------------===//
#include "MpiCommunicator.h"
#include <condition_variable>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <thread>

using namespace dsc;

static constexpr const char *moduleName = "dsc-mpi.so";

static MpiProcess process;

static StatusOr<const DscMpiTable *> load(const LaunchEnvironment &environment,
                                          const CommunicatorOptions &options) {
  std::vector<std::filesystem::path> places;
  std::error_code error;
  auto program = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  if (options.mpiModule.empty())
    places = {program / moduleName, program.parent_path() / "lib" / moduleName};
  else
    places = {options.mpiModule};
  std::string started = std::string(environment.launcher) + " started " +
                        std::to_string(environment.size) + " processes, but ";
  for (const auto &place : places) {
    if (!std::filesystem::exists(place, error))
      continue;
    // MPI loads components of its own, which look for its symbols among all.
    void *library = dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!library)
      return Status(ErrorCode::Usage, started + "MPI cannot be loaded: " + dlerror() +
                                          "; install Debian's openmpi-bin");
    auto function = reinterpret_cast<DscMpiTableFunction>(dlsym(library, "dscMpiTable"));
    const DscMpiTable *table = function ? function() : nullptr;
    if (!table || table->version != DSC_MPI_TABLE_VERSION)
      return Status(ErrorCode::Usage, started + place.string() + " is of another version");
    return table;
  }
  return Status(ErrorCode::Usage, started + "there is no " + places.back().string() +
                                      ", which holds MPI: build with libopenmpi-dev installed");
}

/// MPI ends in good order only where all ranks agreed to end; else the launcher sees that they did
/// not.
static void finalize() {
  if (process.openWorlds == 0)
    process.table->finalize();
}

/// Runs `call`, which waits for all ranks and knows no deadline, on a thread of its own. One that
/// does not come back is left behind: the process is about to end.
static Status within(double seconds, const char *what, std::function<Status()> call) {
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    bool over = false;
    Status status;
  };
  auto shared = std::make_shared<Shared>();
  std::thread thread([shared, call = std::move(call)] {
    Status status = call();
    std::lock_guard lock(shared->mutex);
    shared->status = status;
    shared->over = true;
    shared->changed.notify_one();
  });
  std::unique_lock lock(shared->mutex);
  bool over = shared->changed.wait_for(lock, std::chrono::duration<double>(seconds),
                                       [&] { return shared->over; });
  lock.unlock();
  if (!over) {
    thread.detach();
    return {ErrorCode::Communication, std::string(what) + " did not end within " +
                                          std::to_string(static_cast<int>(seconds)) +
                                          " s: some process does not take part"};
  }
  thread.join();
  return shared->status;
}

static Status initialize(const LaunchEnvironment &environment, const CommunicatorOptions &options) {
  auto table = load(environment, options);
  if (!table)
    return table.status();
  MpiProcess started;
  started.table = *table;
  // Written by a thread that may be left behind.
  auto shared = std::make_shared<MpiProcess>(started);
  Status status = within(options.startSeconds, "the start of MPI", [shared]() -> Status {
    char library[128] = "MPI";
    int threads = 0;
    if (shared->table->initialize(&shared->rank, &shared->size, &threads, &shared->largestTag,
                                  library, sizeof library))
      return {ErrorCode::Communication, "MPI does not start"};
    shared->threads = threads;
    shared->library = library;
    return {};
  });
  if (!status)
    return status;
  process = *shared;
  std::atexit(finalize);
  return {};
}

StatusOr<std::unique_ptr<Communicator>> dsc::joinWorld(const LaunchEnvironment &environment,
                                                       const CommunicatorOptions &options) {
  if (!process.table)
    if (Status status = initialize(environment, options); !status)
      return status;
  if (process.size != environment.size || process.rank != environment.rank)
    return Status(ErrorCode::Usage,
                  std::string(environment.launcher) + " says that this is rank " +
                      std::to_string(environment.rank) + " of " + std::to_string(environment.size) +
                      ", " + process.library + " that it is rank " + std::to_string(process.rank) +
                      " of " + std::to_string(process.size) +
                      "; start with mpirun, or with a launcher that this MPI knows");
  int first = process.channels;
  if (first + MpiCommunicator::channelsOfWorld > DSC_MPI_CHANNELS)
    return Status(ErrorCode::Internal, "too many worlds");
  Status status = within(options.startSeconds, "the start of communication", [first]() -> Status {
    for (int i = 0; i < MpiCommunicator::channelsOfWorld; ++i)
      if (process.table->openChannel(first + i))
        return {ErrorCode::Communication, "MPI does not open a channel"};
    return {};
  });
  if (!status) {
    ++process.openWorlds; // for good: the world does not end in good order
    return status;
  }
  process.channels += MpiCommunicator::channelsOfWorld;
  return std::unique_ptr<Communicator>(std::make_unique<MpiCommunicator>(process, first, options));
}
