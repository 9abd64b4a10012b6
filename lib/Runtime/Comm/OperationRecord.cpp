//===- OperationRecord.cpp - what a rank is at, readable by all ---------------===//
#include "OperationRecord.h"
#include <algorithm>
#include <cstring>
#include <mutex>

using namespace dsc;

static std::atomic<OperationRecord *> records{nullptr};
static std::mutex recordsMutex; // of those who take; readers follow the list, which only grows

OperationRecord *dsc::takeRecord(int rank) {
  std::lock_guard lock(recordsMutex);
  OperationRecord *record = records.load();
  while (record && record->rank.load() >= 0)
    record = record->next;
  if (!record) {
    record = new OperationRecord;
    record->next = records.load();
    records.store(record, std::memory_order_release);
  }
  record->enter({});
  record->leave();
  record->blockedBy.store(-1);
  record->rank.store(rank, std::memory_order_release);
  return record;
}

void dsc::releaseRecord(OperationRecord *record) {
  record->inside.store(0);
  record->rank.store(-1, std::memory_order_release);
}

void OperationRecord::enter(const Operation &operation) {
  uint32_t before = version.load(std::memory_order_relaxed);
  version.store(before + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  kind.store(operation.kind, std::memory_order_relaxed);
  id.store(operation.id, std::memory_order_relaxed);
  size_t length = std::min(operation.label.size(), labelBytes);
  labelLength.store(static_cast<uint32_t>(length), std::memory_order_relaxed);
  for (size_t i = 0; i < length; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, operation.label.data() + i, std::min<size_t>(8, length - i));
    label[i / 8].store(word, std::memory_order_relaxed);
  }
  inside.store(1, std::memory_order_relaxed);
  version.store(before + 2, std::memory_order_release);
}

namespace {
/// Text into memory of fixed size; what does not fit is cut.
struct FixedText {
  char *at;
  size_t room;
  size_t length = 0;
  void add(std::string_view text) {
    size_t count = std::min(text.size(), room - length);
    std::memcpy(at + length, text.data(), count);
    length += count;
  }
  void add(uint32_t number) {
    char digits[10];
    int count = 0;
    do
      digits[count++] = static_cast<char>('0' + number % 10);
    while (number /= 10);
    std::reverse(digits, digits + count);
    add({digits, static_cast<size_t>(count)});
  }
};
} // namespace

static size_t writeText(const char *kind, uint32_t id, std::string_view label, char *into,
                        size_t room) {
  FixedText text{into, room};
  text.add(std::string_view(kind));
  if (id != Operation::noId) {
    text.add(" ");
    text.add(id);
  }
  if (!label.empty()) {
    text.add(", ");
    text.add(label);
  }
  return text.length;
}

void OperationRecord::read(OperationSnapshot &into) const {
  const char *kindRead;
  uint32_t idRead, length;
  std::array<uint64_t, labelBytes / 8> words;
  // A handler may have interrupted the writer itself: then a torn copy is what there is.
  for (int attempt = 0; attempt < 1000; ++attempt) {
    uint32_t before = version.load(std::memory_order_acquire);
    into.rank = rank.load(std::memory_order_relaxed);
    into.inside = static_cast<int32_t>(inside.load(std::memory_order_relaxed));
    into.blockedBy = blockedBy.load(std::memory_order_relaxed);
    kindRead = kind.load(std::memory_order_relaxed);
    idRead = id.load(std::memory_order_relaxed);
    length = labelLength.load(std::memory_order_relaxed);
    for (size_t i = 0; i < words.size(); ++i)
      words[i] = label[i].load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (before % 2 == 0 && version.load(std::memory_order_relaxed) == before)
      break;
  }
  char bytes[labelBytes];
  std::memcpy(bytes, words.data(), labelBytes);
  into.length = static_cast<uint32_t>(writeText(kindRead, idRead,
                                                {bytes, std::min<size_t>(length, labelBytes)},
                                                into.bytes.data(), into.bytes.size()));
}

std::string dsc::describe(const Operation &operation) {
  std::string text(std::string_view(operation.kind).size() + operation.label.size() + 13, '\0');
  text.resize(writeText(operation.kind, operation.id, operation.label, text.data(), text.size()));
  return text;
}

size_t dsc::describeOperations(char *buffer, size_t capacity) {
  FixedText text{buffer, capacity};
  for (auto *record = records.load(std::memory_order_acquire); record; record = record->next) {
    OperationSnapshot is;
    record->read(is);
    if (is.rank < 0 || !is.length)
      continue;
    text.add("rank ");
    text.add(static_cast<uint32_t>(is.rank));
    text.add(is.inside ? " is at " : " was last at ");
    text.add(is.text());
    if (is.inside && is.blockedBy >= 0) {
      text.add(", waiting for rank ");
      text.add(static_cast<uint32_t>(is.blockedBy));
    }
    text.add("\n");
  }
  return text.length;
}
