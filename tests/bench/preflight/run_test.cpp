// SPDX-License-Identifier: MIT
/// A preflight with a stand-in for the worker: faults become findings, hangs and deaths stay
/// without consequence, and the reports say what was measured.
#include "ringside/bench/preflight/run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ringside/base/clock.hpp"
#include "ringside/base/error.hpp"
#include "ringside/bench/preflight/json.hpp"
#include "ringside/bench/preflight/text.hpp"
#include "ringside/tests/bench/preflight/report_schema.hpp"
#include "ringside/tests/support/run_program.hpp"

namespace ringside::tests {
namespace {

using namespace bench::preflight;

/// A step of the stand-in takes no time, but on a busy machine a process does.
constexpr Seconds long_enough{20};

Report report_with(int devices, std::vector<std::string> faults, Request request = {}) {
  std::vector<std::string> worker = {PREFLIGHT_STAND_IN, std::to_string(devices)};
  worker.insert(worker.end(), faults.begin(), faults.end());
  return run_preflight(request, worker, [](std::size_t, std::size_t, const std::string&) {});
}

std::size_t count_of(const Report& report, Ending ending) {
  return static_cast<std::size_t>(
      std::count_if(report.results.begin(), report.results.end(),
                    [&](const Result& result) { return result.outcome.ending == ending; }));
}

/// The findings' kinds and texts, which must all be of this flow.
std::vector<Finding> findings_only_of(const Report& report, const Flow& flow) {
  auto findings = findings_of(report);
  for (const auto& finding : findings) EXPECT_EQ(finding.flow, flow) << finding.text;
  return findings;
}

TEST(PreflightRun, WithoutAFaultThereIsNoFindingAndEverythingWasDone) {
  const auto report = report_with(3, {}, {.step = long_enough});
  EXPECT_TRUE(findings_of(report).empty());
  EXPECT_EQ(report.results.size(), steps_of(report.facts, report.request).size());
  EXPECT_EQ(count_of(report, Ending::done), report.results.size());
  EXPECT_GT(checks_done(report), 50U);
}

TEST(PreflightRun, AFaultIsFoundOncePerMethodAndBlamesNobodyElse) {
  const auto report = report_with(3, {"lost:2-0"}, {.step = long_enough});
  const auto findings = findings_only_of(report, {2, 0});
  ASSERT_EQ(findings.size(), 3U);
  EXPECT_EQ(findings[0].kind, "lost");
  EXPECT_TRUE(
      findings[0].text.starts_with("2 -> 0, peer copy, P2P enabled: the data never arrived"))
      << findings[0].text;
  EXPECT_TRUE(findings[1].text.starts_with("2 -> 0, kernel store, P2P enabled: "));
  EXPECT_TRUE(findings[2].text.starts_with("2 -> 0, kernel load, P2P enabled: "));
}

TEST(PreflightRun, AHangIsKilledNamedAndNotTriedAgain) {
  const Stopwatch watch;
  const auto report = report_with(3, {"hang:1-2"}, {.step = Seconds(1)});
  EXPECT_LT(watch.elapsed().count(), 30);
  const auto findings = findings_only_of(report, {1, 2});
  ASSERT_EQ(findings.size(), 3U) << "a method each";
  for (const auto& finding : findings) EXPECT_EQ(finding.kind, "hang");
  EXPECT_EQ(findings[0].text, "1 -> 2, peer copy, P2P enabled: hangs: has not ended within 1 s");
  EXPECT_EQ(count_of(report, Ending::hang), 3U);
  EXPECT_GE(count_of(report, Ending::blocked), 3U);
  for (const auto& [step, outcome] : report.results) {
    if (step.peer_access) continue;
    EXPECT_EQ(outcome.ending, Ending::done) << to_string(step);
  }
}

TEST(PreflightRun, AProcessThatDiesIsAnErrorWithItsLastWords) {
  const auto report = report_with(2, {"crash:0-1"}, {.step = long_enough});
  const auto findings = findings_only_of(report, {0, 1});
  ASSERT_EQ(findings.size(), 3U);
  EXPECT_EQ(findings[0].kind, "error");
  EXPECT_NE(findings[0].text.find("a driver's last words"), std::string::npos) << findings[0].text;
}

TEST(PreflightRun, AProcessThatIsKilledIsAnErrorWithTheSignal) {
  const auto findings =
      findings_only_of(report_with(2, {"kill:0-1"}, {.step = long_enough}), {0, 1});
  ASSERT_EQ(findings.size(), 3U);
  EXPECT_EQ(findings[0].text, "0 -> 1, peer copy, P2P enabled: its process was killed by signal 9");
}

TEST(PreflightRun, ADriverThatTheTimeDoesNotReachIsUnfinishedAndNoHang) {
  const auto findings =
      findings_of(report_with(2, {"deaf"}, {.total = Seconds(0.2), .step = Seconds(100)}));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, "unfinished");
  EXPECT_EQ(findings[0].text, "driver: the time for all of it, 200 ms, was up");
}

TEST(PreflightRun, WhatADriverThatHangsWouldHaveSaidIsUnknown) {
  const auto report = report_with(2, {"deaf"}, {.step = Seconds(0.2)});
  const JsonDocument document(json_of(report), "report");
  for (const auto* key : {"cuda_driver_version", "cuda_runtime_version", "allowed_cpus"})
    EXPECT_TRUE(document.root()[key].is_null()) << key;
  const auto text = text_of(report);
  EXPECT_NE(text.find("GPUs unknown, CUDA driver unknown, runtime unknown; nothing was measured"),
            std::string::npos)
      << text;
}

TEST(PreflightRun, AnErrorOfTheDevicesIsAFinding) {
  const auto report = report_with(2, {"error:1-0"}, {.step = long_enough});
  const auto findings = findings_only_of(report, {1, 0});
  ASSERT_EQ(findings.size(), 3U);
  EXPECT_EQ(findings[0].text, "1 -> 0, peer copy, P2P enabled: device 0: an error");
}

TEST(PreflightRun, ADriverThatHangsIsAFindingNotAHang) {
  const Stopwatch watch;
  const auto report = report_with(2, {"deaf"}, {.step = Seconds(0.2)});
  EXPECT_LT(watch.elapsed().count(), 20);
  const auto findings = findings_of(report);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, "hang");
  EXPECT_TRUE(findings[0].text.starts_with("driver: hangs")) << findings[0].text;
  EXPECT_TRUE(report.results.empty());
}

