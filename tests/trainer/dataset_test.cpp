// SPDX-License-Identifier: MIT
/// IDX files, whole and damaged; data sets; SHA-256.
#include "ringside/trainer/data/dataset.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/file.hpp"
#include "ringside/trainer/data/idx.hpp"
#include "ringside/trainer/sha256.hpp"

namespace ringside::tests {
namespace {

namespace fs = std::filesystem;

/// A folder of its own for the test, removed afterwards.
class Files : public ::testing::Test {
 protected:
  Files() { fs::create_directories(folder_); }
  ~Files() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }
  std::string write(const std::string& name, const std::string& contents) const {
    write_file(path(name), contents);
    return path(name);
  }

  static std::string word(std::uint32_t number) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8)
      bytes += static_cast<char>(number >> static_cast<unsigned>(shift));
    return bytes;
  }
  static std::string images(std::uint32_t count, std::uint32_t side = 28) {
    return word(0x803) + word(count) + word(side) + word(side) +
           std::string(std::size_t{count} * side * side, '\x7f');
  }
  static std::string labels(const std::string& values) {
    return word(0x801) + word(static_cast<std::uint32_t>(values.size())) + values;
  }
  /// A whole data set of three training and two test images.
  void write_all() const {
    write("train-images-idx3-ubyte", images(3));
    write("train-labels-idx1-ubyte", labels({0, 5, 9}));
    write("t10k-images-idx3-ubyte", images(2));
    write("t10k-labels-idx1-ubyte", labels({1, 2}));
  }
  static std::string refusal(const std::function<void()>& body) {
    try {
      body();
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }

 private:
  fs::path folder_ = fs::temp_directory_path() /
                     fmt::format("ringside_dataset_{}_{}", ::getpid(),
                                 ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

std::string gzipped(const std::string& contents) {
  std::string packed(compressBound(contents.size()) + 64, '\0');
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(contents.data()));
  stream.avail_in = static_cast<uInt>(contents.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

TEST_F(Files, PackedAndPlainReadAlike) {
  const auto plain = trainer::read_idx(write("plain", images(2)), 3);
  const auto packed = trainer::read_idx(write("packed.gz", gzipped(images(2))), 3);
  EXPECT_EQ(plain.sizes, (std::vector<std::size_t>{2, 28, 28}));
  EXPECT_EQ(plain.bytes, packed.bytes);
  EXPECT_EQ(plain.digest, packed.digest);
}

TEST_F(Files, DamagedOnesAreRefusedWithTheReason) {
  const auto read = [&](const std::string& contents, std::size_t dimensions = 3) {
    return refusal([&] { (void)trainer::read_idx(write("it", contents), dimensions); });
  };
  EXPECT_NE(read("").find("it is empty"), std::string::npos);
  EXPECT_NE(read("<html>").find("begins with 3c 68 74 6d"), std::string::npos);
  EXPECT_NE(read(labels("\1")).find("no IDX file"), std::string::npos) << "labels for images";
  EXPECT_NE(read(word(0x803) + word(1)).find("cut off in its header"), std::string::npos);
  EXPECT_NE(read(images(2).substr(0, 1000)).find("there are 984"), std::string::npos);
  EXPECT_NE(read(images(2) + "x").find("there are 1569"), std::string::npos);
  EXPECT_NE(read(word(0x803) + word(0xffffffff) + word(28) + word(28)).find("1 GiB"),
            std::string::npos);
  const std::string packed = gzipped(images(100));
  EXPECT_NE(read(packed.substr(0, packed.size() / 2)).find("cut off"), std::string::npos);
  std::string spoilt = packed;
  spoilt[spoilt.size() - 6] ^= '\x55';  // its checksum
  EXPECT_NE(read(spoilt).find("damaged"), std::string::npos);
  fs::create_directory(path("folder"));
  EXPECT_NE(refusal([&] { (void)trainer::read_idx(path("folder"), 3); }).find("it is a folder"),
            std::string::npos);
  EXPECT_NE(refusal([&] { (void)trainer::read_idx(path("absent"), 3); }).find("No such file"),
            std::string::npos);
}

TEST_F(Files, MakeADataset) {
  write_all();
  const auto data = trainer::read_dataset(path(""));
  EXPECT_EQ(data.training.count(), 3U);
  EXPECT_EQ(data.test.labels, (std::vector<std::uint8_t>{1, 2}));
  EXPECT_NE(data.name.find("not the published"), std::string::npos);
  const std::vector<std::uint32_t> numbers = {2, 0};
  const auto batch = data.training.batch(numbers);
  EXPECT_EQ(batch.labels, (std::vector<std::uint8_t>{9, 0}));
  EXPECT_EQ(batch.samples(), 2U);
}

TEST_F(Files, ThatDoNotFitAreRefused) {
  const auto refused = [&](const std::string& file, const std::string& contents) {
    write_all();
    write(file, contents);
    return refusal([&] { (void)trainer::read_dataset(path("")); });
  };
  EXPECT_NE(refused("train-images-idx3-ubyte", images(3, 32)).find("32 x 32"), std::string::npos);
  EXPECT_NE(refused("t10k-labels-idx1-ubyte", labels("\1")).find("1 labels"), std::string::npos);
  EXPECT_NE(refused("train-labels-idx1-ubyte", labels({0, 10, 1})).find("label 1 is 10"),
            std::string::npos);
  write_all();
  fs::remove(path("t10k-images-idx3-ubyte"));
  EXPECT_NE(refusal([&] { (void)trainer::read_dataset(path("")); }).find("dataset-fashion-mnist"),
            std::string::npos);
}

TEST(FashionMnist, IsTheOnePublished) {
  if (!fs::exists("/usr/share/datasets/fashion-mnist")) GTEST_SKIP() << "not installed";
  const auto data = trainer::read_dataset();
  EXPECT_EQ(data.training.count(), 60'000U);
  EXPECT_EQ(data.test.count(), 10'000U);
  EXPECT_NE(data.name.find("checked"), std::string::npos);
}

TEST(SyntheticData, IsTheSameForASeedAndHasAllClasses) {
  const auto one = trainer::synthetic_dataset(300, 20, 1);
  EXPECT_EQ(one.training.pixels, trainer::synthetic_dataset(300, 20, 1).training.pixels);
  EXPECT_NE(one.training.pixels, trainer::synthetic_dataset(300, 20, 2).training.pixels);
  for (std::uint8_t label = 0; label < 10; ++label)
    EXPECT_NE(std::count(one.training.labels.begin(), one.training.labels.end(), label), 0);
}

TEST(Sha256, GivesTheStandardsExamples) {
  const auto of = [](const std::string& text) {
    return trainer::to_hex(trainer::sha256(std::as_bytes(std::span(text))));
  };
  // FIPS 180-4's examples, and lengths around the end of a block.
  EXPECT_EQ(of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(of(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

}  // namespace
}  // namespace ringside::tests
