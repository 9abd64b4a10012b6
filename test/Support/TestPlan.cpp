//===- TestPlan.cpp - a small real plan, made without the compiler ---------===//
#include "TestPlan.h"
#include "dsc/Runtime/Data/Npy.h"
#include "dsc/Support/File.h"
#include <cstdio>
#include <cstdlib>
#include <filesystem>

using namespace dsc;
using namespace dsc::plan;

/// Where things are in the arena. Transient buffers of different programs share bytes.
static constexpr uint64_t weightAt = 0, updatesAt = 256, rateAt = 320, tokensAt = 384,
                          labelsAt = 448, lossAt = 512, countAt = 576, normAt = 640,
                          usedRateAt = 704, rowsAt = 768, gradientAt = 896, logitsAt = 448,
                          arenaEnd = 1152;

namespace {

/// Adds buffers, and instructions by the names of their buffers; a name that starts with ! is an
/// Output's.
class Builder {
public:
  Builder(Plan &plan, const std::string &name) : plan(plan), program(plan.programs.emplace_back()) {
    program.name = name;
  }

  void buffer(const std::string &name, Kind kind, DType dtype, std::vector<int64_t> shape,
              uint64_t offset, uint32_t first = 0, uint32_t last = 0) {
    uint64_t bytes = static_cast<uint64_t>(byteSize(dtype));
    for (int64_t dimension : shape)
      bytes *= static_cast<uint64_t>(dimension);
    program.buffers.push_back({name, kind, dtype, shape, offset, bytes, first, last});
  }
  void launch(const std::string &kernel, const std::vector<std::string> &operands) {
    Instruction instruction{Opcode::Launch, 0, {}, {}};
    while (plan.kernels[instruction.kernel].name != kernel)
      ++instruction.kernel;
    add(instruction, operands, "bigram: " + kernel);
  }
  void add(Instruction instruction, const std::vector<std::string> &operands,
           const std::string &label) {
    instruction.label = label;
    for (const std::string &name : operands) {
      bool output = name[0] == '!';
      int64_t index = findBuffer(program, name.substr(output), output);
      instruction.operands.push_back({static_cast<uint32_t>(index), 0});
    }
    program.instructions.push_back(instruction);
  }

private:
  Plan &plan;
  Program &program;
};

} // namespace

using test::batch, test::length, test::vocabulary;

static void addTraining(Plan &plan) {
  Builder b(plan, "train");
  b.buffer("wte.weight", Kind::Parameter, DType::F32, {vocabulary, vocabulary}, weightAt);
  b.buffer("updates", Kind::Counter, DType::F64, {}, updatesAt);
  b.buffer("train.optimizer.params.lr", Kind::Hyperparameter, DType::F64, {}, rateAt);
  b.buffer("tokens", Kind::Input, DType::I32, {batch, length}, tokensAt, 0, 3);
  b.buffer("labels", Kind::Input, DType::I32, {batch, length}, labelsAt, 0, 3);
  b.buffer("loss", Kind::Output, DType::F64, {}, lossAt, 2, 8);
  b.buffer("tokens", Kind::Output, DType::F64, {}, countAt, 2, 8);
  b.buffer("grad_norm", Kind::Output, DType::F64, {}, normAt, 4, 8);
  b.buffer("learning_rate", Kind::Output, DType::F64, {}, usedRateAt, 0, 8);
  b.buffer("rows", Kind::Activation, DType::F64, {batch * length}, rowsAt, 1, 2);
  b.buffer("grad:wte.weight", Kind::Gradient, DType::F32, {vocabulary, vocabulary}, gradientAt, 3,
           6);
  b.launch("rate", {"train.optimizer.params.lr", "!learning_rate"});
  b.launch("row_losses", {"wte.weight", "tokens", "labels", "rows"});
  b.launch("mean_loss", {"rows", "labels", "!loss", "!tokens"});
  b.launch("gradient", {"wte.weight", "tokens", "labels", "!tokens", "grad:wte.weight"});
  b.launch("norm", {"grad:wte.weight", "!grad_norm"});
  b.add({Opcode::Guard, 0, {}, {}}, {"!tokens", "!loss", "!grad_norm"}, "guard");
  b.launch("update", {"grad:wte.weight", "!learning_rate", "wte.weight"});
  b.launch("increment", {"updates"});
}

static void addEvaluation(Plan &plan) {
  Builder b(plan, "evaluate");
  b.buffer("wte.weight", Kind::Parameter, DType::F32, {vocabulary, vocabulary}, weightAt);
  b.buffer("tokens", Kind::Input, DType::I32, {batch, length}, tokensAt, 0, 1);
  b.buffer("labels", Kind::Input, DType::I32, {batch, length}, labelsAt, 0, 1);
  b.buffer("loss", Kind::Output, DType::F64, {}, lossAt, 1, 2);
  b.buffer("tokens", Kind::Output, DType::F64, {}, countAt, 1, 2);
  b.buffer("rows", Kind::Activation, DType::F64, {batch * length}, rowsAt, 0, 1);
  b.launch("row_losses", {"wte.weight", "tokens", "labels", "rows"});
  b.launch("mean_loss", {"rows", "labels", "!loss", "!tokens"});
}

