//===- TempFolder.h - a folder of a test's own, removed at its end -----------===//
#ifndef DSC_TEST_UNIT_SUPPORT_TEMPFOLDER_H
#define DSC_TEST_UNIT_SUPPORT_TEMPFOLDER_H

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdlib.h>
#include <string>
#include <string_view>

namespace dsc::test {

class TempFolder {
public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "dsc-test-XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
  }
  ~TempFolder() { std::filesystem::remove_all(folder); }
  TempFolder(const TempFolder &) = delete;

  std::string path(const std::string &name) const { return folder + "/" + name; }
  std::string write(const std::string &name, std::string_view bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  std::string read(const std::string &name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string folder;
};

/// The bytes of numbers, as they are in memory.
template <typename Number> void append(std::string &bytes, Number value) {
  bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
}

} // namespace dsc::test

#endif // DSC_TEST_UNIT_SUPPORT_TEMPFOLDER_H
