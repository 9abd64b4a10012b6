//===- Executor.cpp - a verified plan, ready to run ------------------------===//
#include "dsc/Runtime/Core/Executor.h"
#include "dsc/Runtime/Core/Profile.h"
#include "dsc/Support/Fault.h"
#include "dsc/Support/HalfFloat.h"
#include "dsc/Support/Numbers.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

using namespace dsc;
using namespace dsc::plan;

/// Every byte 0xff is a quiet NaN in each floating-point type, -1 as an integer.
static constexpr int poisonByte = 0xff;

/// A copy below this size is not worth waking threads.
static constexpr uint64_t parallelCopy = 1 << 18;

StatusOr<std::unique_ptr<Executor>> Executor::create(Plan plan, const ExecutorOptions &options) {
  std::unique_ptr<Executor> executor(new Executor);
  Executor &e = *executor;
  if (options.sharing) {
    e.library = options.sharing->library;
    e.isaName = options.sharing->isaName;
  } else if (!plan.images.empty() || !options.isa.empty()) {
    auto image = chooseImage(plan.images, options.features, options.isa);
    if (!image.ok())
      return image.status();
    auto library = KernelLibrary::load(plan.images[*image], plan.kernels);
    if (!library.ok())
      return library.status();
    e.library = std::make_shared<KernelLibrary>(std::move(*library));
    e.isaName = plan.images[*image].isa;
  }
  for (KernelImage &image : plan.images)
    image.elf = std::string();
  plan.debug = std::string();

  int threads = options.threads ? options.threads : availableCores();
  constexpr uint64_t page = 4096; // apart, so that threads share no line and no page
  auto pages = [](uint64_t bytes) { return (bytes + page - 1) / page * page; };
  e.workspaceStride = pages(plan.workspaceBytes);
  uint64_t workspace = e.workspaceStride * static_cast<uint64_t>(threads);
  if (e.workspaceStride && workspace / e.workspaceStride != static_cast<uint64_t>(threads))
    return Status(ErrorCode::Memory, "workspace of " + std::to_string(threads) + " threads times " +
                                         printBytes(plan.workspaceBytes) + " does not fit");
  uint64_t total = pages(plan.arenaBytes) + workspace;
  auto arena =
      Arena::create(total, "arena " + printBytes(plan.arenaBytes) + ", workspace of " +
                               std::to_string(threads) + " threads " + printBytes(workspace));
  if (!arena.ok())
    return arena.status();
  e.arena = std::move(*arena);
  e.workspaces = e.arena.data() + pages(plan.arenaBytes);
  auto pool = ThreadPool::create(threads);
  if (!pool.ok())
    return pool.status();
  e.pool = std::move(*pool);
  e.poison = options.poison;
  if (e.poison)
    std::memset(e.arena.data(), poisonByte, total);

  e.thePlan = std::move(plan);
  if ((e.communicator = options.communicator))
    e.coordinates = e.thePlan.layout.coordinates(e.communicator->rank());
  e.bound.resize(e.thePlan.programs.size());
  for (size_t p = 0; p < e.bound.size(); ++p)
    e.bind(e.thePlan.programs[p], e.bound[p], options.aloneBytes);
  for (const Variable &variable : e.thePlan.variables)
    for (const Program &program : e.thePlan.programs)
      if (int64_t b = findBuffer(program, variable.name); b >= 0) {
        const Buffer &buffer = program.buffers[static_cast<size_t>(b)];
        e.variableOffsets.push_back(buffer.offset);
        if (variable.role == Kind::StepState)
          e.stepState.emplace_back(e.data(buffer), std::vector<std::byte>(buffer.bytes));
        break;
      }
  e.storeScalars();
  return executor;
}

/// The elements of a buffer's tensor that this rank has along `axis`.
Share Executor::shareOf(const Buffer &buffer, Axis axis) const {
  uint64_t elements = 1;
  for (int64_t dimension : buffer.shape)
    elements *= static_cast<uint64_t>(dimension);
  return dsc::shareOf(elements, shareBlock, static_cast<uint64_t>(coordinates.on(axis)),
                      static_cast<uint64_t>(thePlan.layout.size(axis)));
}

/// Where an operand lies for the micro-batch with this place. Of a buffer that is shared out the
/// address is that of element 0 of the logical tensor, so that a kernel finds element i at i.
std::byte *Executor::address(const Buffer &buffer, uint64_t offset, int64_t place) const {
  std::byte *at = data(buffer) + offset;
  if (buffer.places > 1)
    at += strideOf(buffer) * static_cast<uint64_t>(place % buffer.places);
  if (buffer.share != Axis::None)
    at -= shareOf(buffer, buffer.share).begin * static_cast<uint64_t>(byteSize(buffer.dtype));
  return at;
}