static void addLogits(Plan &plan) {
  Builder b(plan, "logits");
  b.buffer("wte.weight", Kind::Parameter, DType::F32, {vocabulary, vocabulary}, weightAt);
  b.buffer("tokens", Kind::Input, DType::I32, {1, length}, tokensAt, 0, 1);
  b.buffer("copy", Kind::Activation, DType::I32, {1, length}, rowsAt, 0, 1);
  b.buffer("logits", Kind::Output, DType::F32, {1, length, vocabulary}, logitsAt, 1, 2);
  b.add({Opcode::Copy, 0, {}, {}}, {"tokens", "copy"}, "copy");
  b.launch("lookup", {"wte.weight", "copy", "!logits"});
}

static std::string readAll(const std::string &path) {
  auto text = readFile(path);
  if (!text.ok()) {
    std::fprintf(stderr, "%s\n", text.status().message().c_str());
    std::abort();
  }
  return *text;
}

Plan test::testPlan(bool labels) {
  constexpr uint64_t positions = batch * length, square = vocabulary * vocabulary * 4;
  Plan plan;
  nlohmann::json train = {{"path", "tokens.npy"}, {"format", "replay"}};
  if (labels)
    train["labels"] = "labels.npy";
  *plan.manifest = {
      {"compiler", "test"},
      {"spec",
       {{"model", {{"vocab_size", vocabulary}, {"n_positions", length}, {"n_embd", vocabulary}}},
        {"init", {{"seed", 7}, {"from", nullptr}}},
        {"data", {{"train", {train}}, {"seq_length", length}, {"seed", 1}}},
        {"train",
         {{"train_batch_size", batch},
          {"steps", 5},
          {"optimizer", {{"type", "SGD"}, {"params", {{"lr", 0.5}}}}}}},
        {"evaluation", {{"every", 0}, {"batches", 0}}},
        {"checkpoint", {{"dir", "checkpoints"}}},
        {"log", {{"dir", nullptr}, {"every", 1}}}}}};
  plan.variables = {
      {"wte.weight", Kind::Parameter, DType::F32, {vocabulary, vocabulary}, Init::Normal, 0.1},
      {"updates", Kind::Counter, DType::F64, {}}};
  plan.scalars = {{"train.optimizer.params.lr", 0.5, rateAt}};
  OperandUse weight{DType::F32}, tokenIds{DType::I32, true, false, "tokens"},
      labelIds{DType::I32, true, false, "labels"}, scalar{DType::F64},
      newScalar{DType::F64, false, true}, newWeight{DType::F32, false, true};
  plan.kernels = {
      {"row_losses",
       {square, positions * 4, positions * 4, positions * 8},
       12,
       64,
       {weight, tokenIds, labelIds, newScalar}},
      {"mean_loss",
       {positions * 8, positions * 4, 8, 8},
       1,
       0,
       {scalar, labelIds, newScalar, newScalar}},
      {"gradient",
       {square, positions * 4, positions * 4, 8, square},
       vocabulary,
       0,
       {weight, tokenIds, labelIds, scalar, newWeight}},
      {"norm", {square, 8}, 1, 0, {weight, newScalar}},
      {"rate", {8, 8}, 1, 0, {scalar, newScalar}},
      {"update", {square, 8, square}, vocabulary, 0, {weight, scalar, {DType::F32, true, true}}},
      {"increment", {8}, 1, 0, {{DType::F64, true, true}}},
      {"lookup",
       {square, length * 4, length * vocabulary * 4},
       length,
       0,
       {weight, tokenIds, newWeight}},
      {"unused", {}}};
  plan.workspaceBytes = 64;
  plan.arenaBytes = arenaEnd;
  addTraining(plan);
  addEvaluation(plan);
  addLogits(plan);
  plan.images = {{"x86-64", {"sse2"}, readAll(DSC_TEST_KERNELS)}};
  plan.debug = "plan of the tests\n";
  return plan;
}

void test::writeTestPlan(const std::string &folder, int64_t steps, Plan plan,
                         const std::vector<int32_t> &labels) {
  std::vector<int32_t> tokens(static_cast<size_t>(steps * batch * (length + 1)));
  for (size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<int32_t>((i * i + i / 3) % vocabulary);
  std::string errors;
  auto check = [&](const Status &status) { errors += status.message(); };
  check(
      writeNpy(folder + "/tokens.npy", NpyType::Int32, {steps, batch, length + 1}, tokens.data()));
  if (!labels.empty())
    check(writeNpy(folder + "/labels.npy", NpyType::Int32, {steps, batch, length}, labels.data()));
  check(writeFileAtomically(folder + "/plan.bin", serialize(plan)));
  if (!errors.empty()) {
    std::fprintf(stderr, "%s\n", errors.c_str());
    std::abort();
  }
}

namespace {

struct Folder {
  std::string path;
  Folder() {
    path = std::filesystem::temp_directory_path() / "dsc-test-XXXXXX";
    if (!mkdtemp(path.data()))
      std::abort();
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

} // namespace

std::string test::temporaryFolder() {
  static Folder root;
  static int count = 0;
  std::string path = root.path + "/" + std::to_string(count++);
  std::filesystem::create_directory(path);
  return path;
}
