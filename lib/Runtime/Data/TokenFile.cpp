//===- TokenFile.cpp - text, uint16 and Megatron files as token streams ------===//
#include "dsc/Runtime/Data/TokenFile.h"
#include "dsc/Support/File.h"
#include "dsc/Support/Hash.h"
#include "dsc/Support/Numbers.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace dsc;

static Status badToken(const std::string &path, uint64_t offset, const std::string &id,
                       int64_t vocabulary) {
  return inputError("token id " + id + " at byte " + std::to_string(offset) + " of '" + path +
                    "' is outside the vocabulary of " + std::to_string(vocabulary) +
                    " (model.vocab_size): ids must be in [0, " + std::to_string(vocabulary) + ")");
}

namespace {
class TextFile : public TokenFile {
public:
  TextFile(MappedFile mapped, const std::string &separator) : file(std::move(mapped)) {
    name = file.path();
    size_t skipped = file.bytes().starts_with("\xef\xbb\xbf") ? 3 : 0;
    size_t end = file.size();
    for (size_t at = skipped; at <= end && !separator.empty();) {
      size_t found = std::min(file.bytes().find(separator, at), end);
      add(at, found);
      at = found + separator.size();
    }
    if (separator.empty())
      add(skipped, end, /*even=*/true);
  }

  std::vector<int64_t> documentEnds() const override {
    std::vector<int64_t> ends;
    for (size_t d = 1; d < documents.size(); ++d)
      ends.push_back(documents[d].token);
    ends.push_back(tokens);
    return ends;
  }

  Status read(int64_t begin, int64_t count, int64_t vocabulary, int32_t *out) const override {
    auto after = std::upper_bound(documents.begin(), documents.end(), begin,
                                  [](int64_t token, const Document &d) { return token < d.token; });
    for (auto d = after - 1; count > 0; ++d) {
      int64_t end = d + 1 == documents.end() ? tokens : d[1].token;
      for (; begin < end && count > 0; ++begin, --count, ++out) {
        uint64_t place = d->byte + static_cast<uint64_t>(begin - d->token);
        *out = begin == end - 1 ? endOfTextId : file.data()[place];
        if (*out >= vocabulary)
          return badToken(name, place, std::to_string(*out), vocabulary);
      }
    }
    return {};
  }

private:
  /// Where a document starts.
  struct Document {
    int64_t token;
    uint64_t byte;
  };

  void add(size_t begin, size_t end, bool even = false) {
    if (begin == end && !even)
      return;
    documents.push_back({tokens, begin});
    tokens += static_cast<int64_t>(end - begin) + 1;
  }

  MappedFile file;
  std::vector<Document> documents;
};

/// Tokens of one fixed type, back to back.
template <typename Element> class ArrayFile : public TokenFile {
public:
  ArrayFile(MappedFile mapped, const std::string &path, std::vector<int64_t> documents)
      : file(std::move(mapped)), documents(std::move(documents)) {
    name = path;
    tokens = static_cast<int64_t>(file.size() / sizeof(Element));
  }
  std::vector<int64_t> documentEnds() const override {
    return documents.empty() ? TokenFile::documentEnds() : documents;
  }
  Status read(int64_t begin, int64_t count, int64_t vocabulary, int32_t *out) const override {
    for (int64_t i = 0; i < count; ++i) {
      Element value;
      uint64_t offset = static_cast<uint64_t>(begin + i) * sizeof(Element);
      std::memcpy(&value, file.data() + offset, sizeof value);
      bool fits;
      if constexpr (std::is_floating_point_v<Element>)
        fits = value >= 0 && value < static_cast<Element>(vocabulary) && value == std::floor(value);
      else
        fits = static_cast<int64_t>(value) >= 0 && static_cast<int64_t>(value) < vocabulary;
      if (!fits) {
        if constexpr (std::is_floating_point_v<Element>)
          return badToken(file.path(), offset, printShortest(value), vocabulary);
        else
          return badToken(file.path(), offset, std::to_string(value), vocabulary);
      }
      out[i] = static_cast<int32_t>(value);
    }
    return {};
  }

private:
  MappedFile file;
  std::vector<int64_t> documents; ///< their ends; empty: the whole is one
};
} // namespace