/// With an axis this rank's share of the elements is copied.
void Executor::bindCopy(const Program &program, const Instruction &instruction, Bound &out,
                        size_t operands, Step &step) const {
  const Operand &from = instruction.operands[0];
  const Buffer &source = program.buffers[from.buffer];
  step.bytes = source.bytes - from.offset;
  if (instruction.axis == Axis::None)
    return;
  Share share = shareOf(source, instruction.axis);
  uint64_t size = static_cast<uint64_t>(byteSize(source.dtype));
  step.bytes = share.size() * size;
  for (size_t place = 0; place < out.places; ++place)
    for (size_t k = 0; k < 2; ++k) {
      void *&operand = out.operands[place * out.stride + operands + k];
      operand = static_cast<std::byte *>(operand) + share.begin * size;
    }
}

static const char *describeKind(Opcode opcode) {
  switch (opcode) {
  case Opcode::AllReduce:
    return "all-reduce";
  case Opcode::ReduceScatter:
    return "reduce-scatter";
  case Opcode::AllGather:
    return "all-gather";
  case Opcode::Send:
    return "send";
  default:
    return "receive";
  }
}

/// The first instruction that touches `buffer`.
static uint32_t firstUse(const Program &program, uint32_t buffer) {
  uint32_t index = 0;
  for (const Instruction &instruction : program.instructions) {
    for (const Operand &operand : instruction.operands)
      if (operand.buffer == buffer)
        return index;
    ++index;
  }
  return index;
}

void Executor::bindExchange(const Program &program, const Instruction &instruction, Bound &out,
                            Step &step) const {
  Exchange exchange;
  uint32_t id = static_cast<uint32_t>(&instruction - program.instructions.data());
  if (instruction.axis == Axis::Pipeline) // programs differ from stage to stage
    id = Operation::noId;
  exchange.operation = {describeKind(instruction.opcode), id, instruction.label};
  exchange.block = instruction.block;
  exchange.tag = instruction.channel;
  int64_t rank = communicator ? communicator->rank() : 0;
  if (instruction.opcode == Opcode::Send || instruction.opcode == Opcode::Receive)
    exchange.peer = static_cast<int>(thePlan.layout.onStage(instruction.stage, rank));
  else
    exchange.group = thePlan.layout.group(instruction.axis, rank);
  for (const Operand &operand : instruction.operands) {
    const Buffer &buffer = program.buffers[operand.buffer];
    exchange.tensors.push_back(
        {nullptr, buffer.bytes / static_cast<uint64_t>(byteSize(buffer.dtype)), buffer.dtype});
    step.bytes = buffer.bytes;
  }
  exchange.sends.resize(out.places);
  step.exchange = out.exchanges.size();
  if (instruction.opcode == Opcode::Send)
    out.overwrites.emplace_back(firstUse(program, instruction.operands[0].buffer), step.exchange);
  out.exchanges.push_back(std::move(exchange));
}

void Executor::bind(const Program &program, Bound &out, uint64_t aloneBytes) const {
  for (const Instruction &instruction : program.instructions)
    out.stride += instruction.operands.size();
  for (const Buffer &buffer : program.buffers)
    out.places = std::max<size_t>(out.places, buffer.places);
  out.operands.reserve(out.stride * out.places); // steps point into it
  for (size_t place = 0; place < out.places; ++place)
    for (const Instruction &instruction : program.instructions)
      for (const Operand &operand : instruction.operands)
        out.operands.push_back(
            address(program.buffers[operand.buffer], operand.offset, static_cast<int64_t>(place)));
  size_t operands = 0;
  for (const Instruction &instruction : program.instructions) {
    Step step{instruction.opcode};
    step.operands = out.operands.data() + operands;
    if (instruction.opcode == Opcode::Launch) {
      const Kernel &kernel = thePlan.kernels[instruction.kernel];
      step.function = library->kernel(instruction.kernel);
      step.items = static_cast<int64_t>(kernel.items);
      step.bytes = kernel.workspace;
      uint64_t bytes = 0;
      for (uint64_t operand : kernel.operands)
        bytes += operand;
      step.alone = kernel.items == 1 || bytes <= aloneBytes;
      int64_t ranks = thePlan.layout.size(instruction.axis), at = coordinates.on(instruction.axis);
      step.begin = step.items * at / ranks;
      step.items = step.items * (at + 1) / ranks - step.begin;
    } else if (instruction.opcode == Opcode::Guard) {
      step.skips = instruction.operands.size() == 5;
    } else if (instruction.opcode == Opcode::Copy) {
      bindCopy(program, instruction, out, operands, step);
    } else {
      bindExchange(program, instruction, out, step);
    }
    operands += instruction.operands.size();
    out.steps.push_back(step);
  }
  for (size_t b = 0; b < program.buffers.size(); ++b)
    if (Kind kind = program.buffers[b].kind; !isPersistent(kind) && kind != Kind::Input)
      out.poison.emplace_back(program.buffers[b].first, b);
  std::sort(out.poison.begin(), out.poison.end());
  std::sort(out.overwrites.begin(), out.overwrites.end());
}

