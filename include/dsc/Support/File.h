//===- File.h - reading by mapping, writing so that a file is whole or old --===//
#ifndef DSC_SUPPORT_FILE_H
#define DSC_SUPPORT_FILE_H

#include "dsc/Support/Status.h"
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dsc {

/// A whole file, mapped read-only. An empty file is an empty view. Moves, does not copy.
class MappedFile {
public:
  MappedFile() = default;
  MappedFile(MappedFile &&other) noexcept { *this = std::move(other); }
  MappedFile &operator=(MappedFile &&other) noexcept;
  ~MappedFile();

  /// Error (Input) with path and the system's reason. Directories, pipes and devices are refused.
  static StatusOr<MappedFile> open(const std::string &path);

  const std::string &path() const { return name; }
  size_t size() const { return length; }
  const uint8_t *data() const { return static_cast<const uint8_t *>(address); }
  std::string_view bytes() const { return {static_cast<const char *>(address), length}; }
  /// Tells the kernel that the file will be read from front to back, or at random.
  void adviseSequential() const;
  void adviseRandom() const;

private:
  std::string name;
  void *address = nullptr;
  size_t length = 0;
};

/// Reads a whole file of at most `limit` bytes into memory.
StatusOr<std::string> readFile(const std::string &path, size_t limit = size_t{1} << 30);

/// Writes a file beside its place under a name of its own, then commit() syncs it, renames it over
/// `path` and syncs the folder: whoever opens `path` finds the old file or the whole new one.
/// Without commit() the temporary file is removed. Errors carry code Input with path and reason
/// (callers that save may recode).
class AtomicFile {
public:
  AtomicFile() = default;
  AtomicFile(AtomicFile &&other) noexcept { *this = std::move(other); }
  AtomicFile &operator=(AtomicFile &&other) noexcept;
  ~AtomicFile();

  static StatusOr<AtomicFile> create(const std::string &path);
  Status write(const void *data, size_t bytes);
  Status write(std::string_view bytes) { return write(bytes.data(), bytes.size()); }
  Status commit();

private:
  void discard();
  std::string path, temporary;
  int descriptor = -1;
};

/// create, write, commit.
Status writeFileAtomically(const std::string &path, std::string_view bytes);

/// mkdir -p. An existing folder is fine.
Status makeFolders(const std::string &path);

/// Makes the folder if need be and asks whether files can be made in it, so that what is written
/// hours later fails now. Code Input.
Status checkWritable(const std::string &folder);

/// `path` if absolute or `folder` empty, else folder/path.
std::string joinPath(const std::string &folder, const std::string &path);

} // namespace dsc

#endif // DSC_SUPPORT_FILE_H
