// SPDX-License-Identifier: MIT
/// Checkpoints: whole ones come back, all others are refused, the previous one is kept.
#include "ringside/trainer/checkpoint.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "ringside/base/file.hpp"
#include "ringside/tests/trainer/learning.hpp"
#include "ringside/trainer/sha256.hpp"

namespace ringside::tests {
namespace {

namespace fs = std::filesystem;
using trainer::Checkpoint;
using trainer::Model;
using trainer::ModelSettings;

const ModelSettings model{.model = Model::mlp, .width = 5, .seed = 11};

std::unique_ptr<trainer::Replica> replica_of(const ModelSettings& settings = model) {
  return trainer::engine_for(Model::mlp)->make_replica(settings, 1);
}

Checkpoint example(std::uint64_t epoch = 3, std::uint64_t seed = 11) {
  ModelSettings settings = model;
  settings.seed = seed;
  return take_checkpoint(*replica_of(settings), settings, 64, {epoch, 2});
}

TEST(Checkpoint, ComesBackAsItWas) {
  Checkpoint before = example();
  before.samples = 7;
  before.data_digest = "0123";
  before.recipe = {0.1, 0.05, 1.5, 0.9, 1e-4, true};
  const Checkpoint after = trainer::parse_checkpoint(to_file_contents(before), "it");
  EXPECT_EQ(after.samples, 7U);
  EXPECT_EQ(after.data_digest, "0123");
  EXPECT_EQ(after.recipe, before.recipe);
  EXPECT_EQ(after.position, before.position);
  EXPECT_EQ(after.batch, 64U);
  EXPECT_EQ(after.model.seed, 11U);
  EXPECT_EQ(after.model.width, 5);
  EXPECT_EQ(after.tensors.size(), before.tensors.size());
  const auto other = replica_of({.model = Model::mlp, .width = 5, .seed = 99});
  restore(after, *other);
  EXPECT_TRUE(same_bits(take_checkpoint(*other, model, 64, {3, 2}), before));
}

TEST(Checkpoint, HasTheModelsOwnNamesAndIsReadAsSafetensors) {
  const std::string contents = to_file_contents(example());
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i)
    length = length << 8U | static_cast<unsigned char>(contents[static_cast<std::size_t>(i)]);
  EXPECT_EQ(length % 8, 0U);
  const std::string header = contents.substr(8, length);
  EXPECT_NE(
      header.find(R"("hidden.weight":{"dtype":"F32","shape":[784,5],"data_offsets":[0,15680]})"),
      std::string::npos)
      << header;
  EXPECT_NE(header.find(R"("output.bias")"), std::string::npos);
  EXPECT_NE(header.find(R"("__metadata__":{)"), std::string::npos);
}

TEST(Checkpoint, IsRefusedWhateverByteIsWrong) {
  const std::string contents = to_file_contents(example());
  const std::size_t header = 8 + 600;
  for (std::size_t at = 0; at < contents.size(); at += at < header ? 7 : 997) {
    std::string damaged = contents;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    EXPECT_THROW((void)trainer::parse_checkpoint(damaged, "it"), Error) << at;
  }
}

TEST(Checkpoint, IsRefusedWhereverItIsCutOff) {
  const std::string contents = to_file_contents(example());
  for (const std::size_t length : {0UL, 7UL, 8UL, 100UL, contents.size() / 2, contents.size() - 1})
    EXPECT_THROW((void)trainer::parse_checkpoint(contents.substr(0, length), "it"), Error);
  EXPECT_THROW((void)trainer::parse_checkpoint(contents + "x", "it"), Error);
}

/// A file with this table of tensors, and with the SHA-256 that it should have.
std::string signed_file(const std::string& tensors, const std::string& data) {
  const std::string zeros(64, '0');
  std::string header =
      R"({"__metadata__":{"format":"ringside checkpoint 2","model":"mlp","width":"5",)"
      R"("precision":"float32","seed":"1","batch":"1","epoch":"0","step":"0","samples":"1",)"
      R"("data_sha256":"","learning_rate":"1","warmup_from":"0","warmup_epochs":"0","momentum":"0",)"
      R"("decay":"0","sha256":")" +
      zeros + "\"}" + tensors + "}";
  std::string contents;
  for (std::size_t i = 0; i < 8; ++i) contents += static_cast<char>(header.size() >> 8 * i);
  contents += header + data;
  const auto digest = trainer::sha256(std::as_bytes(std::span(contents)));
  return contents.replace(contents.find(zeros), 64, trainer::to_hex(digest));
}

