//===- Session.cpp - a plan file, opened for one run -----------------------===//
#include "dsc/Runtime/Core/Session.h"
#include "CheckpointIdentity.h"
#include "dsc/Runtime/Checkpoint/Checkpoint.h"
#include "dsc/Runtime/Checkpoint/Initializer.h"
#include "dsc/Runtime/Core/Interrupt.h"
#include "dsc/Runtime/Core/Ranks.h"
#include "dsc/Runtime/Core/Settings.h"
#include "dsc/Runtime/Core/WorkingCopies.h"
#include "dsc/Runtime/Data/TokenFile.h"
#include "dsc/Support/File.h"
#include "dsc/Support/Hash.h"
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

using namespace dsc;
using namespace dsc::plan;
using nlohmann::json;

static std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

StatusOr<std::unique_ptr<Session>> Session::open(const RunOptions &options) {
  std::unique_ptr<Session> session(new Session);
  Session &s = *session;
  s.theOptions = options;
  s.folder = folderOf(options.plan);
  if (!options.alone)
    s.launch = findLaunchEnvironment();
  if (s.launch && s.launch->size == 1)
    s.launch.reset();
  auto file = MappedFile::open(options.plan);
  if (!file.ok())
    return file.status();
  auto plan = deserialize(file->bytes());
  if (!plan.ok())
    return Status(plan.status().code(), options.plan + ": " + plan.status().message());
  s.hash = plan::planHash(file->bytes());
  if (Status status = applySettings(*plan, options.set); !status.ok())
    return status;
  // All processes see this alike: the first one says it.
  if (s.launch && s.launch->size != plan->layout.ranks() && s.launch->rank != 0)
    return Status(ErrorCode::Usage, "");
  if (s.launch && s.launch->size != plan->layout.ranks())
    return Status(ErrorCode::Usage, "the plan is for " + std::to_string(plan->layout.ranks()) +
                                        (plan->layout.ranks() == 1 ? " rank, " : " ranks, ") +
                                        s.launch->launcher + " started " +
                                        std::to_string(s.launch->size) + " processes");
  s.theSpec = (*plan->manifest)["spec"];
  if (s.launch)
    tellOperationsAtTermination();
  ExecutorOptions executorOptions;
  executorOptions.isa = options.isa;
  executorOptions.threads = options.threads;
  if (s.launch && !options.threads && s.launch->localSize > 0)
    executorOptions.threads = std::max(1, availableCores() / s.launch->localSize);
  executorOptions.poison = options.poison;
  auto executor = Executor::create(std::move(*plan), executorOptions);
  if (!executor.ok())
    return executor.status();
  s.theExecutor = std::move(*executor);
  if (!options.profile.empty()) {
    auto profile = Profile::open(options.profile, options.profileSteps);
    if (!profile.ok())
      return profile.status();
    s.theProfile = std::move(*profile);
    s.theProfile->prepare(s.theExecutor->plan(), s.theExecutor->threads());
    s.theExecutor->profileWith(s.theProfile.get());
  }
  return session;
}

std::string Session::compiler() const {
  const json *version = findSetting(*theExecutor->plan().manifest, "compiler");
  return version && version->is_string() ? version->get<std::string>() : "";
}

int64_t Session::integer(const std::string &path, int64_t fallback) const {
  const json *value = findSetting(*theSpec, path);
  return value && value->is_number_integer() ? value->get<int64_t>() : fallback;
}

double Session::number(const std::string &path, double fallback) const {
  const json *value = findSetting(*theSpec, path);
  return value && value->is_number() ? value->get<double>() : fallback;
}

std::string Session::text(const std::string &path) const {
  const json *value = findSetting(*theSpec, path);
  return value && value->is_string() ? value->get<std::string>() : "";
}

bool Session::boolean(const std::string &path, bool fallback) const {
  const json *value = findSetting(*theSpec, path);
  return value && value->is_boolean() ? value->get<bool>() : fallback;
}

std::string Session::inputPath(const std::string &path) const {
  return joinPath(theOptions.root.empty() ? folder : theOptions.root, path);
}

std::string Session::outputPath(const std::string &path) const { return joinPath(folder, path); }

StatusOr<DataConfig> Session::dataConfig() const {
  return DataConfig::fromResolved(*theSpec, theOptions.root.empty() ? folder : theOptions.root);
}

StatusOr<std::unique_ptr<WindowStep>> Session::openStep(const DataConfig &config) {
  if (theExecutor->plan().layout.ranks() == 1) {
    auto step = TrainingStep::open(*theExecutor, config);
    if (!step.ok())
      return step.status();
    return std::unique_ptr<WindowStep>(std::make_unique<TrainingStep>(std::move(*step)));
  }
  auto ranks = launch ? joinRanks(config)
                      : Ranks::createLocal(*theExecutor, config, rankOptions(),
                                           theOptions.collectiveTimeout);
  if (!ranks.ok())
    return ranks.status();
  return std::unique_ptr<WindowStep>(std::move(*ranks));
}

