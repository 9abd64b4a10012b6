//===- Session.h - a plan file, opened for one run -------------------------===//
#ifndef DSC_RUNTIME_CORE_SESSION_H
#define DSC_RUNTIME_CORE_SESSION_H

#include "dsc/Runtime/Checkpoint/HuggingFace.h"
#include "dsc/Runtime/Core/Executor.h"
#include "dsc/Runtime/Core/Profile.h"
#include "dsc/Runtime/Core/TrainingStep.h"
#include "dsc/Runtime/Data/BatchStream.h"

namespace dsc {

/// What dsrun's flags say. Empty and -1: not given.
struct RunOptions {
  std::string plan;
  int64_t steps = -1;
  int threads = 0;
  std::string log, save, weights, isa, digest, root, profile;
  int64_t profileSteps = 20;
  std::vector<std::string> set;
  std::vector<std::string> setState; ///< NAME=VALUE@STEP
  bool poison = false, resume = false, megatron = false;
  std::string version;           ///< of this program
  double collectiveTimeout = 60; ///< seconds
  bool alone = false;            ///< whatever a launcher says
};

/// Plan, settings and executor; where files are; weights in and out.
class Session {
public:
  static StatusOr<std::unique_ptr<Session>> open(const RunOptions &options);

  Executor &executor() { return *theExecutor; }
  Profile *profile() { return theProfile.get(); } ///< null without --profile
  const nlohmann::json &spec() const { return *theSpec; }
  const RunOptions &options() const { return theOptions; }
  const std::string &planHash() const { return hash; }
  /// manifest["compiler"], or empty.
  std::string compiler() const;

  /// A setting as an integer, number or text; the fallback when it is absent, null or of another
  /// type.
  int64_t integer(const std::string &path, int64_t fallback = 0) const;
  double number(const std::string &path, double fallback = 0) const;
  std::string text(const std::string &path) const;
  bool boolean(const std::string &path, bool fallback) const;

  /// Paths that the plan holds: inputs start at --root or the plan's folder, outputs at the plan's
  /// folder.
  std::string inputPath(const std::string &path) const;
  std::string outputPath(const std::string &path) const;

  /// Files that the plan names (manifest["files"]) and that the settings still name have the size
  /// and hash that they had when the plan was compiled. Code Input. `weights`: those of init.from
  /// too.
  Status checkFiles(bool weights) const;
  StatusOr<DataConfig> dataConfig() const;
  /// What takes training steps: this plan's one rank, or all of them.
  StatusOr<std::unique_ptr<WindowStep>> openStep(const DataConfig &config);
  /// Whether a launcher started this process as another rank than 0.
  bool isFollower() const { return launch && launch->rank != 0; }
  bool isLaunched() const { return launch.has_value(); }
  /// This process's rank among those of the launcher.
  StatusOr<std::unique_ptr<class Ranks>> joinRanks(const DataConfig &config);

  /// For training: --weights (a Hugging Face folder, or the parameters of a checkpoint), or
  /// init.from, or initial values. Optimizer state and counters start at their initial values in
  /// each case.
  Status startWeights();
  /// For everything else: --weights, or checkpoint.dir/final.
  Status finalWeights();
  /// Lines that the loaded folder gave (ignored tensors and the like).
  const std::vector<std::string> &notes() const { return theNotes; }

  /// Where the weights go at the end: --save and checkpoint.dir/final.
  std::vector<std::string> saveFolders() const;
  /// Asks now whether they can be made then. Code Input.
  Status checkSaveFolders() const;
  /// Writes them all. `trained`: whether an update was applied; weights as they were loaded keep
  /// the element types of their file. Code Damaged.
  Status save(bool trained);

private:
  Session() = default;
  /// Initial values of all variables, or of all but parameters.
  void initialise(bool parameters);
  Status load(const std::string &folder);
  Status loadParameters(const std::string &folder);
  Status loadCheckpoint(const std::string &folder);

  ExecutorOptions rankOptions() const;

  RunOptions theOptions;
  std::optional<LaunchEnvironment> launch; ///< more processes than one
  std::string folder, hash;
  JsonValue theSpec;
  std::unique_ptr<Profile> theProfile;
  std::unique_ptr<Executor> theExecutor;
  std::optional<WeightSource> source;
  std::vector<std::string> theNotes;
};

} // namespace dsc

#endif // DSC_RUNTIME_CORE_SESSION_H
