//===- Container.cpp - header, section table, checksums --------------------===//
// Nothing read from the file is used before it is checked against the bytes that are there.
#include "dsc/Plan/Container.h"
#include "dsc/Support/Hash.h"
#include <cstring>

using namespace dsc;
using namespace dsc::plan;

static uint64_t readU64(std::string_view bytes, uint64_t at) {
  uint64_t value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

static uint32_t readU32(std::string_view bytes, uint64_t at) {
  uint32_t value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

static uint64_t alignUp(uint64_t value) {
  return (value + sectionAlignment - 1) / sectionAlignment * sectionAlignment;
}

/// All bytes but the hash itself, which is [24, 32).
static uint64_t hashOfAll(std::string_view bytes) {
  uint64_t parts[2] = {hash64(bytes.substr(0, 24)), hash64(bytes.substr(headerBytes))};
  return hash64(parts, sizeof parts);
}

static Status damaged(const std::string &section, uint64_t offset, const std::string &rule) {
  return damagedError("section '" + section + "', offset " + std::to_string(offset) + ": " + rule);
}

std::string
plan::writeContainer(const std::vector<std::pair<std::string, std::string_view>> &sections) {
  uint64_t end = headerBytes + entryBytes * sections.size();
  std::string bytes(end, '\0');
  auto put = [&](uint64_t at, const void *data, size_t count) {
    std::memcpy(bytes.data() + at, data, count);
  };
  for (size_t i = 0; i < sections.size(); ++i) {
    const auto &[name, contents] = sections[i];
    bytes.resize(alignUp(bytes.size()), '\0');
    uint64_t entry[3] = {bytes.size(), contents.size(), hash64(contents)};
    bytes += contents;
    uint64_t at = headerBytes + entryBytes * i;
    put(at, name.data(), std::min<size_t>(name.size(), sectionNameBytes - 1));
    put(at + sectionNameBytes, entry, sizeof entry);
  }
  uint32_t counts[2] = {formatVersion, static_cast<uint32_t>(sections.size())};
  uint64_t total = bytes.size();
  put(0, containerMagic.data(), containerMagic.size());
  put(8, counts, sizeof counts);
  put(16, &total, sizeof total);
  uint64_t hash = hashOfAll(bytes);
  put(24, &hash, sizeof hash);
  return bytes;
}

StatusOr<std::vector<Section>> plan::readContainer(std::string_view bytes) {
  if (bytes.size() < headerBytes)
    return damaged("header", 0,
                   "a plan has at least " + std::to_string(headerBytes) + " bytes, this file has " +
                       std::to_string(bytes.size()));
  if (bytes.substr(0, 8) != containerMagic)
    return damaged("header", 0, "not a plan: the magic number is missing");
  if (uint32_t version = readU32(bytes, 8); version != formatVersion)
    return damaged("header", 8,
                   "plan format " + std::to_string(version) + ", this program reads format " +
                       std::to_string(formatVersion) + ": compile the spec again with its own dsc");
  uint64_t count = readU32(bytes, 12);
  if (uint64_t total = readU64(bytes, 16); total != bytes.size())
    return damaged("header", 16,
                   "the plan was written with " + std::to_string(total) + " bytes, the file has " +
                       std::to_string(bytes.size()));
  if (count > (bytes.size() - headerBytes) / entryBytes)
    return damaged("header", 12,
                   std::to_string(count) + " sections do not fit a file of " +
                       std::to_string(bytes.size()) + " bytes");
  if (readU64(bytes, 24) != hashOfAll(bytes))
    return damaged("header", 24, "the hash over the whole file does not match: it was damaged");

  std::vector<Section> sections;
  uint64_t end = headerBytes + entryBytes * count;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t at = headerBytes + entryBytes * i;
    std::string_view field = bytes.substr(at, sectionNameBytes);
    size_t length = field.find('\0');
    std::string number = "section table";
    if (length == 0 || length == field.npos || field.find_first_not_of('\0', length) != field.npos)
      return damaged(number, at, "a section's name is empty or not ended by zeros");
    std::string name(field.substr(0, length));
    for (char c : name)
      if (c <= ' ' || c > '~')
        return damaged(number, at, "a section's name has characters that do not print");
    if (findSection(sections, name))
      return damaged(number, at, "section '" + name + "' occurs twice");
    uint64_t offset = readU64(bytes, at + 40), size = readU64(bytes, at + 48);
    uint64_t expected = alignUp(end);
    if (offset != expected)
      return damaged(number, at + 40,
                     "section '" + name + "' starts at " + std::to_string(offset) + ", expected " +
                         std::to_string(expected) +
                         ": sections are sorted, without gap or overlap");
    if (offset > bytes.size() || size > bytes.size() - offset)
      return damaged(number, at + 48,
                     "section '" + name + "' has " + std::to_string(size) + " bytes at " +
                         std::to_string(offset) + ", the file has " + std::to_string(bytes.size()));
    for (uint64_t gap = end; gap < offset; ++gap)
      if (bytes[gap])
        return damaged(number, gap, "padding before section '" + name + "' is not zero");
    std::string_view contents = bytes.substr(offset, size);
    if (readU64(bytes, at + 56) != hash64(contents))
      return damaged(name, offset, "the checksum of the contents does not match");
    end = offset + size;
    sections.push_back({std::move(name), offset, contents});
  }
  if (end != bytes.size())
    return damaged("header", end,
                   std::to_string(bytes.size() - end) + " bytes after the last section");
  return sections;
}

const Section *plan::findSection(const std::vector<Section> &sections, std::string_view name) {
  for (const Section &section : sections)
    if (section.name == name)
      return &section;
  return nullptr;
}
