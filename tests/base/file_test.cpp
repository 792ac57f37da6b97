// SPDX-License-Identifier: MIT
/// Files: limits, and that a write replaces the file whole or not at all.
#include "ringside/base/file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "ringside/base/error.hpp"
#include "ringside/base/target_file.hpp"

namespace ringside {
namespace {

namespace fs = std::filesystem;

class File : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "ringside_file_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }
  [[nodiscard]] std::ptrdiff_t entries() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }

  fs::path folder_;
};

template <class Function>
ErrorCode code_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.code();
  }
  return ErrorCode{};
}

TEST_F(File, WhatWasWrittenIsRead) {
  const std::string all_bytes = [] {
    std::string bytes;
    for (int i = 0; i < 300'000; ++i) bytes += static_cast<char>(i);
    return bytes;
  }();
  for (const auto& contents : {std::string(), std::string("one line\n"), all_bytes}) {
    write_file(path("a"), contents);
    EXPECT_EQ(read_file(path("a")), contents);
  }
  EXPECT_EQ(entries(), 1);  // no temporary stays behind
}

TEST_F(File, TheLimitIsInclusive) {
  write_file(path("a"), std::string(1000, 'x'));
  EXPECT_EQ(read_file(path("a"), 1000).size(), 1000U);
  EXPECT_EQ(code_of([&] { (void)read_file(path("a"), 999); }), ErrorCode::bad_input);
  EXPECT_EQ(code_of([&] { (void)read_file(path("a"), 0); }), ErrorCode::bad_input);
  EXPECT_EQ(read_file(path("a"), static_cast<std::size_t>(-1)).size(), 1000U);
}

TEST_F(File, AnEndlessDeviceStopsAtTheLimit) {
  EXPECT_EQ(code_of([] { (void)read_file("/dev/zero", 100'000); }), ErrorCode::bad_input);
}

TEST_F(File, MissingFilesAndFoldersAreIoErrorsThatNameThem) {
  try {
    (void)read_file(path("absent"));
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_EQ(std::string(error.what()),
              "cannot open \"" + path("absent") + "\": no such file or directory");
  }
  EXPECT_EQ(code_of([&] { (void)read_file(folder_.string()); }), ErrorCode::io);
  EXPECT_EQ(code_of([&] { write_file(path("absent/a"), "x"); }), ErrorCode::io);
}

TEST_F(File, AnOpenReaderKeepsTheOldContents) {
  write_file(path("a"), "old");
  std::ifstream reader(path("a"));
  write_file(path("a"), "new contents");
  std::string seen;
  std::getline(reader, seen);
  EXPECT_EQ(seen, "old");
  EXPECT_EQ(read_file(path("a")), "new contents");
}

TEST_F(File, TheModeIsTheOldFilesOrTheUsualOne) {
  const auto mode = [&] {
    struct stat info {};
    EXPECT_EQ(::stat(path("a").c_str(), &info), 0);
    return info.st_mode & 0777U;
  };
  const mode_t mask = ::umask(022);
  write_file(path("a"), "x");
  EXPECT_EQ(mode(), 0644U);
  ::chmod(path("a").c_str(), 0600);
  write_file(path("a"), "y");
  EXPECT_EQ(mode(), 0600U);
  ::umask(mask);
}

TEST_F(File, ASymbolicLinkStaysOne) {
  write_file(path("target"), "old");
  fs::create_symlink("target", path("link"));
  write_file(path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read_file(path("target")), "new");
}

TEST_F(File, ASymbolicLinkToNothingYetStaysOne) {
  fs::create_symlink("target", path("link"));
  check_writable(path("link"));
  write_file(path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read_file(path("target")), "new");
}

TEST_F(File, OneThatCannotBeWrittenIsFoundOutBefore) {
  const auto refusal = [](const std::string& name) -> std::string {
    try {
      check_writable(name);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal(path("new")), "");
  EXPECT_EQ(refusal("/dev/null"), "");
  EXPECT_NE(refusal(path("")).find("is a directory"), std::string::npos);
  EXPECT_NE(refusal(path("absent/new")).find("no such file or directory"), std::string::npos);
  fs::create_symlink("absent/new", path("link"));
  EXPECT_NE(refusal(path("link")).find("no such file or directory"), std::string::npos);
  EXPECT_FALSE(fs::exists(path("new"))) << "asking writes nothing";
}

TEST_F(File, ADeviceIsWrittenToNotReplaced) {
  write_file("/dev/null", "x");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(File, AnotherUsersLinkInASharedFolderIsNotFollowed) {
  if (::geteuid() != 0) GTEST_SKIP() << "a link of another user's takes root to make";
  constexpr uid_t nobody = 65534;
  write_file(path("target"), "old");
  fs::create_directory(path("shared"));
  ASSERT_EQ(::chmod(path("shared").c_str(), 01777), 0);
  const std::string link = path("shared/link");
  fs::create_symlink("../target", link);
  write_file(link, "by our own link");
  ASSERT_EQ(::lchown(link.c_str(), nobody, nobody), 0);
  EXPECT_EQ(code_of([&] { write_file(link, "by another's"); }), ErrorCode::io);
  EXPECT_EQ(code_of([&] { check_writable(link); }), ErrorCode::io);
  EXPECT_EQ(read_file(path("target")), "by our own link");
  EXPECT_TRUE(fs::is_symlink(link));

  const std::string to_device = path("shared/device");
  fs::create_symlink("/dev/null", to_device);
  write_file(to_device, "by our own link");
  ASSERT_EQ(::lchown(to_device.c_str(), nobody, nobody), 0);
  try {
    write_file(to_device, "by another's");
    ADD_FAILURE() << "what is written to directly was written to";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("another user's link"), std::string::npos);
  }
}

TEST_F(File, WhatAnotherUserMadeLendsItsModeToNoFileOfOurs) {
  if (::geteuid() != 0) GTEST_SKIP() << "a file of another user's takes root to make";
  constexpr uid_t nobody = 65534;
  write_file(path("a"), "old");
  ASSERT_EQ(::chown(path("a").c_str(), nobody, nobody), 0);
  ASSERT_EQ(::chmod(path("a").c_str(), 06777), 0);
  write_file(path("a"), "new");
  struct stat now {};
  ASSERT_EQ(::stat(path("a").c_str(), &now), 0);
  EXPECT_EQ(now.st_mode & 07022U, 0u);
}

}  // namespace
}  // namespace ringside
