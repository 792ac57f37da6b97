// SPDX-License-Identifier: MIT
/// `ringside train` as people use it, with the model that is always there.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/base/file.hpp"
#include "ringside/tests/cli/ringside_program.hpp"

namespace ringside::tests {
namespace {

using nlohmann::json;

const std::vector<std::string> small = {"--model", "mlp",     "--width", "8",        "--synthetic",
                                        "300",     "--batch", "64",      "--epochs", "2"};

ProgramResult train(std::vector<std::string> words) {
  words.insert(words.begin(), "train");
  words.insert(words.end(), small.begin(), small.end());
  return ringside_program(words);
}

ProgramResult compare(std::vector<std::string> words) {
  words.insert(words.begin(), {"train", "--compare", "--model", "mlp", "--width", "8",
                               "--synthetic", "300", "--batch", "64"});
  return ringside_program(words);
}

void expect_part(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

/// The one line of a failure.
std::string failure_of(const ProgramResult& result) {
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_EQ(lines_of(result.error).size(), 1U) << result.error;
  return result.error;
}

/// Of one that is found before the first line.
std::string refusal_of(const std::vector<std::string>& words) {
  const auto result = train(words);
  EXPECT_EQ(result.output, "");
  return failure_of(result);
}

class TrainFile : public ::testing::Test {
 protected:
  ~TrainFile() override {
    std::filesystem::remove(path());
    std::filesystem::remove(path() + ".previous");
  }
  [[nodiscard]] std::string path() const {
    return std::filesystem::temp_directory_path() /
           fmt::format("ringside_train_{}_{}", ::getpid(),
                       ::testing::UnitTest::GetInstance()->current_test_info()->name());
  }
};

TEST(Train, PrintsWhatItDoesEveryEpochAndWhatCameOut) {
  const auto result = train({"--ranks", "2", "--algorithm", "ring"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_EQ(result.error, "");
  for (const std::string_view part :
       {"# mlp of width 8: 6,370 parameters in float32; synthetic",
        "images, 300 images and 50 to test", "# distributed on 2 ranks; all_reduce by ring",
        "# measured", "# best test accuracy of the last 2 epochs",
        "# parameters on all ranks: SHA-256", "# rank 0 works"})
    expect_part(result.output, part);
  const auto lines = lines_of(result.output);
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                          [](const auto& line) { return line.starts_with("     2 "); }),
            1);
}

TEST(Train, TellsWhatIsShardedAndWhoHasHowMuchOfIt) {
  const auto text = train({"--strategy", "sharded", "--zero-stage", "1", "--momentum", "0.9",
                           "--ranks", "2", "--algorithm", "ring"});
  expect_part(text.output, "# sharded (ZeRO stage 1) on 2 ranks; reduce_scatter by ring");
  expect_part(text.output, "parameters  gradients  optimizer    staging");
  const auto memory_of = [](const std::string& strategy) {
    const auto report = json::parse(
        train({"--strategy", strategy, "--momentum", "0.9", "--ranks", "2", "--format", "json"})
            .output);
    return report["epochs"][1]["ranks"][1]["memory"];
  };
  const auto all = memory_of("distributed"), part = memory_of("sharded");
  EXPECT_EQ(all["parameters"], part["parameters"]);
  for (const char* kind : {"gradients", "optimizer"})
    EXPECT_LT(part[kind].get<double>(), 0.6 * all[kind].get<double>()) << kind;
}

TEST(Train, TellsWhoWaitsForWhomWhereRanksAreNotEquallyFast) {
  const auto result = train({"--ranks", "2", "--slow-ranks", "1,3", "--shares", "3,1"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  for (const std::string_view part :
       {"; shares 3:1; rank 1 slowed: computes 3 x as long", "# who waits for whom (measured",
        "# shares 3:1: 5 steps", "# worked out: with equal shares they would compute"})
    expect_part(result.output, part);
  const auto report = json::parse(
      ringside_program({"train", "--model", "mlp", "--width", "8", "--synthetic", "300", "--batch",
                        "64", "--epochs", "3", "--ranks", "2", "--slow-ranks", "1,200", "--shares",
                        "measured", "--format", "json"})
          .output);
  EXPECT_EQ(report["slowed_ranks"], (json{1.0, 200.0}));
  ASSERT_EQ(report["epochs"][2]["balance"].size(), 1U);
  EXPECT_EQ(report["epochs"][2]["balance"][0]["shares"][0], 1000);
}

TEST(Train, PrintsJson) {
  const auto report =
      json::parse(train({"--format", "json", "--strategy", "data_parallel"}).output);
  EXPECT_EQ(report["strategy"], "data_parallel");
  EXPECT_EQ(report["times"], "measured");
  ASSERT_EQ(report["epochs"].size(), 2U);
  EXPECT_EQ(report["epochs"][0]["samples"], 300);
  EXPECT_EQ(report["epochs"][0]["ranks"].size(), 2U);
  EXPECT_GT(report["epochs"][0]["ranks"][0]["peak_bytes"], 0);
}

TEST(Train, ScalesTheRateWithTheBatchUnlessToldNotTo) {
  const auto rate = [](std::vector<std::string> words) {
    words.insert(words.end(), {"--format", "json"});
    return json::parse(train(words).output)["learning_rate"].get<double>();
  };
  EXPECT_DOUBLE_EQ(rate({}), 0.1 * 64 / 256);
  EXPECT_DOUBLE_EQ(rate({"--lr", "0.4"}), 0.4 * 64 / 256);
  EXPECT_DOUBLE_EQ(rate({"--lr", "0.4", "--no-scaling"}), 0.4);
}

TEST_F(TrainFile, HoldsAnAlgorithmOfOnesOwn) {
  write_file(path() + ".json", with(two_rank_plan, "\"in_place\": false", "\"in_place\": true"));
  const auto result = train({"--ranks", "2", "--algorithm", path() + ".json"});
  write_file(path() + ".json", two_rank_plan);
  expect_part(refusal_of({"--ranks", "2", "--algorithm", path() + ".json"}),
              "`ringside plan ... --in-place` makes plans for that");
  std::filesystem::remove(path() + ".json");
  EXPECT_EQ(result.exit_code, 0) << result.error;
}

TEST(Train, TakesAnAlgorithmOfASharedObjectByName) {
  const std::string star = RINGSIDE_PLUGIN_FOLDER "/plugin_star.so";
  const auto result = train({"--ranks", "3", "--plugin", star, "--algorithm", "star:centre=1"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  expect_part(result.output, "distributed on 3 ranks; all_reduce by star:centre=1");
}

TEST_F(TrainFile, HoldsACheckpointFromWhichAnotherStrategyGoesOn) {
  EXPECT_EQ(train({"--checkpoint", path(), "--steps", "3"}).exit_code, 0);
  const auto result = train({"--resume", path(), "--strategy", "from_scratch", "--ranks", "3"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  const std::string contents = read_file(path());
  write_file(path(), contents.substr(0, contents.size() / 2));
  expect_part(refusal_of({"--resume", path()}), "damaged or cut off");
}

TEST_F(TrainFile, IsNotResumedAsAnotherTrainingWithoutAWord) {
  EXPECT_EQ(train({"--checkpoint", path(), "--steps", "3", "--momentum", "0.9"}).exit_code, 0);
  EXPECT_EQ(train({"--resume", path(), "--momentum", "0.9"}).error, "");
  const auto result = train({"--resume", path(), "--lr", "0.2"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_EQ(
      result.error,
      "ringside: warning: this is another training than the checkpoint's: learning rate 0.05, "
      "not 0.025; momentum 0, not 0.9\n");
}

TEST_F(TrainFile, OfAnotherModelIsRefusedBeforeTheFirstLine) {
  EXPECT_EQ(train({"--checkpoint", path(), "--steps", "3"}).exit_code, 0);
  expect_part(refusal_of({"--resume", path(), "--seed", "4"}), "of seed 1, not 4");
  expect_part(refusal_of({"--resume", path(), "--samples", "200"}), "300 samples, not 200");
}

TEST_F(TrainFile, OfTheLastCheckpointIsNamedWhenTrainingFails) {
  const auto words =
      failure_of(train({"--checkpoint", path(), "--checkpoint-steps", "1", "--lr", "1e30"}));
  expect_part(words, "learning rate");
  expect_part(words, "the last checkpoint is");
}

TEST(Train, ComparesStrategiesAndAlgorithms) {
  const auto result = compare({"--rounds", "2", "--steps", "1", "--warmup-steps", "1",
                               "--algorithm", "ring,two_shot", "--ranks", "2,3"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  for (const std::string_view part :
       {"medians of 2 rounds", "single", "data_parallel  auto", "from_scratch   two_shot",
        "distributed    ring", "rank 0  memory"})
    expect_part(result.output, part);
  const auto rows = json::parse(
      compare({"--rounds", "1", "--steps", "1", "--warmup-steps", "1", "--format", "json"})
          .output)["rows"];
  expect_part(compare({"--rounds", "1", "--steps", "1", "--warmup-steps", "1", "--strategy",
                       "sharded", "--zero-stage", "1"})
                  .output,
              "sharded (1)");
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0]["strategy"], "single");
  EXPECT_DOUBLE_EQ(rows[0]["speedup"], 1.0);
  EXPECT_EQ(rows[1]["strategy"], "data_parallel");
  EXPECT_GT(rows[1]["first_rank_memory"], 1);
}

TEST(Train, SplitsTheNetwork) {
  const auto result = train({"--strategy", "pipeline", "--ranks", "2", "--micro-batches", "3"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  expect_part(result.output, "pipeline on 2 ranks; activations by messages, in 3 micro-batches");
  expect_part(train({"--strategy", "pipeline", "--accumulate", "8", "--micro-batches", "9"}).output,
              "in 8 micro-batches");
  expect_part(refusal_of({"--strategy", "pipeline", "--ranks", "3"}), "mlp has 2 layers");
  expect_part(refusal_of({"--strategy", "tensor", "--ranks", "2"}), "inputs first");
  expect_part(refusal_of({"--strategy", "pipeline", "--micro-batches", "0"}), "--micro-batches");
}

TEST(Train, ComparesWhatMoves) {
  const std::vector<std::string> words = {
      "--rounds", "1", "--steps", "1", "--warmup-steps", "1", "--strategy", "distributed,pipeline"};
  expect_part(compare(words).output, "pipeline       4 micro-batches");
  auto as_json = words;
  as_json.insert(as_json.end(), {"--format", "json"});
  const auto rows = json::parse(compare(as_json).output)["rows"];
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0]["step_bytes_counted"]["sent"], json::array({0}));
  EXPECT_GT(rows[1]["step_bytes_counted"]["received"][1], 0);
  const int activations = 64 * 8 * 4;
  EXPECT_EQ(rows[2]["step_bytes_counted"]["sent"], json::array({activations, activations}));
}

TEST(Train, ComparesRanksThatAreNotEquallyFast) {
  const std::vector<std::string> words = {"--rounds",       "1",   "--steps",      "1",
                                          "--warmup-steps", "1",   "--strategy",   "distributed",
                                          "--shares",       "3,1", "--slow-ranks", "1,3"};
  expect_part(compare(words).output, "; shares 3:1; rank 1 slowed: computes 3 x as long");
  auto as_json = words;
  as_json.insert(as_json.end(), {"--format", "json"});
  const auto rows = json::parse(compare(as_json).output)["rows"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["shares"], json::array()) << "one rank has all";
  EXPECT_EQ(rows[0]["slowed_ranks"], json::array());
  EXPECT_EQ(rows[1]["shares"], json::array({3, 1}));
  EXPECT_EQ(rows[1]["slowed_ranks"], json::array({1, 3}));
}

TEST(Train, RefusesOptionsThatItWouldNotLookAt) {
  const auto refused = [](const std::vector<std::string>& words, std::string_view why) {
    expect_part(refusal_of(words), why);
  };
  refused({"--ranks", "1", "-a", "ring"}, "--algorithm has no meaning with --strategy single");
  refused({"--ranks", "1", "--wire-type", "bfloat16"}, "--wire-type has no meaning");
  refused({"--ranks", "1", "--slow-wire", "1M"}, "--slow-wire has no meaning");
  refused({"--strategy", "single", "--ranks", "1", "--no-overlap"}, "--no-overlap has no meaning");
  refused({"--strategy", "from_scratch", "--first-bucket", "1K"},
          "--first-bucket has no meaning with --strategy from_scratch");
  refused({"--strategy", "data_parallel", "--bucket", "1K"}, "--bucket has no meaning");
  refused({"--micro-batches", "2"}, "--micro-batches has no meaning with --strategy distributed");
  refused({"--strategy", "pipeline", "-a", "ring"}, "--algorithm has no meaning with --strategy");
  refused({"--strategy", "pipeline", "--wire-type", "bfloat16"}, "--wire-type has no meaning");
  refused({"--strategy", "tensor", "--bucket", "1K"}, "--bucket has no meaning");
  refused({"--zero-stage", "1"}, "--zero-stage has no meaning with --strategy distributed");
  refused({"--batch-norm", "synchronised"}, "--batch-norm has no meaning with --model mlp");
  refused({"--ranks", "1", "--shares", "1"}, "--shares has no meaning with --strategy single");
  refused({"--ranks", "1", "--slow-ranks", "2"}, "--slow-ranks has no meaning");
  refused({"--rounds", "2"}, "--rounds has no meaning without --compare");
  refused({"--warmup-steps", "2"}, "--warmup-steps has no meaning without --compare");
  refused({"--backend", "nccl", "-a", "ring"}, "NCCL chooses by itself");
}

TEST(Train, RefusesWhatAComparisonWouldNotLookAt) {
  const auto refusal = [](const std::vector<std::string>& words) {
    const auto result = compare(words);
    EXPECT_EQ(result.output, "");
    return failure_of(result);
  };
  expect_part(refusal({"--epochs", "2"}), "--epochs has no meaning with --compare");
  expect_part(refusal({"--no-evaluation"}), "--no-evaluation has no meaning with --compare");
  expect_part(refusal({"--shares", "measured"}), "--shares measured: not with --compare");
  expect_part(refusal({"--shares", "1,1", "--ranks", "2,3"}),
              "shares are given for 2 ranks, not 3");
  expect_part(refusal({"--slow-ranks", "1,2,1"}), "slowness are given for 3 ranks, not 2");
  expect_part(refusal({"--checkpoint", "x"}), "--checkpoint has no meaning with --compare");
  expect_part(refusal({"--strategy", "data_parallel", "-a", "ring"}),
              "--algorithm has no meaning with --compare --strategy data_parallel");
  expect_part(refusal({"-a", "ring,nonsense", "--steps", "1"}), "nonsense");
  expect_part(refusal({"--steps", "2", "--warmup-steps", "10"}), "an epoch has 5 steps");
  expect_part(refusal({"--steps", "20"}), "an epoch has 5 steps");
}

TEST(Train, SaysWhichWeightDecay) {
  expect_part(train({"--decay", "1e-3"}).output, "weight decay 0.001");
}

TEST(Train, RefusesWhatItCannotDoInOneLine) {
  expect_part(refusal_of({"--slow-wire", "1"}), "--slow-wire: expected at least 64 KiB, got \"1\"");
  expect_part(refusal_of({"--bucket", "1023"}), "--bucket: expected at least 1 KiB, got \"1023\"");
  expect_part(refusal_of({"--first-bucket", "0"}), "--first-bucket: expected at least 1 KiB");
  expect_part(refusal_of({"--strategy", "sharded", "--zero-stage", "3"}), "--zero-stage: expected");
  expect_part(refusal_of({"--batch-norm", "global"}), "expected local or synchronised");
  expect_part(refusal_of({"--shares", "3,0"}), "--shares: expected");
  expect_part(refusal_of({"--shares", "3,1,1"}), "shares are given for 3 ranks, not 2");
  expect_part(refusal_of({"--slow-ranks", "1,0.5"}),
              "--slow-ranks: expected a number of at least 1");
  expect_part(refusal_of({"--shares", "measured"}), "measured over 10 steps");
  expect_part(refusal_of({"--warmup", "1e300"}), "--warmup: expected a number of at least 0");
  expect_part(refusal_of({"--momentum", "nan"}), "--momentum: expected a number");
  expect_part(refusal_of({"--checkpoint", "/no/such/folder/it"}), "cannot write");
  expect_part(refusal_of({"--checkpoint", "/"}), "is a directory");
  expect_part(refusal_of({"--algorithm", "./no_such_plan.json"}), "no_such_plan.json");
  expect_part(refusal_of({"--algorithm", "rng"}), "rng");
  expect_part(refusal_of({"--strategy", "distribute"}), "did you mean \"distributed\"?");
  expect_part(refusal_of({"--backend", "tpu"}), "expected host, cuda, nccl or mpi");
  expect_part(refusal_of({"--devices", "0"}), "needs --backend");
  expect_part(refusal_of({"--strategy", "single", "--ranks", "2"}), "single is for one rank");
  expect_part(refusal_of({"--data", "."}), "exclude each other");
  expect_part(refusal_of({"--resume", "/no/such/file"}), "/no/such/file");
  const auto other = [](std::vector<std::string> words) {
    words.insert(words.begin(), "train");
    const auto result = ringside_program(words);
    EXPECT_EQ(result.exit_code, 2);
    return result.error;
  };
  expect_part(other({"--data", "/no/such/folder"}), "install dataset-fashion-mnist");
  expect_part(other({"--synthetic", "9", "--set", "torch_engine=/no/such.so"}), "cannot load");
  expect_part(other({"--model", "alexnet"}), "expected one of mlp, lenet, resnet18");
}

}  // namespace
}  // namespace ringside::tests