template <typename Element>
static std::unique_ptr<TokenFile> makeArray(MappedFile file, const std::string &path,
                                            std::vector<int64_t> documents) {
  return std::make_unique<ArrayFile<Element>>(std::move(file), path, std::move(documents));
}

/// The token behind each document that has any.
static std::vector<int64_t> documentEndsOf(const MegatronIndex &index) {
  std::vector<int64_t> ends;
  int64_t end = 0;
  for (size_t d = 1; d < index.documents.size(); ++d) {
    int64_t before = end;
    for (int64_t s = index.documents[d - 1]; s < index.documents[d]; ++s)
      end += index.lengths[static_cast<size_t>(s)];
    if (end > before)
      ends.push_back(end);
  }
  return ends;
}

static std::string megatronPrefix(std::string path) {
  if (path.ends_with(".bin") || path.ends_with(".idx"))
    path.resize(path.size() - 4);
  return path;
}

static StatusOr<std::unique_ptr<TokenFile>> openMegatron(const std::string &path) {
  std::string prefix = megatronPrefix(path);
  StatusOr<MappedFile> idx = MappedFile::open(prefix + ".idx");
  if (!idx)
    return idx.status();
  StatusOr<MappedFile> bin = MappedFile::open(prefix + ".bin");
  if (!bin)
    return bin.status();
  StatusOr<MegatronIndex> index = parseMegatronIndex(idx->bytes(), bin->size(), prefix + ".idx");
  if (!index)
    return index.status();
  using Make =
      std::unique_ptr<TokenFile> (*)(MappedFile, const std::string &, std::vector<int64_t>);
  static constexpr Make makers[] = {makeArray<uint8_t>, makeArray<int8_t>,  makeArray<int16_t>,
                                    makeArray<int32_t>, makeArray<int64_t>, makeArray<double>,
                                    makeArray<float>,   makeArray<uint16_t>};
  return makers[index->dtype - 1](std::move(*bin), prefix + ".bin", documentEndsOf(*index));
}

StatusOr<std::unique_ptr<TokenFile>> TokenFile::open(const std::string &path, DataFormat format,
                                                     const std::string &separator) {
  if (format == DataFormat::Megatron)
    return openMegatron(path);
  StatusOr<MappedFile> file = MappedFile::open(path);
  if (!file)
    return file.status();
  if (format == DataFormat::Text)
    return std::unique_ptr<TokenFile>(new TextFile(std::move(*file), separator));
  if (format != DataFormat::Uint16)
    return Status(ErrorCode::Internal, "'" + path + "' is no token stream");
  if (file->size() % 2)
    return inputError("'" + path + "' has " + std::to_string(file->size()) +
                      " bytes, an odd number: expected two bytes for each token (uint16)");
  return makeArray<uint16_t>(std::move(*file), path, {});
}

namespace {
/// Little-endian numbers from a file whose every count is checked against what remains.
class Cursor {
public:
  Cursor(std::string_view text, const std::string &path) : text(text), path(path) {}
  template <typename Number> Status one(Number &out, const char *what) {
    std::string_view bytes;
    if (Status status = take(1, sizeof(Number), what, bytes); !status)
      return status;
    std::memcpy(&out, bytes.data(), sizeof out);
    return {};
  }
  template <typename Number>
  Status many(std::vector<Number> &out, uint64_t count, const char *what) {
    std::string_view bytes;
    if (Status status = take(count, sizeof(Number), what, bytes); !status)
      return status;
    out.resize(count);
    if (count)
      std::memcpy(out.data(), bytes.data(), bytes.size());
    return {};
  }
  Status take(uint64_t count, uint64_t size, const char *what, std::string_view &out) {
    if (count > (text.size() - at) / size)
      return inputError("'" + path + "' is truncated: " + std::to_string(count) + " " + what +
                        " of " + std::to_string(size) + " bytes at byte " + std::to_string(at) +
                        ", but " + std::to_string(text.size() - at) + " bytes remain");
    out = text.substr(at, count * size);
    at += count * size;
    return {};
  }
  size_t position() const { return at; }
  size_t remaining() const { return text.size() - at; }

private:
  std::string_view text;
  const std::string &path;
  size_t at = 0;
};
} // namespace

