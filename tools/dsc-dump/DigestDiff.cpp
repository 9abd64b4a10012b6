//===- DigestDiff.cpp - where two digests part -----------------------------===//
// A digest has one JSON object a line: {"hash":"…","name":"wte.weight","norm":1.5,"step":3}, steps
// ascending, names sorted inside a step.
#include "DigestDiff.h"
#include "dsc/Support/File.h"
#include "dsc/Support/Json.h"
#include "dsc/Support/Numbers.h"
#include <tuple>

using namespace dsc;

namespace {

struct Entry {
  int64_t step = 0;
  std::string name, hash;
  double norm = 0;
  std::string place() const { return "step " + std::to_string(step) + ", '" + name + "'"; }
};

/// The lines of a digest, one after another.
class Digest {
public:
  Digest(const std::string &path, std::string_view rest) : path(path), rest(rest) {}

  /// False at the end.
  StatusOr<bool> next(Entry &entry) {
    if (rest.empty())
      return false;
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    ++number;
    auto json = parseStrictJson(line, path + ":" + std::to_string(number), 4);
    if (!json.ok())
      return json.status();
    auto has = [&](const char *key, bool good) {
      return json->is_object() && json->contains(key) && good;
    };
    if (!has("step", true) || !has("name", true) || !has("hash", true) || !has("norm", true) ||
        !(*json)["step"].is_number_integer() || !(*json)["name"].is_string() ||
        !(*json)["hash"].is_string())
      return inputError(path + ":" + std::to_string(number) +
                        ": no line of a digest: expected step, name, hash, norm");
    entry.step = (*json)["step"];
    entry.name = (*json)["name"];
    entry.hash = (*json)["hash"];
    entry.norm = (*json)["norm"].is_number() ? (*json)["norm"].get<double>() : 0;
    return true;
  }

private:
  std::string path;
  std::string_view rest;
  int64_t number = 0;
};

} // namespace

StatusOr<std::string> dsc::firstDifference(const std::string &pathA, const std::string &pathB) {
  auto fileA = MappedFile::open(pathA), fileB = MappedFile::open(pathB);
  if (!fileA.ok())
    return fileA.status();
  if (!fileB.ok())
    return fileB.status();
  Digest digestA(pathA, fileA->bytes()), digestB(pathB, fileB->bytes());
  for (;;) {
    Entry a, b;
    auto hasA = digestA.next(a), hasB = digestB.next(b);
    if (!hasA.ok())
      return hasA.status();
    if (!hasB.ok())
      return hasB.status();
    if (!*hasA && !*hasB)
      return std::string();
    if (*hasA != *hasB || std::tie(a.step, a.name) != std::tie(b.step, b.name)) {
      bool onlyA = *hasA && (!*hasB || std::tie(a.step, a.name) < std::tie(b.step, b.name));
      return (onlyA ? a.place() + " is only in " + pathA : b.place() + " is only in " + pathB);
    }
    if (a.hash != b.hash)
      return a.place() + " differs: norm " + printShortest(a.norm) + " in " + pathA + ", " +
             printShortest(b.norm) + " in " + pathB;
  }
}
