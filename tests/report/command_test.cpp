// SPDX-License-Identifier: MIT
/// `ringside report` and the pictures of `ringside plan`, as a user calls them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "ringside/base/file.hpp"
#include "ringside/tests/cli/ringside_program.hpp"

namespace ringside::tests {
namespace {

namespace fs = std::filesystem;

std::string data(const std::string& name) { return RINGSIDE_TEST_DATA "/report/" + name; }

/// A folder that is gone after the test.
class ReportCommand : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("ringside_report_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }

 private:
  fs::path folder_;
};

bool unsupported(const ProgramResult& result) {
  return result.error.find("libjs-chart.js") != std::string::npos;
}

TEST_F(ReportCommand, MakesAPageOfAnyMixAndReplacesTheOldOne) {
  const auto page = path("report.html");
  std::ofstream(page) << "old";
  const auto result = ringside_program({"report", data("bench.json"), data("simulate.json"),
                                        data("train_compare.json"), "-o", page});
  if (unsupported(result)) GTEST_SKIP() << result.error;
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_EQ(result.output, "");
  const auto text = read_file(page);
  EXPECT_TRUE(text.starts_with("<!doctype html>"));
  EXPECT_NE(text.find("simulated"), std::string::npos);
}

TEST_F(ReportCommand, ReadsStandardInputAndWritesStandardOutput) {
  const auto result =
      ringside_program({"report", "-", "-o", "-"}, {.text = read_file(data("bench.json"))});
  if (unsupported(result)) GTEST_SKIP() << result.error;
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_TRUE(result.output.starts_with("<!doctype html>"));
}

TEST_F(ReportCommand, RefusesInOneLineAndLeavesTheOldPage) {
  const auto page = path("report.html");
  std::ofstream(page) << "old";
  const auto broken = path("broken.json");
  std::ofstream(broken) << R"({"kind": "training_comparison", "rows": [{"strategy": 3}]})";
  const auto result = ringside_program({"report", data("bench.json"), broken, "-o", page});
  if (unsupported(result)) GTEST_SKIP() << result.error;
  expect_refused(result, "broken.json: $.rows[0].strategy");
  EXPECT_EQ(read_file(page), "old");
  expect_refused(ringside_program({"report", path("none.json"), "-o", page}), "none.json");
  expect_refused(ringside_program({"report", data("bench.json")}), "--output");
  expect_refused(ringside_program({"report", "-o", page}), "RUN");
  expect_refused(ringside_program({"report", "-", "-", "-o", page}), "once");
  expect_refused(
      ringside_program({"report", data("bench.json"), "-o", path("no/such/folder.html")}),
      "cannot write");
}

TEST_F(ReportCommand, PlansMoveInPicturesAndPages) {
  const auto svg = ringside_program({"plan", "naive", "--ranks", "4", "--format", "svg"});
  EXPECT_EQ(svg.exit_code, 0) << svg.error;
  EXPECT_TRUE(svg.output.starts_with("<svg"));
  EXPECT_NE(svg.output.find("animateMotion"), std::string::npos);
  const auto page = ringside_program(
      {"plan", "ring", "--ranks", "4", "--format", "html", "--topo", "4gpu-pcie4-two-sockets"});
  EXPECT_EQ(page.exit_code, 0) << page.error;
  EXPECT_TRUE(page.output.starts_with("<!doctype html>"));
  EXPECT_NE(page.output.find("predicted"), std::string::npos);
}

TEST_F(ReportCommand, PlansTooLargeToShowAreRefusedWithTheLimit) {
  expect_refused(ringside_program({"plan", "ring", "--ranks", "17", "--format", "svg"}),
                 "at most 16 ranks");
  expect_refused(ringside_program({"plan", "ring", "--ranks", "8", "--format", "html", "--topo",
                                   "4gpu-pcie4-two-sockets"}),
                 "has 4 GPUs");
  expect_refused(ringside_program({"plan", "ring", "--ranks", "4", "--topo", "dgx1v"}), "--topo");
  expect_refused(ringside_program({"plan", "ring", "--ranks", "4", "--format", "svg", "--prove"}),
                 "--prove");
}

}  // namespace
}  // namespace ringside::tests
