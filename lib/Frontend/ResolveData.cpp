//===- ResolveData.cpp - `data`: files, formats, sequence length -----------===//
#include "ResolverAccess.h"
#include "dsc/Runtime/Data/Npy.h"
#include <filesystem>

using namespace dsc;
using Kind = JsonNode::Kind;

/// Ids of the byte vocabulary: 256 bytes and end-of-text.
static constexpr int64_t byteVocabulary = 257;

static const char *formatName(DataFormat format) {
  switch (format) {
  case DataFormat::Text:
    return "text";
  case DataFormat::Megatron:
    return "megatron";
  case DataFormat::Uint16:
    return "uint16";
  case DataFormat::Replay:
    return "replay";
  }
  return "";
}

static bool endsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

static std::optional<DataFormat> formatFromName(const std::string &path) {
  if (endsWith(path, ".txt") || endsWith(path, ".text") || endsWith(path, ".md"))
    return DataFormat::Text;
  if (endsWith(path, ".npy"))
    return DataFormat::Replay;
  if (endsWith(path, "_document") || endsWith(path, "_document.bin") || endsWith(path, ".idx"))
    return DataFormat::Megatron;
  if (endsWith(path, ".bin"))
    return DataFormat::Uint16;
  return std::nullopt;
}

std::optional<DataFormat> Resolver::fileFormat(const JsonNode *format, const Location &where,
                                               const std::string &path, std::string &origin) {
  if (format && format->is(Kind::Invalid))
    return std::nullopt;
  if (format && format->is(Kind::String) && format->text != "auto") {
    origin = shortPlace(format->where);
    for (DataFormat f :
         {DataFormat::Text, DataFormat::Megatron, DataFormat::Uint16, DataFormat::Replay})
      if (format->text == formatName(f))
        return f;
  }
  origin = "inferred from the name";
  std::optional<DataFormat> inferred = formatFromName(path);
  if (!inferred)
    errors.error(where, "the name " + inQuotes(path) + " does not tell the format of the file")
        .fix("add \"format\": \"text\", \"megatron\", \"uint16\" or \"replay\"");
  return inferred;
}

/// The names a Megatron pair may be given by, without the ending.
static std::string megatronStem(const std::string &path) {
  return endsWith(path, ".bin") || endsWith(path, ".idx") ? path.substr(0, path.size() - 4) : path;
}

bool Resolver::checkExists(const DataFile &file, const Location &where) {
  std::vector<std::string> names{file.path};
  if (file.format == DataFormat::Megatron)
    names = {megatronStem(file.path) + ".bin", megatronStem(file.path) + ".idx"};
  bool fine = true;
  for (const std::string &name : names) {
    std::filesystem::path path = (std::filesystem::path(spec.folder) / name).lexically_normal();
    std::error_code code;
    auto status = std::filesystem::status(path, code);
    if (status.type() == std::filesystem::file_type::regular)
      continue;
    fine = false;
    errors.error(where, (status.type() == std::filesystem::file_type::not_found ? "no such file: "
                         : status.type() == std::filesystem::file_type::directory
                             ? "is a folder, not a file: "
                             : "not a regular file: ") +
                            inQuotes(path.generic_string()));
  }
  return fine;
}

