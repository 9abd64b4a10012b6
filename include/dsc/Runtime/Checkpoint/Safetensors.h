//===- Safetensors.h - reading and writing model.safetensors ---------------===//
// Layout: u64 little-endian header length, JSON header padded with spaces to 8 bytes, data. Input
// is hostile: every number is checked before it is used, tensors must tile the data without gap,
// overlap or rest.
#ifndef DSC_RUNTIME_CHECKPOINT_SAFETENSORS_H
#define DSC_RUNTIME_CHECKPOINT_SAFETENSORS_H

#include "dsc/Support/File.h"
#include "dsc/Support/Status.h"
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dsc {

enum class SafeType : uint8_t {
  Bool,
  U8,
  I8,
  F8E5M2,
  F8E4M3,
  I16,
  U16,
  F16,
  BF16,
  I32,
  U32,
  F32,
  F64,
  I64,
  U64
};
const char *safeTypeName(SafeType type); ///< BOOL, U8, ...
int64_t safeTypeSize(SafeType type);
std::optional<SafeType> parseSafeType(std::string_view name);

struct SafeTensor {
  std::string name;
  SafeType type;
  std::vector<int64_t> shape;
  uint64_t begin, end; ///< bytes of the data section
  int64_t elements() const;
};

struct SafeHeader {
  std::vector<SafeTensor> tensors; ///< in the order of the header's keys
  std::vector<std::pair<std::string, std::string>> metadata;
  uint64_t dataOffset = 0;
};

/// Checks the whole file; damage is reported with rule and numbers, code Input. `path` is for
/// messages only.
StatusOr<SafeHeader> parseSafetensors(std::string_view file, const std::string &path);

/// The same from the length field and the header alone; `fileBytes` is the size of the whole file.
StatusOr<SafeHeader> parseSafetensorsHeader(std::string_view start, uint64_t fileBytes,
                                            const std::string &path);

/// Length field and header of a file whose tensors lie in this order; offsets are filled in.
std::string safetensorsHeader(std::vector<SafeTensor> &tensors);

/// A mapped file.
class SafetensorsFile {
public:
  static StatusOr<std::shared_ptr<const SafetensorsFile>> open(const std::string &path);
  const SafeHeader &header() const { return head; }
  const std::string &path() const { return file.path(); }
  const SafeTensor *find(std::string_view name) const;
  const uint8_t *data(const SafeTensor &tensor) const {
    return file.data() + head.dataOffset + tensor.begin;
  }
  /// The length field and the header as they are in the file.
  std::string_view headerBytes() const { return file.bytes().substr(0, head.dataOffset); }

private:
  MappedFile file;
  SafeHeader head;
  std::map<std::string, size_t, std::less<>> index;
};

/// Elements [begin, begin + count) of a floating-point tensor, converted. F16, BF16, F32, F64
/// sources.
void convertElements(const uint8_t *source, SafeType type, int64_t begin, int64_t count,
                     float *out);
void convertElements(const uint8_t *source, SafeType type, int64_t begin, int64_t count,
                     double *out);

} // namespace dsc

#endif // DSC_RUNTIME_CHECKPOINT_SAFETENSORS_H