TEST(PreflightRun, ADeviceThatCannotBeOpenedBlocksItsStepsOnly) {
  const auto report = report_with(3, {"hang_open:1"}, {.step = Seconds(0.5)});
  const auto findings = findings_of(report);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].device, 1);
  for (const auto& [step, outcome] : report.results) {
    const bool touched = std::any_of(step.flows.begin(), step.flows.end(), [](const Flow& flow) {
      return flow.source == 1 || flow.destination == 1;
    });
    EXPECT_EQ(outcome.ending, touched ? Ending::blocked : Ending::done) << to_string(step);
  }
}

TEST(PreflightRun, WhatTheTimeDoesNotReachIsToldAndIsNoHang) {
  const Stopwatch watch;
  const auto report = report_with(3, {"hang:0-1"}, {.total = Seconds(1), .step = Seconds(100)});
  EXPECT_LT(watch.elapsed().count(), 20);
  const auto findings = findings_of(report);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, "unfinished");
  EXPECT_NE(findings[0].text.find("checks were not made: the time for all of it, 1 s, was up"),
            std::string::npos)
      << findings[0].text;
  EXPECT_EQ(count_of(report, Ending::hang), 0U);
}

TEST(PreflightRun, NothingToLookAtIsThrown) {
  try {
    (void)report_with(2, {"refuse"});
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_STREQ(error.what(), "no GPU: for a test");
  }
}