TEST(Checkpoint, WhoseTableDoesNotFitItsDataIsRefused) {
  const std::string data(16, '\0');
  const auto with_tensor = [&](const std::string& entry) {
    return signed_file(R"(,"a":)" + entry, data);
  };
  EXPECT_NO_THROW((void)trainer::parse_checkpoint(
      with_tensor(R"({"dtype":"F32","shape":[2,2],"data_offsets":[0,16]})"), "it"));
  for (const char* entry :
       {R"({"dtype":"F32","shape":[2,2],"data_offsets":[0,17]})",
        R"({"dtype":"F32","shape":[2,2],"data_offsets":[16,0]})",
        R"({"dtype":"F32","shape":[2,2],"data_offsets":[-16,0]})",
        R"({"dtype":"F32","shape":[2,3],"data_offsets":[0,16]})",
        R"({"dtype":"F32","shape":[-4],"data_offsets":[0,16]})",
        R"({"dtype":"F64","shape":[2],"data_offsets":[0,16]})",
        R"({"dtype":"F32","shape":[2147483648,8589934592],"data_offsets":[0,0]})",
        R"({"dtype":"F32","shape":[4],"data_offsets":[0,16,16]})", R"({"dtype":"F32","shape":[4]})",
        R"(4)"})
    EXPECT_THROW((void)trainer::parse_checkpoint(with_tensor(entry), "it"), Error) << entry;
}

TEST(Checkpoint, OfAnotherModelIsRefused) {
  const auto wider = replica_of({.model = Model::mlp, .width = 6});
  EXPECT_THROW(restore(example(), *wider), Error);
  Checkpoint incomplete = example();
  incomplete.tensors.pop_back();
  EXPECT_THROW(restore(incomplete, *replica_of()), Error);
  Checkpoint more = example();
  more.tensors.push_back({"module.fc.weight", {1}, std::vector<std::byte>(4)});
  EXPECT_THROW(restore(more, *replica_of()), Error);
}

TEST(Checkpoint, KeepsMomentum) {
  const auto replica = replica_of();
  replica->keep_velocity();
  replica->velocity().as<float>()[3] = 0.25F;
  const Checkpoint saved = take_checkpoint(*replica, model, 64, {});
  const auto other = replica_of();
  other->keep_velocity();
  restore(saved, *other);
  EXPECT_EQ(other->velocity().as<float>()[3], 0.25F);
  restore(saved, *replica_of());  // who keeps none does not need it
  restore(example(), *other);
}

TEST(Checkpoint, TakesMomentumThatIsKeptElsewhere) {
  const auto replica = replica_of();
  const auto& layout = replica->tensors().parameters;
  std::vector<std::byte> velocity(layout.elements() * sizeof(float));
  for (std::size_t tensor = 0; tensor < layout.size(); ++tensor)
    velocity[layout.extent(tensor).offset * sizeof(float)] = std::byte{1};
  Checkpoint saved = example();
  EXPECT_EQ(velocity_of(saved, layout), std::vector<std::byte>(velocity.size())) << "none: zero";
  add_velocity(saved, layout, velocity);
  EXPECT_EQ(velocity_of(saved, layout), velocity);
  replica->keep_velocity();
  restore(saved, *replica);
  EXPECT_NE(replica->velocity().as<float>()[layout.extent(1).offset], 0);
  EXPECT_TRUE(same_bits(take_checkpoint(*replica, model, 64, {3, 2}), saved));
}

class CheckpointFile : public ::testing::Test {
 protected:
  CheckpointFile() { fs::create_directories(folder_); }
  ~CheckpointFile() override { fs::remove_all(folder_); }
  [[nodiscard]] std::string path() const { return folder_ / "it"; }
  [[nodiscard]] std::string previous() const { return path() + ".previous"; }

 private:
  fs::path folder_ = fs::temp_directory_path() /
                     fmt::format("ringside_checkpoint_{}_{}", ::getpid(),
                                 ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(CheckpointFile, IsReplacedAndThePreviousKept) {
  save_checkpoint(path(), example(1));
  EXPECT_FALSE(fs::exists(previous()));
  save_checkpoint(path(), example(2));
  save_checkpoint(path(), example(3));
  EXPECT_EQ(trainer::load_checkpoint(path()).position.epoch, 3U);
  EXPECT_EQ(trainer::load_checkpoint(previous()).position.epoch, 2U);
}

TEST_F(CheckpointFile, BehindALinkIsReplacedAndTheLinkStays) {
  const std::string link = path() + ".link", kept = link + ".previous";
  fs::create_symlink("it", link);
  for (const std::uint64_t epoch : {1, 2, 3}) {  // the first makes what the link stands for
    save_checkpoint(link, example(epoch));
    EXPECT_TRUE(fs::is_symlink(link));
    EXPECT_EQ(trainer::load_checkpoint(path()).position.epoch, epoch);
  }
  EXPECT_FALSE(fs::is_symlink(kept));
  EXPECT_EQ(trainer::load_checkpoint(kept).position.epoch, 2U);
}

TEST_F(CheckpointFile, ThatIsDamagedIsRefusedAndThePreviousNamed) {
  save_checkpoint(path(), example(1));
  save_checkpoint(path(), example(2));
  const std::string contents = read_file(path());
  write_file(path(), contents.substr(0, contents.size() - 10));
  try {
    (void)trainer::load_checkpoint(path());
    FAIL() << "a cut off checkpoint was read";
  } catch (const Error& error) {
    const std::string words = error.what();
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_NE(words.find("damaged or cut off"), std::string::npos) << words;
    EXPECT_NE(words.find(".previous\" is whole (epoch 1"), std::string::npos) << words;
  }
  save_checkpoint(path(), example(5));
  EXPECT_EQ(trainer::load_checkpoint(previous()).position.epoch, 1U)
      << "a damaged file takes no whole one's place";
}

}  // namespace
}  // namespace ringside::tests
