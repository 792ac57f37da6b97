// SPDX-License-Identifier: MIT
/// What the double is for: each missing wait is found whatever the schedule, and a correct program
/// is never accused.
#include <gtest/gtest.h>

#include <string>

#include "ringside/tests/fakecuda/control.hpp"
#include "ringside/tests/fakecuda/ring.hpp"

namespace ringside::tests::fakecuda {
namespace {

void reset(const std::string& scheduler, int devices = 4) {
  Configuration configuration;
  configuration.devices = devices;
  configuration.scheduler = scheduler;
  Control::reset(configuration);
}

std::vector<std::string> schedulers(int seeds) {
  std::vector<std::string> all{"eager", "lazy"};
  for (int seed = 0; seed < seeds; ++seed) {
    all.push_back("random:" + std::to_string(seed));
    all.push_back("pct:" + std::to_string(seed));
  }
  return all;
}

constexpr Bug races[] = {Bug::reduce_before_arrival, Bug::send_before_reduce,
                         Bug::slot_overwritten,      Bug::wait_before_record,
                         Bug::host_reads_early,      Bug::reuse_between_calls};

class PlantedBugs : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { ASSERT_TRUE(Control::present()); }
};

INSTANTIATE_TEST_SUITE_P(StreamsAndGraph, PlantedBugs, testing::Bool(),
                         [](const auto& mode) { return mode.param ? "Graph" : "Streams"; });

TEST_P(PlantedBugs, EachMissingWaitIsReportedWhateverTheSchedule) {
  for (const Bug bug : races) {
    int runs = 0, wrong = 0;
    for (const std::string& scheduler : schedulers(100)) {
      reset(scheduler);
      RingRun run;
      run.bug = bug;
      run.graph = GetParam();
      const RingResult result = run_ring(run);
      wrong += result.wrong > 0 ? 1 : 0;
      ++runs;
      const auto reports = Control::take_reports();
      EXPECT_EQ(result.error, cudaSuccess);
      ASSERT_FALSE(reports.empty()) << "bug " << static_cast<int>(bug) << ", " << scheduler;
      EXPECT_EQ(reports[0].kind, ReportKind::race) << reports[0].text;
      EXPECT_TRUE(Control::leaks().empty());
    }
    std::printf("bug %d: caught in %d of %d runs, wrong results in %d\n", static_cast<int>(bug),
                runs, runs, wrong);
  }
}

TEST_P(PlantedBugs, TheCorrectRingIsNeverAccusedAndAlwaysRight) {
  int runs = 0;
  for (const int ranks : {2, 3, 4, 5, 8})
    for (const int devices : {1, 2, 3, 4, 8})
      for (const std::string& scheduler : schedulers(6)) {
        reset(scheduler, devices);
        RingRun run;
        run.ranks = ranks;
        run.devices = devices;
        run.graph = GetParam();
        run.elements = 50;
        const RingResult result = run_ring(run);
        EXPECT_EQ(result.error, cudaSuccess);
        EXPECT_EQ(result.wrong, 0);
        for (const Report& report : Control::take_reports()) ADD_FAILURE() << report.text;
        for (const std::string& leak : Control::leaks()) ADD_FAILURE() << leak;
        ++runs;
      }
  std::printf("%d runs\n", runs);
}

TEST_P(PlantedBugs, SchedulesThatOnlyDependOnTheSeedMakeSomeRunsWrong) {
  for (const Bug bug :
       {Bug::reduce_before_arrival, Bug::send_before_reduce, Bug::slot_overwritten}) {
    int wrong = 0;
    for (int seed = 0; seed < 100; ++seed) {
      RingRun run;
      run.bug = bug;
      run.graph = GetParam();
      RingResult results[2];
      for (RingResult& result : results) {
        reset("pct:" + std::to_string(seed));
        result = run_ring(run);
        EXPECT_FALSE(Control::take_reports().empty());
      }
      EXPECT_EQ(results[0].wrong, results[1].wrong) << "seed " << seed;
      wrong += results[0].wrong > 0 ? 1 : 0;
    }
    EXPECT_GT(wrong, 0) << "bug " << static_cast<int>(bug);
  }
}

TEST_P(PlantedBugs, ALostWaitIsReportedOrOthersImplyIt) {
  RingRun run;
  run.graph = GetParam();
  reset("pct:1");
  ASSERT_EQ(run_ring(run).error, cudaSuccess);
  const auto waits = Control::waits();
  std::uint64_t caught = 0;
  for (std::uint64_t n = 1; n <= waits; ++n) {
    for (const std::string& scheduler : schedulers(5)) {
      reset(scheduler);
      Control::drop_wait(n);
      const RingResult result = run_ring(run);
      const bool found = !Control::take_reports().empty() || result.error != cudaSuccess;
      if (scheduler == "eager") caught += found ? 1 : 0;
      if (!found) {
        EXPECT_EQ(result.wrong, 0) << "wait " << n << " is needed, " << scheduler;
      }
    }
  }
  std::printf("%llu waits, %llu of them needed\n", static_cast<unsigned long long>(waits),
              static_cast<unsigned long long>(caught));
  EXPECT_GT(caught, waits / 2);
}

TEST(PlantedMisuse, AKernelLaunchedOnTheWrongDeviceIsRefused) {
  reset("pct:1");
  RingRun run;
  run.bug = Bug::wrong_device;
  EXPECT_EQ(run_ring(run).error, cudaErrorInvalidResourceHandle);
  const auto reports = Control::take_reports();
  ASSERT_FALSE(reports.empty());
  EXPECT_EQ(reports[0].kind, ReportKind::misuse);
}

TEST(PlantedMisuse, ACaptureWithAnUnjoinedStreamIsRefused) {
  reset("pct:1");
  RingRun run;
  run.graph = true;
  run.bug = Bug::unjoined_capture;
  EXPECT_EQ(run_ring(run).error, cudaErrorStreamCaptureUnjoined);
  EXPECT_TRUE(Control::leaks().empty());
}

}  // namespace
}  // namespace ringside::tests::fakecuda
