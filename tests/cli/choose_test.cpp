// SPDX-License-Identifier: MIT
/// `ringside choose`, as a user calls it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ringside/tests/cli/ringside_program.hpp"

namespace ringside::tests {
namespace {

using nlohmann::json;

ProgramResult choose(std::vector<std::string> words) {
  words.insert(words.begin(), "choose");
  return ringside_program(std::move(words));
}

json chosen(std::vector<std::string> words) {
  words.insert(words.end(), {"--format", "json"});
  const auto result = choose(std::move(words));
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_EQ(result.error, "");
  return json::parse(result.output);
}

TEST(Choose, TellsThePickWhyItsLimitTheOthersTheBoundAndNccl) {
  const auto result = choose({"--topo", "8gpu-two-sockets", "--size", "256M"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.error, "");
  for (const char* part :
       {"hierarchical:groups=0-1-2-3/4-5-6-7", "numa0 - numa1, full", "no plan beats", "simulated",
        "times as long", "halving_doubling", "chain", "NCCL would pick Ring/Simple", "busbw",
        "(NCCL's model only serves to choose: compare the simulated times)"})
    EXPECT_TRUE(contains(result.output, part)) << part << "\n" << result.output;
  EXPECT_FALSE(contains(result.output, "Out of the question"));
}

TEST(Choose, OfSeveralSizesIsATable) {
  const auto result = choose({"--topo", "4gpu-pcie4-two-sockets", "--sizes", "1K..4K,1M"});
  EXPECT_EQ(result.exit_code, 0);
  for (const char* part : {"1 KiB", "2 KiB", "4 KiB", "1 MiB", "one_shot", "x bound"})
    EXPECT_TRUE(contains(result.output, part)) << part << "\n" << result.output;
  EXPECT_FALSE(contains(result.output, "NCCL"));
}

TEST(Choose, RowsForProgramsHoldTogether) {
  const auto report =
      chosen({"--topo", "4gpu-nvlink-pairs", "--sizes", "64K,16M", "--collective", "all_gather"});
  EXPECT_EQ(report.at("collective"), "all_gather");
  ASSERT_EQ(report.at("choices").size(), 2U);
  for (const auto& row : report.at("choices")) {
    const double us = row.at("simulated_us");
    EXPECT_GE(us, row.at("bound").at("us").get<double>());
    EXPECT_NEAR(row.at("algbw").get<double>(), row.at("bytes").get<double>() / us / 1e3, 1e-6);
    EXPECT_NEAR(row.at("busbw").get<double>(), row.at("algbw").get<double>() * 3 / 4, 1e-9);
    EXPECT_GT(row.at("plans").get<int>(), row.at("plans_simulated").get<int>());
    for (const auto& other : row.at("others"))
      if (other.contains("simulated_us")) {
        EXPECT_GE(other.at("simulated_us").get<double>(), us * 0.98);
      }
  }
}

TEST(Choose, LooksAtSomeGpusAndAtWhatIf) {
  const auto inside = chosen({"--topo", "8gpu-two-sockets", "--gpus", "0,1,2,3", "--size", "16M"});
  const auto across = chosen({"--topo", "8gpu-two-sockets", "--gpus", "0,1,4,5", "--size", "16M"});
  const auto time = [](const json& report) {
    return report.at("choices").at(0).at("simulated_us").get<double>();
  };
  EXPECT_LT(time(inside), time(across));
  const auto staged = chosen(
      {"--topo", "8gpu-two-sockets", "--gpus", "0,1,2,3", "--size", "16M", "--what-if", "p2p=off"});
  EXPECT_GT(time(staged), time(inside));
}

TEST(Choose, WithAllTellsWhatIsOutOfTheQuestion) {
  const auto result = choose({"--topo", "8gpu-two-switches", "--ranks", "6", "--collective",
                              "all_gather", "--size", "1M", "--all"});
  EXPECT_TRUE(contains(result.output, "Out of the question")) << result.output;
  EXPECT_TRUE(contains(result.output, "powers of two")) << result.output;
}

/// A file that goes with the test.
class TableFile {
 public:
  explicit TableFile(const std::string& text)
      : path_("choose_test_" + std::to_string(::getpid()) + ".json") {
    std::ofstream(path_) << text;
  }
  ~TableFile() { std::remove(path_.c_str()); }
  TableFile(const TableFile&) = delete;
  TableFile& operator=(const TableFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Choose, TakesWhatWasMeasuredFirst) {
  const TableFile table(R"({"ringside_tuning": 1,
    "origin": {"machine": "m", "date": "d", "commit": "c", "measured": "x"},
    "rows": [{"backend": "cuda", "collective": "all_reduce", "ranks": 4, "cores": 2,
              "choices": [{"from": 0, "spec": "naive"}]}]})");
  const std::vector<std::string> words = {"--topo", "4gpu-pcie4-one-root",   "--size", "1M",
                                          "--set",  "tuning=" + table.path()};
  const auto row = chosen(words).at("choices").at(0);
  EXPECT_EQ(row.at("spec"), "naive");
  EXPECT_EQ(row.at("measured"), true);
  auto other = words;
  other.insert(other.end(), {"--backend", "mpi"});
  EXPECT_EQ(chosen(other).at("choices").at(0).at("measured"), false);
}

TEST(Choose, BadUsageIsOneLine) {
  expect_refused(choose({}), "--topo is required");
  expect_refused(choose({"--topo", "8gpu-two-sokets"}), "did you mean \"8gpu-two-sockets\"?");
  const std::vector<BadCommand> of_machine = {
      {{"--size", "1M", "--sizes", "1M"}, "--size asks for one size, --sizes for several"},
      {{"--size", "much"}, "--size: expected a number of bytes"},
      {{"--ranks", "5"}, "--ranks: 5 ranks on 4 GPUs"},
      {{"--ranks", "1"}, "a single rank sends nothing"},
      {{"--size", "3"}, "--size: of 3 B there is no element of float32 (4 B)"},
      {{"--gpus", ""}, "--gpus: expected the GPU of every rank"},
      {{"--gpus", "0,4"}, "--gpus: there is no GPU 4: the machine has 4"},
      {{"--collective", "barrier"}, "--collective: a barrier moves no data"},
      {{"--collective", "all_redcue"}, "did you mean \"all_reduce\"?"},
      {{"--collective", "sendrecv"}, "there is no collective \"sendrecv\": there are all_reduce"},
      {{"--root", "1"}, "--root: all_reduce has no root"},
      {{"--type", "float33"}, "--type: expected an element type"},
      {{"--backend", "nccl"}, "--backend: expected cuda, host or mpi"},
      {{"--all", "--sizes", "1M,2M"}, "--all goes with one size"},
  };
  expect_all_refused(of_machine, [](auto words) {
    words.insert(words.begin(), {"--topo", "4gpu-pcie4-one-root"});
    return choose(words);
  });
}

}  // namespace
}  // namespace ringside::tests
