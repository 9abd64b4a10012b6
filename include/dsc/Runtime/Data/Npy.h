//===- Npy.h - NumPy's .npy arrays -----------------------------------------===//
// Format versions 1 to 3, C order, little endian: <i4, <i8, <f4, <f8. Hostile until checked: the
// header's length, the product of the shape and the bytes that remain agree before anything is
// allocated.
#ifndef DSC_RUNTIME_DATA_NPY_H
#define DSC_RUNTIME_DATA_NPY_H

#include "dsc/Support/File.h"
#include "dsc/Support/Status.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dsc {

enum class NpyType : uint8_t { Int32, Int64, Float32, Float64 };
const char *npyTypeName(NpyType type); ///< int32, ...
int64_t npyTypeSize(NpyType type);

struct NpyHeader {
  NpyType type = NpyType::Float32;
  std::vector<int64_t> shape;
  uint64_t dataOffset = 0; ///< bytes from the start of the file
  int64_t elements = 0;
};

/// Reads and checks the header against the size of the whole file. `path` is for messages only.
StatusOr<NpyHeader> parseNpyHeader(std::string_view file, const std::string &path);

/// A mapped array.
class NpyArray {
public:
  static StatusOr<NpyArray> open(const std::string &path);
  const NpyHeader &header() const { return head; }
  const std::string &path() const { return file.path(); }
  /// First element; the address may be unaligned for its type, so copy with memcpy.
  const uint8_t *data() const { return file.data() + head.dataOffset; }

private:
  MappedFile file;
  NpyHeader head;
};

/// Writes version 1.0 in C order, atomically; `data` holds the product of `shape` elements.
Status writeNpy(const std::string &path, NpyType type, const std::vector<int64_t> &shape,
                const void *data);

} // namespace dsc

#endif // DSC_RUNTIME_DATA_NPY_H