ExecutorOptions Session::rankOptions() const {
  ExecutorOptions options;
  options.isa = theOptions.isa;
  options.poison = theOptions.poison;
  return options;
}

StatusOr<std::unique_ptr<Ranks>> Session::joinRanks(const DataConfig &config) {
  CommunicatorOptions options;
  options.timeoutSeconds = theOptions.collectiveTimeout;
  auto world = joinWorld(*launch, options);
  if (!world.ok())
    return world.status();
  return Ranks::join(*theExecutor, config, rankOptions(), std::move(*world), hash);
}

//===----------------------------------------------------------------------===//
// Files of the plan
//===----------------------------------------------------------------------===//

static DataFormat formatNamed(const std::string &name) {
  return name == "text"       ? DataFormat::Text
         : name == "megatron" ? DataFormat::Megatron
         : name == "uint16"   ? DataFormat::Uint16
                              : DataFormat::Replay;
}

static void collectStrings(const json &value, std::set<std::string> &out) {
  if (value.is_string())
    out.insert(value.get<std::string>());
  else if (value.is_structured())
    for (const json &element : value)
      collectStrings(element, out);
}

Status Session::checkFiles(bool weights) const {
  const json *files = findSetting(*theExecutor->plan().manifest, "files");
  if (!files)
    return {};
  std::set<std::string> named; // --set may have put others in their place
  if (const json *data = findSetting(*theSpec, "data"))
    collectStrings(*data, named);
  std::string from = text("init.from"), errors;
  for (const json &file : *files) {
    auto field = [&](const char *key) {
      const json *value = findSetting(file, key);
      return value && value->is_string() ? value->get<std::string>() : std::string();
    };
    const json *size = findSetting(file, "bytes");
    std::string path = field("path"), expected = field("xxh3");
    if (path.empty() || expected.empty() || !size || !size->is_number_unsigned())
      return damagedError("section 'manifest': an entry of files lacks path, bytes or xxh3");
    bool isWeights = !from.empty() && path.starts_with(from) && !named.count(path);
    if (isWeights ? !weights : !named.count(path))
      continue;
    auto identity = identifyDataFile(inputPath(path), formatNamed(field("format")));
    std::string problem;
    if (!identity.ok())
      problem = identity.status().message();
    else if (identity->bytes != size->get<uint64_t>())
      problem = inputPath(path) + " has " + std::to_string(identity->bytes) +
                " bytes, when the plan was compiled it had " + size->dump();
    else if (hex64(identity->hash) != expected)
      problem = inputPath(path) +
                " has the size but not the contents that it had when the plan "
                "was compiled (hash " +
                hex64(identity->hash) + ", expected " + expected + ")";
    if (!problem.empty())
      errors += (errors.empty() ? "" : "\n") + problem;
  }
  if (errors.empty())
    return {};
  return inputError(errors + "\ncompile the spec again, or name the right folder with --root=DIR");
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

namespace {

struct Fill {
  uint64_t seed;
  const Variable *variable;
  std::byte *data;
  int64_t elements, workers;
};

} // namespace

static int64_t elementsOf(const Variable &variable) {
  int64_t elements = 1;
  for (int64_t dimension : variable.shape)
    elements *= dimension;
  return elements;
}

static double constantOf(const Variable &variable) {
  return variable.initializer == Init::Constant ? variable.value : 1;
}

/// Elements of one worker. Each depends on nothing but its index, so the number of workers does not
/// matter.
static void fill(void *context, int worker) {
  const Fill &f = *static_cast<Fill *>(context);
  const Variable &v = *f.variable;
  int64_t begin = f.elements / f.workers * worker + f.elements % f.workers * worker / f.workers;
  int64_t end =
      f.elements / f.workers * (worker + 1) + f.elements % f.workers * (worker + 1) / f.workers;
  if (v.initializer == Init::Zeros) {
    auto size = byteSize(v.dtype);
    std::memset(f.data + begin * size, 0, static_cast<size_t>((end - begin) * size));
  } else if (v.dtype == DType::F32) {
    auto *out = reinterpret_cast<float *>(f.data);
    if (v.initializer == Init::Normal)
      fillNormal(f.seed, v.name, v.stddev, begin, end - begin, out + begin);
    else
      std::fill(out + begin, out + end, static_cast<float>(constantOf(v)));
  } else {
    auto *out = reinterpret_cast<double *>(f.data);
    if (v.initializer == Init::Normal)
      fillNormal(f.seed, v.name, v.stddev, begin, end - begin, out + begin);
    else
      std::fill(out + begin, out + end, constantOf(v));
  }
}

void Session::initialise(bool parameters) {
  const json *value = findSetting(*theSpec, "init.seed");
  uint64_t seed = value && value->is_number_integer() ? value->get<uint64_t>() : 1234;
  const auto &variables = theExecutor->plan().variables;
  for (size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].role == Kind::Cache || (variables[i].role == Kind::Parameter && !parameters))
      continue;
    Fill job{seed, &variables[i], theExecutor->variable(i), elementsOf(variables[i]),
             theExecutor->threads()};
    theExecutor->workers().run(fill, &job);
  }
}

