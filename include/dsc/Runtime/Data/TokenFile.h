//===- TokenFile.h - a file as one stream of token ids ---------------------===//
// text, megatron and uint16 files. Nothing is loaded: a window is converted to int32 when it is
// asked for.
#ifndef DSC_RUNTIME_DATA_TOKENFILE_H
#define DSC_RUNTIME_DATA_TOKENFILE_H

#include "dsc/Frontend/Spec.h"
#include "dsc/Support/Status.h"
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dsc {

/// Byte vocabulary: ids 0 to 255 are bytes, 256 ends a text.
inline constexpr int32_t endOfTextId = 256;
inline constexpr int64_t byteVocabularySize = 257;

class TokenFile {
public:
  virtual ~TokenFile() = default;

  /// `format` is not Replay. text: ids are the file's bytes as they are (line ends, blank lines and
  /// bytes that are no UTF-8 alike; one byte-order mark at the start is left out), then
  /// endOfTextId. megatron: `path` is the common prefix, the .bin or the .idx. uint16: two bytes a
  /// token, little endian. A text with a `separator` is a document between each two of them, each
  /// with an endOfTextId of its own; separators are no tokens, nor are empty documents.
  static StatusOr<std::unique_ptr<TokenFile>> open(const std::string &path, DataFormat format,
                                                   const std::string &separator = {});

  /// Tokens in the stream.
  int64_t size() const { return tokens; }
  const std::string &path() const { return name; }
  /// The token behind each document, rising up to size(): those of a Megatron index, those between
  /// separators, else one. Documents without a token do not count.
  virtual std::vector<int64_t> documentEnds() const { return {tokens}; }
  /// Copies tokens [begin, begin + count), which lie inside the stream. Error with file, byte
  /// offset and id when an id is negative or not below `vocabulary`.
  virtual Status read(int64_t begin, int64_t count, int64_t vocabulary, int32_t *out) const = 0;

protected:
  std::string name;
  int64_t tokens = 0;
};

/// The index of a Megatron pair, checked against the bytes of the index and `binBytes`.
struct MegatronIndex {
  uint8_t dtype = 0; ///< 1 uint8, 2 int8, 3 int16, 4 int32, 5 int64, 6 float64, 7 float32, 8 uint16
  int64_t tokenBytes = 0;
  int64_t tokens = 0;
  std::vector<int32_t> lengths;   ///< tokens of each sequence
  std::vector<int64_t> documents; ///< document d is sequences [documents[d], documents[d + 1])
};
StatusOr<MegatronIndex> parseMegatronIndex(std::string_view idx, uint64_t binBytes,
                                           const std::string &path);

/// What a plan stores to recognise a data file: bytes and hash64 of the file; of a Megatron pair,
/// of the index.
struct FileIdentity {
  uint64_t bytes = 0, hash = 0;
};
StatusOr<FileIdentity> identifyDataFile(const std::string &path, DataFormat format);

} // namespace dsc

#endif // DSC_RUNTIME_DATA_TOKENFILE_H
