//===- AtomicFolder.h - a folder that is old or new, never half ------------===//
#ifndef DSC_SUPPORT_ATOMICFOLDER_H
#define DSC_SUPPORT_ATOMICFOLDER_H

#include "dsc/Support/Hash.h"
#include "dsc/Support/Status.h"
#include <optional>
#include <string>
#include <string_view>

namespace dsc {

/// Temporary folders start so, in the folder where the finished one will be.
inline constexpr std::string_view temporaryPrefix = ".tmp-";

/// A folder filled beside its place under a name no other writer has, process or thread. commit()
/// syncs it and renames it into place, in one step even where a folder is already: whoever looks
/// finds the old folder or the whole new one. Without commit() it is removed.
///
///   create, (begin, write..., end)..., commit
///
/// Files are written with write(2), so that a full disk is an error and not a signal, and each is
/// synced by end(). Errors carry code Input with path and the system's reason.
class AtomicFolder {
public:
  struct File {
    uint64_t bytes, hash; ///< hash64 of the contents
  };

  AtomicFolder() = default;
  AtomicFolder(AtomicFolder &&other) noexcept { *this = std::move(other); }
  AtomicFolder &operator=(AtomicFolder &&other) noexcept;
  ~AtomicFolder();

  /// `path`: where it will be. The folder above must exist.
  static StatusOr<AtomicFolder> create(const std::string &path);

  /// Starts a file; `name` has no slash and is new.
  Status begin(const std::string &name);
  Status write(const void *data, size_t bytes);
  Status write(std::string_view bytes) { return write(bytes.data(), bytes.size()); }
  StatusOr<File> end();

  Status commit();

private:
  Status publish();
  Status failed(const std::string &what) const;
  void discard();

  std::string path, temporary, file; ///< `temporary` empty: nothing to remove
  int descriptor = -1;
  uint64_t written = 0;
  std::optional<Hash64> hash;
};

/// fsync of a folder: makes creations, renames and removals in it last.
Status syncFolder(const std::string &path);

} // namespace dsc

#endif // DSC_SUPPORT_ATOMICFOLDER_H
