//===- AtomicFolderTest.cpp - a folder is old or new -------------------------===//
#include "dsc/Support/AtomicFolder.h"
#include "TempFolder.h"
#include <gtest/gtest.h>
#include <thread>

using namespace dsc;

static Status writeFolder(const std::string &path, const std::string &contents) {
  auto folder = AtomicFolder::create(path);
  if (!folder.ok())
    return folder.status();
  for (const char *name : {"one", "two"}) {
    if (Status status = folder->begin(name); !status.ok())
      return status;
    for (char byte : contents)
      if (Status status = folder->write(&byte, 1); !status.ok())
        return status;
    auto file = folder->end();
    if (!file.ok())
      return file.status();
    EXPECT_EQ(file->bytes, contents.size());
    EXPECT_EQ(file->hash, hash64(contents));
  }
  return folder->commit();
}

static size_t entries(const std::string &folder) {
  size_t count = 0;
  for ([[maybe_unused]] const auto &entry : std::filesystem::directory_iterator(folder))
    ++count;
  return count;
}

TEST(AtomicFolder, ReplacesAFolderAndLeavesNothingElse) {
  test::TempFolder temp;
  for (const char *contents : {"a", "bb", "ccc"}) {
    ASSERT_TRUE(writeFolder(temp.path("x"), contents).ok());
    EXPECT_EQ(temp.read("x/one"), contents);
    EXPECT_EQ(temp.read("x/two"), contents);
    EXPECT_EQ(entries(temp.folder), 1u);
  }
}

TEST(AtomicFolder, WithoutCommitItNeverWas) {
  test::TempFolder temp;
  {
    auto folder = AtomicFolder::create(temp.path("x"));
    ASSERT_TRUE(folder.ok());
    ASSERT_TRUE(folder->begin("one").ok());
    ASSERT_TRUE(folder->write("abc").ok());
    EXPECT_FALSE(std::filesystem::exists(temp.path("x")));
    EXPECT_EQ(entries(temp.folder), 1u);
  }
  EXPECT_EQ(entries(temp.folder), 0u);
}

TEST(AtomicFolder, ErrorsNameTheFile) {
  test::TempFolder temp;
  auto folder = AtomicFolder::create(temp.path("absent/x"));
  ASSERT_FALSE(folder.ok());
  EXPECT_NE(folder.status().message().find("absent/x': No such file or directory"),
            std::string::npos)
      << folder.status().message();
  // A file in the way is left alone.
  temp.write("file", "kept");
  Status status = writeFolder(temp.path("file"), "a");
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(temp.read("file"), "kept");
  EXPECT_EQ(entries(temp.folder), 1u);
}

TEST(AtomicFolder, TwoWritersAlwaysLeaveOneWholeFolder) {
  test::TempFolder temp;
  auto writer = [&](const std::string &contents) {
    for (int i = 0; i < 20; ++i) {
      Status status = writeFolder(temp.path("x"), contents);
      EXPECT_TRUE(status.ok()) << status.message();
    }
  };
  std::thread other(writer, std::string(300, 'b'));
  writer(std::string(200, 'a'));
  other.join();
  std::string one = temp.read("x/one");
  EXPECT_TRUE(one == std::string(200, 'a') || one == std::string(300, 'b'));
  EXPECT_EQ(temp.read("x/two"), one);
  EXPECT_EQ(entries(temp.folder), 1u);
}