void Executor::storeScalars() {
  for (const Scalar &scalar : thePlan.scalars)
    std::memcpy(arena.data() + scalar.offset, &scalar.value, sizeof scalar.value);
}

void Executor::setScalar(std::string_view path, double value) {
  for (Scalar &scalar : thePlan.scalars)
    if (scalar.path == path)
      scalar.value = value;
  storeScalars();
}

StatusOr<size_t> Executor::program(std::string_view name) const {
  int64_t index = findProgram(thePlan, name);
  if (index >= 0)
    return static_cast<size_t>(index);
  std::string known;
  for (const Program &program : thePlan.programs)
    known += " " + program.name;
  return damagedError("the plan has no program '" + std::string(name) + "'; it has:" + known);
}

StatusOr<const Buffer *> Executor::find(size_t program, std::string_view name, Kind kind,
                                        DType dtype) const {
  const Program &in = thePlan.programs[program];
  int64_t index = findBuffer(in, name, kind == Kind::Output);
  if (index >= 0) {
    const Buffer &buffer = in.buffers[static_cast<size_t>(index)];
    if (buffer.kind == kind && buffer.dtype == dtype)
      return &buffer;
  }
  return damagedError("program '" + in.name + "' has no " + nameOf(kind) + " '" +
                      std::string(name) + "' of type " + nameOf(dtype));
}

//===----------------------------------------------------------------------===//
// A step
//===----------------------------------------------------------------------===//

struct Executor::Work {
  const Step *step;
  std::byte *workspaces;
  uint64_t stride;
  int64_t workers;
  bool poison;
  Profile *profile;
  uint32_t program, instruction;
};

/// The time that a worker spends on its share; nothing without a profile.
template <typename Work> struct Timed {
  const Work &work;
  int worker;
  uint64_t begin = work.profile ? Profile::now() : 0;
  ~Timed() {
    if (work.profile)
      work.profile->slice(worker, work.program, work.instruction, begin, Profile::now());
  }
};

void Executor::execute(const Step &step, size_t program, size_t instruction) {
  Work work{&step,
            workspaces,
            workspaceStride,
            pool->size(),
            poison,
            profile,
            static_cast<uint32_t>(program),
            static_cast<uint32_t>(instruction)};
  if (step.opcode == Opcode::Copy) {
    if (step.bytes < parallelCopy) {
      Timed<Work> timed{work, 0};
      std::memcpy(step.operands[1], step.operands[0], step.bytes);
      return;
    }
    pool->run(
        [](void *context, int worker) {
          const Work &w = *static_cast<Work *>(context);
          constexpr int64_t line = 64;
          int64_t lines = (static_cast<int64_t>(w.step->bytes) + line - 1) / line;
          int64_t begin = lines * worker / w.workers * line;
          int64_t end = std::min<int64_t>(lines * (worker + 1) / w.workers * line,
                                          static_cast<int64_t>(w.step->bytes));
          Timed<Work> timed{w, worker};
          std::memcpy(static_cast<char *>(w.step->operands[1]) + begin,
                      static_cast<char *>(w.step->operands[0]) + begin,
                      static_cast<size_t>(end - begin));
        },
        &work);
    return;
  }
  auto launch = [](void *context, int worker) {
    const Work &w = *static_cast<Work *>(context);
    int64_t begin = w.step->begin + w.step->items * worker / w.workers;
    int64_t end = w.step->begin + w.step->items * (worker + 1) / w.workers;
    end -= DSC_FAULT(79, 0, worker > 0 && worker + 1 == w.workers ? 1 : 0);
    if (begin == end)
      return;
    Timed<Work> timed{w, worker};
    std::byte *workspace = w.workspaces + w.stride * static_cast<uint64_t>(worker);
    if (w.poison)
      std::memset(workspace, poisonByte, w.step->bytes);
    w.step->function(w.step->operands, begin, end, workspace);
  };
  if (step.alone) {
    work.workers = 1;
    launch(&work, 0);
    return;
  }
  pool->run(launch, &work);
}

