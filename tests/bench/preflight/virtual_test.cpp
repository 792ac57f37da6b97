// SPDX-License-Identifier: MIT
/// `ringside bench --preflight` on virtual devices, with faults planted in their hardware.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/bench/preflight/protocol.hpp"
#include "ringside/bench/preflight/schedule.hpp"
#include "ringside/tests/bench/preflight/report_schema.hpp"
#include "ringside/tests/support/run_program.hpp"

namespace ringside::tests {
namespace {

using namespace bench::preflight;

/// FAKECUDA_* variables; the double itself comes by the test's LD_LIBRARY_PATH.
ProgramResult preflight(std::vector<std::string> environment, std::vector<std::string> words = {}) {
  words.insert(words.begin(), {RINGSIDE_PROGRAM, "bench", "--preflight", "--quick"});
  // On a busy machine a sound step may take long.
  if (std::find(words.begin(), words.end(), "--timeout") == words.end())
    words.insert(words.end(), {"--timeout", "30s"});
  ProgramInput input;
  input.environment = std::move(environment);
  return run_program(words, input);
}

/// The report as JSON, checked against its documentation.
class ReportOf {
 public:
  explicit ReportOf(std::vector<std::string> environment, std::vector<std::string> words = {})
      : result_(preflight(std::move(environment), with_json(std::move(words)))),
        document_(result_.output, "report: " + result_.error) {
    EXPECT_NO_THROW(expect_preflight_schema(root()));
  }
  [[nodiscard]] JsonValue root() const { return document_.root(); }
  [[nodiscard]] int exit_code() const { return result_.exit_code; }