StatusOr<MegatronIndex> dsc::parseMegatronIndex(std::string_view idx, uint64_t binBytes,
                                                const std::string &path) {
  auto bad = [&](const std::string &what) {
    return inputError("'" + path + "' is no usable Megatron index: " + what);
  };
  if (!idx.starts_with(std::string_view("MMIDIDX\0\0", 9)))
    return bad("it does not start with MMIDIDX");
  Cursor cursor(idx.substr(9), path);
  MegatronIndex index;
  uint64_t version = 0, sequences = 0, documents = 0;
  if (Status status = cursor.one(version, "version"); !status)
    return status;
  if (version != 1)
    return bad("version " + std::to_string(version) + ", expected 1");
  if (Status status = cursor.one(index.dtype, "type code"); !status)
    return status;
  if (index.dtype < 1 || index.dtype > 8)
    return bad("type code " + std::to_string(index.dtype) + ", expected 1 to 8");
  static constexpr int sizes[] = {1, 1, 2, 4, 8, 8, 4, 2};
  index.tokenBytes = sizes[index.dtype - 1];
  if (Status status = cursor.one(sequences, "number of sequences"); !status)
    return status;
  if (Status status = cursor.one(documents, "number of document marks"); !status)
    return status;
  if (Status status = cursor.many(index.lengths, sequences, "sequence lengths"); !status)
    return status;
  std::vector<int64_t> pointers;
  if (Status status = cursor.many(pointers, sequences, "sequence pointers"); !status)
    return status;
  if (Status status = cursor.many(index.documents, documents, "document marks"); !status)
    return status;
  if (cursor.remaining())
    return bad(std::to_string(cursor.remaining()) + " bytes too many at its end");

  int64_t end = 0;
  for (size_t i = 0; i < pointers.size(); ++i) {
    if (index.lengths[i] < 0)
      return bad("sequence " + std::to_string(i) + " has length " +
                 std::to_string(index.lengths[i]));
    if (pointers[i] != end)
      return bad("sequence " + std::to_string(i) + " starts at byte " +
                 std::to_string(pointers[i]) + " of the .bin, expected " + std::to_string(end) +
                 ", the end of the one before");
    int64_t bytes = index.lengths[i] * index.tokenBytes;
    if (static_cast<uint64_t>(bytes) > binBytes - static_cast<uint64_t>(end))
      return bad("sequence " + std::to_string(i) + " ends at byte " + std::to_string(end + bytes) +
                 ", past the .bin's " + std::to_string(binBytes));
    end += bytes;
  }
  if (static_cast<uint64_t>(end) != binBytes)
    return bad("its sequences have " + std::to_string(end) + " bytes (" +
               std::to_string(index.tokenBytes) + " a token), but the .bin has " +
               std::to_string(binBytes) + ": the two do not belong together");
  index.tokens = end / index.tokenBytes;
  // Document marks: from 0 to the number of sequences, never falling.
  int64_t before = 0;
  for (size_t d = 0; d < index.documents.size(); ++d) {
    int64_t mark = index.documents[d];
    bool ends = d + 1 == index.documents.size();
    if ((d == 0 && mark != 0) || mark < before || mark > static_cast<int64_t>(sequences) ||
        (ends && mark != static_cast<int64_t>(sequences)))
      return bad("document mark " + std::to_string(d) + " is " + std::to_string(mark) +
                 ", expected marks that rise from 0 to " + std::to_string(sequences));
    before = mark;
  }
  return index;
}

StatusOr<FileIdentity> dsc::identifyDataFile(const std::string &path, DataFormat format) {
  StatusOr<MappedFile> file =
      MappedFile::open(format == DataFormat::Megatron ? megatronPrefix(path) + ".idx" : path);
  if (!file)
    return file.status();
  file->adviseSequential();
  return FileIdentity{file->size(), hash64(file->bytes())};
}
