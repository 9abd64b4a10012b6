#include "dsc/Support/File.h"
#include "TempFolder.h"
#include <csignal>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace dsc;
using dsc::test::TempFolder;

static size_t filesIn(const std::string &folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder),
                                           std::filesystem::directory_iterator()));
}

TEST(File, MapsWholeFiles) {
  TempFolder temp;
  auto file = MappedFile::open(temp.write("a", "hello"));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->bytes(), "hello");
  auto empty = MappedFile::open(temp.write("b", ""));
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(empty->size(), 0u);
}

TEST(File, SaysWhyItCannotRead) {
  TempFolder temp;
  EXPECT_EQ(MappedFile::open(temp.path("none")).status().message(),
            "cannot open '" + temp.path("none") + "': No such file or directory");
  EXPECT_NE(MappedFile::open(temp.folder).status().message().find("it is a folder"),
            std::string::npos);
  ASSERT_EQ(::mkfifo(temp.path("pipe").c_str(), 0600), 0);
  EXPECT_NE(MappedFile::open(temp.path("pipe")).status().message().find("not a regular file"),
            std::string::npos);
  EXPECT_NE(readFile(temp.write("long", "12345"), 4).status().message().find("more than the 4"),
            std::string::npos);
}

TEST(File, WithoutCommitNothingChanges) {
  TempFolder temp;
  std::string path = temp.write("a", "old");
  {
    auto file = AtomicFile::create(path);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->write("new").ok());
  }
  EXPECT_EQ(temp.read("a"), "old");
  EXPECT_EQ(filesIn(temp.folder), 1u);
  ASSERT_TRUE(writeFileAtomically(path, "new").ok());
  EXPECT_EQ(temp.read("a"), "new");
  EXPECT_EQ(filesIn(temp.folder), 1u);
}

TEST(File, WritesDevicesAndPipesWhereTheyAre) {
  TempFolder temp;
  std::string pipe = temp.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string got(3, '?');
  std::thread reader([&] {
    int end = ::open(pipe.c_str(), O_RDONLY);
    EXPECT_EQ(::read(end, got.data(), 3), 3);
    ::close(end);
  });
  EXPECT_TRUE(writeFileAtomically(pipe, "new").ok());
  reader.join();
  EXPECT_EQ(got, "new");
  struct stat there;
  ASSERT_EQ(::stat(pipe.c_str(), &there), 0);
  EXPECT_TRUE(S_ISFIFO(there.st_mode));
  EXPECT_EQ(filesIn(temp.folder), 1u);
}

TEST(File, DoesNotReplaceAFolder) {
  TempFolder temp;
  EXPECT_EQ(writeFileAtomically(temp.folder, "new").message(),
            "cannot write '" + temp.folder + "': it is a folder, expected a file");
  EXPECT_EQ(filesIn(temp.folder), 0u);
}

TEST(File, CK_01_KilledWriterLeavesTheOldOrTheNewFile) {
  TempFolder temp;
  std::string path = temp.write("a", std::string(100000, '0'));
  for (int round = 0; round < 10; ++round) {
    pid_t child = ::fork();
    if (child == 0) {
      for (char c = 'a';; c = c == 'z' ? 'a' : static_cast<char>(c + 1))
        if (!writeFileAtomically(path, std::string(100000, c)).ok())
          ::_exit(1);
    }
    ::usleep(static_cast<useconds_t>(2000 + 1700 * round));
    ::kill(child, SIGKILL);
    int status;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    std::string text = temp.read("a");
    ASSERT_EQ(text.size(), 100000u);
    EXPECT_EQ(text, std::string(100000, text[0]));
  }
}

TEST(File, CK_01_FullDiskKeepsTheOldFile) {
  TempFolder temp;
  std::string path = temp.write("a", "old");
  pid_t child = ::fork();
  if (child == 0) {
    // A limit on file size stands for a full disk: write fails half way.
    std::signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    Status status = writeFileAtomically(path, std::string(5000, 'x'));
    ::_exit(!status.ok() && status.message().starts_with("cannot write") ? 0 : 1);
  }
  int status;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(temp.read("a"), "old");
  EXPECT_EQ(filesIn(temp.folder), 1u);
}

TEST(File, CK_02_TwoWritersNeverMix) {
  TempFolder temp;
  std::string path = temp.path("a");
  auto save = [&](char c, size_t size) {
    for (int i = 0; i < 200; ++i)
      EXPECT_TRUE(writeFileAtomically(path, std::string(size, c)).ok());
  };
  std::thread other(save, 'x', 5000);
  save('y', 9000);
  other.join();
  std::string text = temp.read("a");
  EXPECT_TRUE(text == std::string(5000, 'x') || text == std::string(9000, 'y'));
  EXPECT_EQ(filesIn(temp.folder), 1u);
}

TEST(File, Paths) {
  EXPECT_EQ(joinPath("a/b", "c"), "a/b/c");
  EXPECT_EQ(joinPath("a/", "c"), "a/c");
  EXPECT_EQ(joinPath("", "c"), "c");
  EXPECT_EQ(joinPath("a", "/c"), "/c");
}