void Executor::poisonBefore(size_t program, uint32_t instruction, size_t &next) {
  const Bound &b = bound[program];
  for (; next < b.poison.size() && b.poison[next].first <= instruction; ++next) {
    const Buffer &buffer = thePlan.programs[program].buffers[b.poison[next].second];
    std::memset(data(buffer), poisonByte, buffer.bytes);
  }
}

static double readScalar(const void *pointer) {
  double value;
  std::memcpy(&value, pointer, sizeof value);
  return value;
}

/// Waits until what was sent from this place before has been taken, as `instruction` is the first
/// to write there again.
Status Executor::finishOverwritten(size_t program, uint32_t instruction, size_t place,
                                   size_t &next) {
  Bound &b = bound[program];
  for (; next < b.overwrites.size() && b.overwrites[next].first <= instruction; ++next) {
    Exchange &x = b.exchanges[b.overwrites[next].second];
    if (!x.sends[place].pending())
      continue;
    communicator->enter(x.operation);
    Status status = communicator->wait(x.sends[place]);
    communicator->leave();
    if (!status.ok())
      return status;
  }
  return {};
}

/// A collective, or one side of a message.
Status Executor::exchange(const Step &step, size_t program, size_t place) {
  Exchange &x = bound[program].exchanges[step.exchange];
  if (step.opcode == Opcode::Send) {
    Communicator::Request &last = x.sends[place];
    communicator->enter(x.operation);
    auto request =
        communicator->send(x.peer, x.tag, static_cast<std::byte *>(step.operands[0]), step.bytes);
    communicator->leave();
    if (!request.ok())
      return request.status();
    last = *request;
    return {};
  }
  if (step.opcode == Opcode::Receive) {
    communicator->enter(x.operation);
    auto request = communicator->receive(x.peer, x.tag, static_cast<std::byte *>(step.operands[0]),
                                         step.bytes);
    Status status = request.ok() ? communicator->wait(*request) : request.status();
    communicator->leave();
    return status;
  }
  for (size_t i = 0; i < x.tensors.size(); ++i)
    x.tensors[i].data = static_cast<std::byte *>(step.operands[i]);
  if (step.opcode == Opcode::AllReduce)
    return allReduce(*communicator, x.group, x.operation, x.tensors, scratch);
  if (step.opcode == Opcode::ReduceScatter)
    return reduceScatter(*communicator, x.group, x.operation, x.tensors, scratch, x.block);
  return allGather(*communicator, x.group, x.operation, x.tensors, scratch, x.block);
}

Status Executor::finishSends() {
  for (Bound &b : bound)
    for (Exchange &x : b.exchanges)
      for (Communicator::Request &request : x.sends)
        if (request.pending()) {
          communicator->enter(x.operation);
          theFailure = communicator->wait(request);
          communicator->leave();
          if (!theFailure.ok())
            return theFailure;
        }
  return {};
}

Outcome Executor::run(size_t program, int64_t part) {
  Bound &b = bound[program];
  size_t place = static_cast<size_t>(part) % b.places;
  size_t poisoned = 0, overwritten = 0;
  bool announced = false;
  for (size_t i = 0; i < b.steps.size(); ++i) {
    Step step = b.steps[i];
    step.operands += b.stride * place;
    if (poison)
      poisonBefore(program, static_cast<uint32_t>(i), poisoned);
    theFailure = finishOverwritten(program, static_cast<uint32_t>(i), place, overwritten);
    if (!theFailure.ok())
      return Outcome::Failed;
    if (!isLocal(step.opcode)) {
      theFailure = exchange(step, program, place);
      if (!theFailure.ok())
        return Outcome::Failed;
      continue;
    }
    if (step.opcode != Opcode::Guard) {
      execute(step, program, i);
      continue;
    }
    if (profile) { // takes no time of its own, but has its place in the row
      uint64_t moment = Profile::now();
      profile->slice(0, static_cast<uint32_t>(program), static_cast<uint32_t>(i), moment, moment);
    }
    if (atGuard)
      atGuard(program);
    announced = true;
    double count = readScalar(step.operands[0]), loss = readScalar(step.operands[1]),
           norm = readScalar(step.operands[2]);
    if (count == 0)
      return Outcome::Empty;
    if (!std::isfinite(count) || !std::isfinite(loss) || DSC_FAULT(78, !std::isfinite(norm), false))
      return step.skips && readScalar(step.operands[3]) < readScalar(step.operands[4])
                 ? Outcome::Overflow
                 : Outcome::NotFinite;
  }
  if (!announced && atGuard)
    atGuard(program);
  return Outcome::Done;
}