TEST(PreflightText, MatricesHaveTheSourceInTheRowAndTheUsualHeadings) {
  const auto text = text_of(report_with(2, {}, {.step = long_enough}));
  EXPECT_NE(text.find("Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n"
                      "   D\\D      0      1\n"
                      "     0 100.00 101.00\n"
                      "     1 110.00 111.00\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("P2P=Disabled Latency Matrix (us)\n"
                      "   D\\D      0      1\n"
                      "     0 100.50 101.50\n"
                      "     1 110.50 111.50\n"),
            std::string::npos)
      << text;
  // Twice the bytes in the time of the slower of 0 -> 1 (101) and 1 -> 0 (110).
  EXPECT_NE(text.find("Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n"
                      "   D\\D      0      1\n"
                      "     0 100.00 202.00\n"
                      "     1 202.00 111.00\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("device 1: GPU 1, 0000:11:00.0, compute capability 9.0, 80 GiB, NUMA node 0, "
                      "PCIe x8 of x16\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  device 1, to the host          119.00\n"), std::string::npos) << text;
  EXPECT_NE(
      text.find("  ring, P2P disabled             202.00 in all, 101.00 the slowest (0 -> 1)\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("\nno finding: "), std::string::npos) << text;
}

TEST(PreflightText, FindingsComeLastALineEach) {
  const auto lines = lines_of(text_of(report_with(2, {"lost:0-1"}, {.step = long_enough})));
  ASSERT_GT(lines.size(), 3U);
  for (std::size_t i = lines.size() - 3; i < lines.size(); ++i)
    EXPECT_TRUE(lines[i].starts_with("finding: 0 -> 1, ")) << lines[i];
  EXPECT_FALSE(lines[lines.size() - 4].starts_with("finding"));
}

TEST(PreflightText, OneDeviceIsSaidToHaveNoPairs) {
  const auto text = text_of(report_with(1, {}, {.step = long_enough}));
  EXPECT_NE(text.find("one GPU: there are no pairs"), std::string::npos) << text;
  EXPECT_NE(text.find("device 0, from the host"), std::string::npos) << text;
  EXPECT_NE(text.find("P2P=Disabled Latency Matrix"), std::string::npos) << text;
}

TEST(PreflightJson, IsAsDocumentedWhateverHappened) {
  const std::vector<std::vector<std::string>> cases = {{}, {"lost:0-1"}, {"crash:1-0"}, {"deaf"}};
  for (const auto& faults : cases) {
    const auto report = report_with(
        2, faults, {.step = Seconds(faults == std::vector<std::string>{"deaf"} ? 0.2 : 20)});
    const JsonDocument document(json_of(report), "report");
    EXPECT_NO_THROW(expect_preflight_schema(document.root()));
    EXPECT_EQ(document.root()["okay"].boolean(), faults.empty());
    EXPECT_EQ(document.root()["findings"].size() == 0, faults.empty());
  }
}

TEST(PreflightJson, CarriesTheTimes) {
  const auto report = report_with(2, {}, {.step = long_enough});
  const JsonDocument document(json_of(report), "report");
  const auto root = document.root();
  for (const auto& latency : root["latencies"].items()) {
    const auto number = 100 + 10 * latency["source"].integer() + latency["destination"].integer();
    EXPECT_NEAR(latency["latency_us"].number(), static_cast<double>(number) + 0.5, 1e-6);
  }
  for (const auto& bandwidth : root["bandwidths"].items()) {
    EXPECT_GT(bandwidth["total_bandwidth_gb_per_s"].number(), 99);
    for (const auto& flow : bandwidth["flows"].items())
      EXPECT_GT(flow["bandwidth_gb_per_s"].number(), 99);
  }
  EXPECT_GT(root["elapsed_s"].number(), 0);
}

}  // namespace
}  // namespace ringside::tests