std::vector<DataFile> Resolver::resolveFiles(std::string_view list) {
  const JsonNode *node = find(list);
  std::vector<DataFile> files;
  std::vector<Location> &where = list == "data.train" ? trainWhere : validationWhere;
  if (!node || node->is(Kind::Invalid))
    return files;
  std::vector<const JsonNode *> entries;
  if (node->is(Kind::List))
    for (const JsonNode &item : node->items)
      entries.push_back(&item);
  else
    entries.push_back(node);
  if (entries.empty())
    errors.error(node->where, "'" + std::string(list) + "' names no file");
  nlohmann::json resolved = nlohmann::json::array();
  std::string origins = shortPlace(node->where);
  for (const JsonNode *entry : entries) {
    const JsonNode *path = entry->is(Kind::Object) ? entry->find("path") : entry;
    if (!path || !path->is(Kind::String))
      continue;
    DataFile file;
    file.path = path->text;
    std::string origin;
    const JsonNode *format = entry->is(Kind::Object) ? entry->find("format") : nullptr;
    std::optional<DataFormat> known = fileFormat(format, path->where, file.path, origin);
    if (!known)
      continue;
    file.format = *known;
    if (origin.rfind("inferred", 0) == 0)
      origins += ", format " + origin;
    nlohmann::json item = {{"path", file.path}, {"format", formatName(file.format)}};
    const JsonNode *labels = entry->is(Kind::Object) ? entry->find("labels") : nullptr;
    if (labels && labels->is(Kind::String)) {
      file.labels = labels->text;
      item["labels"] = file.labels;
      if (file.format != DataFormat::Replay)
        errors
            .error(labels->where, "'labels' go with format 'replay', not '" +
                                      std::string(formatName(file.format)) + "'")
            .note("format " + origin);
      else if (options.needsFiles)
        checkExists({file.labels, DataFormat::Replay, ""}, labels->where);
    }
    resolveSeparator(*entry, file, item);
    if (options.needsFiles)
      checkExists(file, path->where);
    if (file.format == DataFormat::Text && !vocabulary.broken && vocabulary.value < byteVocabulary)
      errors
          .error(path->where, "text has token ids up to 256, but 'model.vocab_size' is " +
                                  std::to_string(vocabulary.value) + " (" + vocabulary.origin + ")")
          .fix("set vocab_size to at least " + std::to_string(byteVocabulary));
    resolved.push_back(std::move(item));
    files.push_back(std::move(file));
    where.push_back(path->where);
  }
  record(list, std::move(resolved), origins);
  return files;
}

void Resolver::resolveSeparator(const JsonNode &entry, DataFile &file, nlohmann::json &item) {
  const JsonNode *separator = entry.is(Kind::Object) ? entry.find("separator") : nullptr;
  if (!separator || !separator->is(Kind::String))
    return;
  file.separator = separator->text;
  item["separator"] = file.separator;
  if (file.format != DataFormat::Text)
    errors
        .error(separator->where, "'separator' goes with format 'text', not '" +
                                     std::string(formatName(file.format)) + "'")
        .fix("remove it: the file carries the lengths of its documents, or has one");
  else if (file.separator.empty())
    errors.error(separator->where, "an empty separator stands everywhere")
        .fix("write what stands between two documents, such as \"\\n\\n\"");
  else if (!spec.data.packDocuments)
    errors.error(separator->where, "'separator' divides documents, but they are not packed")
        .fix("add \"packing\": \"documents\" to 'data', or remove it");
}

void Resolver::resolvePacking() {
  Resolved<std::string> packing = text("data.packing"), longer = text("data.long_documents");
  spec.data.packDocuments = packing.value == "documents";
  spec.data.longDocuments = longer.value == "truncate" ? LongDocuments::Truncate
                            : longer.value == "drop"   ? LongDocuments::Drop
                                                       : LongDocuments::Split;
  bool asked = longer.given && !longer.broken && spec.data.longDocuments != LongDocuments::Split;
  if (asked && !packing.broken && !spec.data.packDocuments)
    errors
        .error(longer.where, "'long_documents' says what becomes of packed documents, but "
                             "'packing' is \"none\"")
        .fix("add \"packing\": \"documents\" to 'data', or remove it");
}

bool Resolver::replayArray(const std::string &name, const Location &where, int64_t dimensions,
                           std::vector<int64_t> &shape) {
  std::string path =
      (std::filesystem::path(spec.folder) / name).lexically_normal().generic_string();
  std::error_code code;
  if (!std::filesystem::is_regular_file(path, code))
    return false; // absence is reported where files must exist
  StatusOr<NpyArray> array = NpyArray::open(path);
  if (!array) {
    errors.error(where, array.status().message());
    return false;
  }
  const NpyHeader &header = array->header();
  shape = header.shape;
  if (header.type != NpyType::Int32) {
    errors.error(where, inQuotes(name) + " holds " + npyTypeName(header.type) + ", expected int32")
        .fix("save it as array.astype(numpy.int32)");
    return false;
  }
  if (static_cast<int64_t>(shape.size()) != dimensions) {
    errors.error(where, inQuotes(name) + " has shape " + nlohmann::json(shape).dump() +
                            ", expected " + std::to_string(dimensions) + " dimensions");
    return false;
  }
  return true;
}