//===----------------------------------------------------------------------===//
// After a numeric stop
//===----------------------------------------------------------------------===//

/// Index of the first element that is not finite, or -1.
template <typename T> static int64_t firstBad(const std::byte *data, uint64_t bytes) {
  for (uint64_t i = 0; i + sizeof(T) <= bytes; i += sizeof(T)) {
    T value;
    std::memcpy(&value, data + i, sizeof value);
    if (!std::isfinite(value))
      return static_cast<int64_t>(i / sizeof(T));
  }
  return -1;
}

/// "'h.0.mlp' is nan at element 5", or empty.
std::string Executor::scan(const Buffer &buffer, uint64_t offset, uint64_t bytes) const {
  const std::byte *start = data(buffer) + offset;
  int64_t bad = -1;
  double value = 0;
  if (buffer.dtype == DType::F32) {
    bad = firstBad<float>(start, bytes);
    if (bad >= 0) {
      float element;
      std::memcpy(&element, start + bad * 4, 4);
      value = static_cast<double>(element);
    }
  } else if (buffer.dtype == DType::F64) {
    bad = firstBad<double>(start, bytes);
    if (bad >= 0)
      value = readScalar(start + bad * 8);
  }
  if (buffer.dtype == DType::F16 || buffer.dtype == DType::BF16) {
    auto widen = buffer.dtype == DType::F16 ? halfToFloat : bfloatToFloat;
    for (uint64_t i = 0; i + 2 <= bytes && bad < 0; i += 2) {
      uint16_t half;
      std::memcpy(&half, start + i, 2);
      value = static_cast<double>(widen(half));
      if (!std::isfinite(value))
        bad = static_cast<int64_t>(i / 2);
    }
  }
  if (bad < 0)
    return {};
  bad += static_cast<int64_t>(offset / static_cast<uint64_t>(byteSize(buffer.dtype)));
  return std::string(nameOf(buffer.kind)) + " '" + buffer.name + "' is " + printShortest(value) +
         " at element " + std::to_string(bad);
}

std::string Executor::badVariable() const {
  std::set<std::string_view> seen;
  for (const Program &program : thePlan.programs)
    for (const Buffer &buffer : program.buffers)
      if (buffer.kind != Kind::Window && isPersistent(buffer.kind) &&
          seen.insert(buffer.name).second)
        if (std::string found = scan(buffer, 0, buffer.bytes); !found.empty())
          return found;
  return {};
}

std::string Executor::badSum() const {
  for (const Program &program : thePlan.programs)
    for (const Buffer &buffer : program.buffers)
      if (buffer.kind == Kind::Window)
        if (std::string found = scan(buffer, 0, buffer.bytes); !found.empty())
          return found;
  return {};
}

std::string Executor::badTensor(size_t index) {
  const Program &program = thePlan.programs[index];
  size_t poisoned = 0;
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction &instruction = program.instructions[i];
    if (instruction.opcode == Opcode::Guard)
      break;
    if (poison)
      poisonBefore(index, static_cast<uint32_t>(i), poisoned);
    execute(bound[index].steps[i], index, i);
    for (size_t k = 0; k < instruction.operands.size(); ++k) {
      const Operand &operand = instruction.operands[k];
      const Buffer &buffer = program.buffers[operand.buffer];
      uint64_t bytes = instruction.opcode == Opcode::Launch
                           ? thePlan.kernels[instruction.kernel].operands[k]
                           : buffer.bytes - operand.offset;
      if (std::string found = scan(buffer, operand.offset, bytes); !found.empty())
        return found + ", in instruction " + std::to_string(i) + " (" + instruction.label + ")";
    }
  }
  return {};
}

void Executor::rememberStepState() {
  for (auto &[place, copy] : stepState)
    std::memcpy(copy.data(), place, copy.size());
}

void Executor::restoreStepState() {
  for (auto &[place, copy] : stepState)
    std::memcpy(place, copy.data(), copy.size());
}
