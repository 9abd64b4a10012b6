//===- Profile.cpp - who did what when, as a Chrome trace --------------------===//
// Complete events ("X") in microseconds since the profile began. Those of one thread nest and stand
// in the order of their begin, outer before inner; scripts/check-trace.py holds us to it.
#include "dsc/Runtime/Core/Profile.h"
#include <algorithm>
#include <map>
#include <tuple>

using namespace dsc;

StatusOr<std::unique_ptr<Profile>> Profile::open(const std::string &path, int64_t steps) {
  std::unique_ptr<Profile> profile(new Profile);
  auto file = AtomicFile::create(path);
  if (!file.ok())
    return file.status();
  profile->file = std::move(*file);
  profile->stepsLeft = steps;
  return profile;
}

void Profile::prepare(const plan::Plan &thePlan, int threads) {
  plan = &thePlan;
  size_t step = 0;
  for (const plan::Phase &phase : plan->schedule)
    step += plan->programs[phase.program].instructions.size() * phase.times;
  if (int64_t train = plan::findProgram(*plan, "train"); plan->schedule.empty() && train >= 0)
    step = plan->programs[static_cast<size_t>(train)].instructions.size();
  slices.resize(static_cast<size_t>(threads));
  for (auto &list : slices)
    list.reserve(std::min(step * static_cast<size_t>(std::max<int64_t>(stepsLeft, 0)), most));
  spans.reserve(1024);
}

void Profile::span(Track track, std::string name, uint64_t begin, uint64_t end, uint64_t flow) {
  std::lock_guard lock(mutex);
  spans.push_back({track, std::move(name), begin, end, flow});
}

Status Profile::stepDone() {
  if (!active || --stepsLeft > 0)
    return {};
  return finish();
}

Status Profile::finish() {
  if (!active)
    return {};
  active = false;
  if (Status status = file.write(text()); !status.ok())
    return status;
  return file.commit();
}

namespace {
struct Event {
  uint64_t begin, end;
  const char *phase;
  std::string text; ///< the members that are its own
};

/// The events of each thread: worker i is thread i, the saver comes after them.
using Threads = std::map<size_t, std::vector<Event>>;
} // namespace

static std::string jsonText(const std::string &text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Microseconds with three decimals, from nanoseconds.
static std::string microseconds(uint64_t nanoseconds) {
  std::string rest = std::to_string(nanoseconds % 1000);
  return std::to_string(nanoseconds / 1000) + "." + std::string(3 - rest.size(), '0') + rest;
}

static std::string members(const plan::Program &program, size_t index) {
  const plan::Instruction &instruction = program.instructions[index];
  return "\"name\": " + jsonText(instruction.label) + ", \"cat\": \"" +
         plan::nameOf(instruction.opcode) +
         "\", \"args\": {\"program\": " + jsonText(program.name) +
         ", \"instruction\": " + std::to_string(index) +
         (instruction.place.empty() ? "" : ", \"from\": " + jsonText(instruction.place)) + "}";
}

static std::string print(const std::string &thread, const std::string &name,
                         std::vector<Event> events, uint64_t start) {
  // What is longer comes first, and holds the other; an arrow comes after the slice it touches.
  std::sort(events.begin(), events.end(), [](const Event &a, const Event &b) {
    return std::tie(a.begin, b.end, *a.phase, a.text) < std::tie(b.begin, a.end, *b.phase, b.text);
  });
  std::string id = "\"pid\": 1, \"tid\": " + thread;
  std::string out = ",\n{\"ph\": \"M\", " + id +
                    ", \"name\": \"thread_name\", \"args\": {\"name\": " + jsonText(name) + "}}";
  for (const Event &event : events) {
    out += std::string(",\n{\"ph\": \"") + event.phase + "\", " + id +
           ", \"ts\": " + microseconds(event.begin - start);
    if (*event.phase == 'X')
      out += ", \"dur\": " + microseconds(event.end - event.begin);
    out += ", " + event.text + "}";
  }
  return out;
}

std::string Profile::text() const {
  Threads threads;
  size_t saver = slices.size();
  for (size_t worker = 0; worker < slices.size(); ++worker)
    for (const Slice &slice : slices[worker])
      threads[worker].push_back(
          {slice.begin, slice.end, "X", members(plan->programs[slice.program], slice.instruction)});
  std::lock_guard lock(mutex);
  std::map<uint64_t, int> ends; // an arrow whose end has not come yet is left out
  for (const Named &span : spans)
    ++ends[span.flow];
  for (const Named &span : spans) {
    bool main = span.track == Track::Main;
    std::vector<Event> &events = threads[main ? 0 : saver];
    events.push_back(
        {span.begin, span.end, "X", "\"name\": " + jsonText(span.name) + ", \"cat\": \"run\""});
    if (span.flow && ends[span.flow] == 2)
      events.push_back({span.begin, span.begin, main ? "s" : "f",
                        "\"name\": \"snapshot\", \"cat\": \"run\", \"bp\": \"e\", \"id\": " +
                            std::to_string(span.flow)});
  }
  std::string out = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n{\"ph\": \"M\", \"pid\": 1, "
                    "\"name\": \"process_name\", \"args\": {\"name\": \"dsrun\"}}";
  for (const auto &[thread, events] : threads)
    out += print(std::to_string(thread),
                 thread == saver ? "saver"
                 : thread == 0   ? "main, worker 0"
                                 : "worker " + std::to_string(thread),
                 events, start);
  return out + "\n]}\n";
}