static SafeType safeType(DType type) { return type == DType::F64 ? SafeType::F64 : SafeType::F32; }

/// The parameters of a checkpoint; all that do not fit are named in one error.
Status Session::loadCheckpoint(const std::string &path) {
  auto info = readManifest(path);
  if (!info.ok())
    return info.status();
  std::map<std::string_view, size_t> places;
  for (size_t i = 0; i < info->tensors.size(); ++i)
    places.emplace(info->tensors[i].name, i);
  std::vector<std::byte *> data(info->tensors.size(), nullptr); // null: not wanted
  std::string errors;
  std::vector<size_t> indices;
  std::vector<StateTensor> state = stateOf(theExecutor->plan(), indices);
  for (size_t i = 0; i < state.size(); ++i) {
    if (theExecutor->plan().variables[indices[i]].role != Kind::Parameter)
      continue;
    auto place = places.find(state[i].name);
    if (place == places.end())
      errors += "\n  '" + state[i].name + "' is not in it";
    else if (info->tensors[place->second] != state[i])
      errors += "\n  '" + state[i].name + "' has another shape or type in it";
    else
      data[place->second] = theExecutor->variable(indices[i]);
  }
  if (!errors.empty())
    return inputError("the weights of checkpoint '" + path + "' do not fit the plan:" + errors);
  return readState(path, *info, data);
}

Status Session::load(const std::string &path) {
  Status status = loadParameters(path);
  refreshWorkingCopies(*theExecutor);
  return status;
}

Status Session::loadParameters(const std::string &path) {
  initialise(/*parameters=*/false);
  if (std::filesystem::exists(path + "/manifest.json"))
    return loadCheckpoint(path);
  std::vector<WeightBuffer> buffers;
  const auto &variables = theExecutor->plan().variables;
  for (size_t i = 0; i < variables.size(); ++i)
    if (variables[i].role == Kind::Parameter)
      buffers.push_back({variables[i].name, variables[i].shape, safeType(variables[i].dtype),
                         theExecutor->variable(i)});
  auto loaded = loadHuggingFace(path, buffers, findSetting(*theSpec, "model"));
  if (!loaded.ok())
    return loaded.status();
  source = std::move(*loaded);
  theNotes = source->notes;
  return {};
}

Status Session::startWeights() {
  if (!theOptions.weights.empty())
    return load(theOptions.weights);
  if (std::string from = text("init.from"); !from.empty())
    return load(inputPath(from));
  initialise(/*parameters=*/true);
  refreshWorkingCopies(*theExecutor);
  return {};
}

Status Session::finalWeights() {
  if (!theOptions.weights.empty())
    return load(theOptions.weights);
  std::string dir = text("checkpoint.dir");
  if (dir.empty())
    return inputError("which weights? the plan has no checkpoint.dir: name a folder with "
                      "--weights=DIR");
  Status status = load(outputPath(dir) + "/final");
  if (!status.ok())
    return Status(status.code(),
                  status.message() + "\ntrain first, or name another folder with --weights=DIR");
  return {};
}

std::vector<std::string> Session::saveFolders() const {
  std::vector<std::string> folders;
  if (!theOptions.save.empty())
    folders.push_back(theOptions.save);
  if (std::string dir = text("checkpoint.dir"); !dir.empty())
    folders.push_back(outputPath(dir) + "/final");
  return folders;
}

Status Session::checkSaveFolders() const {
  for (const std::string &folder : saveFolders()) {
    // A folder is made beside its place and renamed.
    std::string parent = std::filesystem::path(folder).lexically_normal().parent_path().string();
    std::error_code ignored;
    Status status = checkWritable(parent.empty() ? "." : parent);
    if (status.ok() && std::filesystem::exists(folder, ignored) &&
        !std::filesystem::is_directory(folder, ignored))
      status = inputError("'" + folder + "' is there and no folder");
    if (!status.ok())
      return inputError("the final weights could not be saved: " + status.message());
  }
  return {};
}

Status Session::save(bool trained) {
  std::vector<ConstWeightBuffer> buffers;
  const auto &variables = theExecutor->plan().variables;
  for (size_t i = 0; i < variables.size(); ++i)
    if (variables[i].role == Kind::Parameter)
      buffers.push_back({variables[i].name, variables[i].shape, safeType(variables[i].dtype),
                         theExecutor->variable(i)});
  SaveOptions options;
  options.source = source ? &*source : nullptr;
  if (options.source && !trained)
    options.type = std::nullopt;
  const json *config = findSetting(*theSpec, "model");
  for (const std::string &path : saveFolders())
    if (Status status = saveHuggingFace(path, config ? *config : json::object(), buffers, options);
        !status.ok())
      return status;
  return {};
}