void Resolver::resolveReplay() {
  for (size_t i = 0; i < spec.data.train.size(); ++i) {
    if (spec.data.train[i].format != DataFormat::Replay)
      continue;
    hasReplay = true;
    replayWhere = trainWhere[i];
    if (spec.data.train.size() > 1) {
      errors.error(trainWhere[i], "a replay file stands alone: it is " + std::to_string(i + 1) +
                                      " of " + std::to_string(spec.data.train.size()) +
                                      " training files");
      return;
    }
  }
  if (!hasReplay)
    return;
  const DataFile &file = spec.data.train.front();
  std::vector<int64_t> shape;
  if (!replayArray(file.path, replayWhere, 3, shape))
    return;
  replayName = file.path + " " + nlohmann::json(shape).dump();
  if (shape[0] < 1 || shape[1] < 1 || shape[2] < 2) {
    errors.error(replayWhere,
                 inQuotes(file.path) + " has shape " + nlohmann::json(shape).dump() +
                     ", expected [steps, batch, seq_length + 1] of at least [1, 1, 2]");
    return;
  }
  replayKnown = true;
  replayRows = shape[0];
  replayBatch = shape[1];
  replaySequence = shape[2] - 1;
  std::vector<int64_t> labels;
  if (!file.labels.empty() && replayArray(file.labels, replayWhere, 3, labels)) {
    std::vector<int64_t> expected{replayRows, replayBatch, replaySequence};
    if (labels != expected)
      errors
          .error(replayWhere, "labels " + inQuotes(file.labels) + " have shape " +
                                  nlohmann::json(labels).dump() + ", expected " +
                                  nlohmann::json(expected).dump())
          .note("tokens: " + replayName);
  }
}

void Resolver::resolveSequence() {
  sequence = integer("data.seq_length");
  if (replayKnown && sequence.given && sequence.value != replaySequence) {
    errors
        .error(sequence.where, "'data.seq_length' is " + std::to_string(sequence.value) + ", but " +
                                   replayName + " has sequences of " +
                                   std::to_string(replaySequence) + " and one token more")
        .fix("remove 'seq_length'");
    sequence.broken = true;
  }
  if (!sequence.given) {
    if (hasReplay && !replayKnown) {
      // Either the file's own error has been given, or it is absent and nothing else says the
      // length.
      if (errors.empty())
        errors
            .error(replayWhere, "the sequence length stands in " +
                                    inQuotes(spec.data.train.front().path) +
                                    ", which does not exist")
            .fix("add \"seq_length\" to 'data'");
      return;
    }
    if (replayKnown)
      infer(sequence, "data.seq_length", replaySequence, replayName);
    else
      infer(sequence, "data.seq_length", positions.value, "model.n_positions");
  }
  spec.data.seqLength = sequence.value;
  if (!sequence.broken && !positions.broken && sequence.value > positions.value)
    errors
        .error(sequence.given ? sequence.where : replayWhere,
               "sequences are longer than the model's positions: " + shown("seq_length", sequence) +
                   " vs " + shown("n_positions", positions))
        .fix("n_positions of at least " + std::to_string(sequence.value) +
             ", or shorter sequences");
}

void Resolver::resolveData() {
  DataSpec &d = spec.data;
  if (!find("data") && options.purpose == Purpose::Train)
    errors.error(root.where, "missing key 'data': an object")
        .fix("add \"data\": {\"train\": [{\"path\": \"FILE\"}]}");
  resolvePacking();
  d.train = resolveFiles("data.train");
  d.validation = resolveFiles("data.validation");
  resolveReplay();
  for (bool train : {true, false})
    for (size_t i = 0; i < (train ? d.train : d.validation).size() && d.packDocuments; ++i)
      if ((train ? d.train : d.validation)[i].format == DataFormat::Replay)
        errors
            .error((train ? trainWhere : validationWhere)[i],
                   "a replay file is used in exactly its order: its rows are not packed")
            .fix("remove \"packing\"");
  Resolved<double> fraction = number("data.validation_fraction");
  d.validationFraction = fraction.value;
  if (fraction.given && fraction.value > 0 && !d.validation.empty())
    errors
        .error(
            fraction.where,
            "validation data is given twice: 'validation' names files, 'validation_fraction' is " +
                nlohmann::json(fraction.value).dump())
        .fix("remove one of them");
  if (fraction.given && fraction.value > 0 && hasReplay)
    errors
        .error(fraction.where,
               "a replay file is used in exactly its order and has no tail for validation")
        .fix("name validation files in 'data.validation'");
  resolveSequence();
  d.seed = seed("data.seed").value;
}