 private:
  static std::vector<std::string> with_json(std::vector<std::string> words) {
    words.insert(words.end(), {"--format", "json"});
    return words;
  }
  ProgramResult result_;
  JsonDocument document_;
};

std::size_t count_ending(const JsonValue& steps, const std::string& ending) {
  std::size_t count = 0;
  for (const auto& step : steps.items()) count += step["ending"].text() == ending ? 1 : 0;
  return count;
}

TEST(PreflightVirtual, SoundDevicesHaveNoFindingAndNothingIsMeasured) {
  for (const auto* access : {"all", "none", "011/101/110", "010/101/010"}) {
    const ReportOf report({"FAKECUDA_DEVICES=3", std::string("FAKECUDA_ACCESS=") + access});
    const auto root = report.root();
    EXPECT_EQ(report.exit_code(), 0) << access;
    EXPECT_TRUE(root["okay"].boolean());
    EXPECT_TRUE(root["virtual_devices"].boolean());
    EXPECT_EQ(root["source"].text(), "virtual");
    EXPECT_EQ(root["devices"].size(), 3U);
    EXPECT_EQ(root["peers"].size(), 6U);
    EXPECT_EQ(count_ending(root["checks"], "done"), root["checks"].size());
    EXPECT_TRUE(root["elapsed_s"].is_null());
    for (const auto& step : root["latencies"].items()) EXPECT_TRUE(step["latency_us"].is_null());
    for (const auto& step : root["bandwidths"].items()) {
      EXPECT_TRUE(step["total_bandwidth_gb_per_s"].is_null());
      for (const auto& flow : step["flows"].items())
        EXPECT_TRUE(flow["bandwidth_gb_per_s"].is_null());
    }
  }
}

TEST(PreflightVirtual, TheTextSaysThatNothingWasMeasured) {
  const auto result = preflight({"FAKECUDA_DEVICES=2"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_NE(result.output.find("virtual devices: nothing was measured\n"), std::string::npos)
      << result.output;
  EXPECT_EQ(result.output.find("GB/s"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("no finding: "), std::string::npos) << result.output;
}

struct Planted {
  std::string fault, kind;
  std::int64_t source, destination;
};

void expect_only(const ReportOf& report, const Planted& planted) {
  EXPECT_EQ(report.exit_code(), 1) << planted.fault;
  std::set<std::string> methods;
  for (const auto& finding : report.root()["findings"].items()) {
    SCOPED_TRACE(planted.fault + ": " + finding["text"].text());
    EXPECT_EQ(finding["kind"].text(), planted.kind);
    EXPECT_EQ(finding["source"].integer(), planted.source);
    EXPECT_EQ(finding["destination"].integer(), planted.destination);
    EXPECT_TRUE(finding["peer_access"].boolean());
    methods.insert(finding["method"].text());
  }
  EXPECT_TRUE(methods.contains("peer_copy")) << planted.fault;
  EXPECT_TRUE(methods.contains("kernel_store")) << planted.fault;
}

TEST(PreflightVirtual, EveryPlantedFaultIsFoundByPairAndDirectionAndNothingElseIsBlamed) {
  for (const auto& planted : std::vector<Planted>{{"lost:0-1", "lost", 0, 1},
                                                  {"lost:2-0", "lost", 2, 0},
                                                  {"offset:1-0", "offset", 1, 0},
                                                  {"offset:1-2", "offset", 1, 2},
                                                  {"corrupt:2-1", "corrupt", 2, 1},
                                                  {"corrupt:0-2", "corrupt", 0, 2}}) {
    const ReportOf report({"FAKECUDA_DEVICES=3", "FAKECUDA_FAULTS=" + planted.fault});
    expect_only(report, planted);
  }
}

TEST(PreflightVirtual, AnOffsetIsToldInBytes) {
  const auto result = preflight({"FAKECUDA_DEVICES=2", "FAKECUDA_FAULTS=offset:0-1"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.output.find("finding: 0 -> 1, peer copy, P2P enabled: the data landed 256 bytes "
                               "too far"),
            std::string::npos)
      << result.output;
}

TEST(PreflightVirtual, AFaultOfTheStagedPathShowsWithoutP2P) {
  const ReportOf report(
      {"FAKECUDA_DEVICES=2", "FAKECUDA_ACCESS=none", "FAKECUDA_FAULTS=lost!:1-0"});
  EXPECT_EQ(report.exit_code(), 1);
  EXPECT_EQ(report.root()["findings"].size(), 1U);
  for (const auto& finding : report.root()["findings"].items()) {
    EXPECT_EQ(finding["kind"].text(), "lost");
    EXPECT_EQ(finding["source"].integer(), 1);
    EXPECT_FALSE(finding["peer_access"].boolean());
  }
}

TEST(PreflightVirtual, TwoFaultsAreTwoFindings) {
  const ReportOf report({"FAKECUDA_DEVICES=3", "FAKECUDA_FAULTS=lost:0-1,corrupt:2-0"});
  std::set<std::pair<std::int64_t, std::string>> found;
  for (const auto& finding : report.root()["findings"].items())
    found.insert({finding["source"].integer(), finding["kind"].text()});
  const std::set<std::pair<std::int64_t, std::string>> expected = {{0, "lost"}, {2, "corrupt"}};
  EXPECT_EQ(found, expected);
}

TEST(PreflightVirtual, AHangEndsInTimeIsNamedAndTheRestIsChecked) {
  const Stopwatch watch;
  const ReportOf report({"FAKECUDA_DEVICES=3", "FAKECUDA_FAULTS=hang:1-0"}, {"--timeout", "1.5s"});
  EXPECT_LT(watch.elapsed().count(), 40);
  expect_only(report, {"hang:1-0", "hang", 1, 0});
  const auto checks = report.root()["checks"];
  EXPECT_LE(count_ending(checks, "hang"), 3U);
  EXPECT_EQ(
      count_ending(checks, "done") + count_ending(checks, "hang") + count_ending(checks, "blocked"),
      checks.size());
  for (const auto& step : checks.items()) {
    if (step["ending"].text() != "blocked") continue;
    bool has_the_flow = false;
    for (const auto& flow : step["flows"].items())
      has_the_flow =
          has_the_flow || (flow["source"].is_number() && flow["destination"].is_number() &&
                           flow["source"].integer() == 1 && flow["destination"].integer() == 0);
    EXPECT_TRUE(has_the_flow);
  }
}

TEST(PreflightVirtual, WhenEverythingHangsTheTotalTimeHolds) {
  const Stopwatch watch;
  const ReportOf report({"FAKECUDA_DEVICES=2", "FAKECUDA_FAULTS=hang!:1-0,hang!:0-1"},
                        {"--timeout", "60s", "--preflight-time", "2s"});
  EXPECT_LT(watch.elapsed().count(), 30);
  EXPECT_EQ(report.exit_code(), 1);
  const auto findings = report.root()["findings"].items();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0]["kind"].text(), "unfinished");
}

TEST(PreflightVirtual, ADriverWithoutADeviceIsOneLineAndExitCode2) {
  const auto result = preflight({"FAKECUDA_DEVICES=0"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.output, "");
  EXPECT_EQ(result.error, "ringside: no GPU: the CUDA driver finds no device\n");
}

TEST(PreflightVirtual, OneDeviceIsChecked) {
  const ReportOf report({"FAKECUDA_DEVICES=1"}, {"--backend", "cuda"});
  EXPECT_EQ(report.exit_code(), 0);
  EXPECT_EQ(report.root()["peers"].size(), 0U);
  EXPECT_GT(report.root()["checks"].size(), 3U);
}

/// The worker's commands for all steps of the machine that it is on, times included.
TEST(PreflightVirtual, TheWorkerOrdersItsCopiesAndTimesThemAsAskedTo) {
  const std::string facts = write(Command{.kind = Command::Kind::facts, .step = {}});
  const std::vector<std::string> worker = {RINGSIDE_PROGRAM, "bench", "--preflight-worker"};
  ProgramInput input{.text = facts + "\n", .environment = {"FAKECUDA_DEVICES=3"}};
  const auto asked = run_program(worker, input);
  ASSERT_EQ(asked.exit_code, 0) << asked.error;
  const auto machine = *read_reply(lines_of(asked.output).at(0)).facts;

  auto steps = steps_of(machine, {.quick = true});
  for (auto& step : steps) step.bytes = std::min<std::uint64_t>(step.bytes, 1U << 20);
  input.text.clear();
  for (const auto& step : steps)
    input.text += write(Command{.kind = Command::Kind::step, .step = step}) + "\n";
  const auto run = run_program(worker, input);
  EXPECT_EQ(run.exit_code, 0) << "99: operations that nothing orders\n" << run.error;
  const auto lines = lines_of(run.output);
  ASSERT_EQ(lines.size(), steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto outcome = read_reply(lines[i]).outcome;
    SCOPED_TRACE(to_string(steps[i]));
    EXPECT_EQ(outcome.ending, Ending::done) << outcome.text;
    if (steps[i].quantity == Quantity::check) {
      EXPECT_EQ(outcome.verdicts.size(), steps[i].flows.size());
      for (const auto& verdict : outcome.verdicts) EXPECT_EQ(verdict.arrival, Arrival::right);
    } else {
      EXPECT_EQ(outcome.times.size(), steps[i].flows.size());
      EXPECT_GT(outcome.samples, 1);
    }
  }
}

}  // namespace
}  // namespace ringside::tests
