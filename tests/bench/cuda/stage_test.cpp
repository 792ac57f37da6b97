// SPDX-License-Identifier: MIT
/// A stage of GPUs: what is timed, and that what is wrong on a device is found.
#include "ringside/bench/cuda/stage.hpp"

#include <gtest/gtest.h>

#include "ringside/bench/algorithm_subject.hpp"
#include "ringside/collectives/world.hpp"
#include "ringside/tests/bench/cuda/gpu_fixture.hpp"

namespace ringside::tests {
namespace {

using bench::AlgorithmSubject;
using bench::Block;
using bench::Cell;
using bench::GpuMemory;
using bench::GpuStage;
using bench::Placement;

constexpr std::size_t count = 3000;

class GpuStageTest : public GpuBenchTest {
 protected:
  /// On devices 0, 1, 0.
  static std::unique_ptr<GpuStage> stage(bool is_timed,
                                         Collective collective = Collective::all_reduce) {
    const std::vector<int> devices = {0, 1, 0};
    const Request what{.collective = collective, .ranks = 3, .root = 0, .in_place = false};
    auto memory =
        std::make_shared<GpuMemory>(what, 3 * count * sizeof(float), request(devices), devices);
    return std::make_unique<GpuStage>(std::make_shared<bench::Team>(World::cuda(devices)), what,
                                      std::move(memory), std::nullopt, bench::StageMode{},
                                      is_timed);
  }

  static Cell cell(Placement placement = Placement::out_of_place,
                   Collective collective = Collective::all_reduce) {
    Cell cell;
    cell.collective = collective;
    cell.count = count;
    cell.placement = placement;
    return cell;
  }

  /// Behind the call in its stream, a byte of rank 1's input or output becomes another.
  static bench::Call spoilt(bool output) {
    return [output](Communicator& communicator, const Arguments& arguments,
                    const CallOptions& options) {
      communicator.submit(arguments, options);
      if (communicator.rank() != 1) return;
      void* const spoilt = output ? arguments.output : const_cast<void*>(arguments.input);
      cuda::check(cudaMemsetAsync(static_cast<std::byte*>(spoilt) + 1000, 0x5a, 1,
                                  static_cast<cudaStream_t>(*options.stream)),
                  "cudaMemsetAsync", 1);
    };
  }
};

TEST_F(GpuStageTest, WhatIsRightIsFoundRightInBothPlacements) {
  const auto all = stage(true);
  for (const auto placement : bench::placements) {
    AlgorithmSubject subject(*all, "ring");
    const auto outcome = subject.check(cell(placement)).value();
    EXPECT_EQ(outcome.wrong, 0U);
    EXPECT_EQ(outcome.exact_bytes, count * sizeof(float));
    EXPECT_GT(outcome.reference_bytes, 0U);
  }
}

TEST_F(GpuStageTest, AWrongByteOnADeviceIsFoundInEveryCollective) {
  for (const auto& [collective, algorithm] :
       {std::pair{Collective::all_reduce, "ring"}, std::pair{Collective::all_gather, "ring"},
        std::pair{Collective::broadcast, "chain"}, std::pair{Collective::all_to_all, "pairwise"}}) {
    const auto all = stage(true, collective);
    AlgorithmSubject subject(*all, algorithm, spoilt(true));
    const auto outcome = subject.check(cell(Placement::out_of_place, collective)).value();
    EXPECT_GE(outcome.wrong, 1U) << to_string(collective);
    EXPECT_EQ(outcome.failed_ranks, 1) << to_string(collective);
  }
}

TEST_F(GpuStageTest, AnInputThatChangesOnADeviceIsFound) {
  const auto all = stage(true);
  AlgorithmSubject subject(*all, "ring", spoilt(false));
  const auto outcome = subject.check(cell()).value();
  EXPECT_EQ(outcome.failed_ranks, 1);
}

TEST_F(GpuStageTest, ACallThatDoesNothingIsFoundOnAllRanks) {
  const auto all = stage(true);
  AlgorithmSubject subject(*all, "ring",
                           [](Communicator&, const Arguments&, const CallOptions&) {});
  EXPECT_EQ(subject.check(cell()).value().failed_ranks, 3);
}

TEST_F(GpuStageTest, TimesAreThoseBetweenEventsOfEveryRank) {
  const auto all = stage(true);
  const Block block{.samples = 5, .calls_per_sample = 2, .lead_in = 1};
  CallOptions options;
  options.algorithm = "ring";
  const auto times = all->time(cell(), block, options);
  ASSERT_EQ(times.rank_seconds.size(), 3U);
  ASSERT_EQ(times.sample_seconds.size(), 5U);
  ASSERT_EQ(times.issue_seconds.size(), 3U);
  for (const double seconds : times.issue_seconds) EXPECT_GT(seconds, 0);
  // The double's clock: its events are as far apart as its model of a device says.
  double sum = 0;
  for (const double seconds : times.sample_seconds) sum += 2 * seconds;
  for (const double seconds : times.rank_seconds) {
    EXPECT_GT(seconds, 0);
    EXPECT_LE(seconds, sum * 1.001);  // a sample's is the slowest rank's
  }
}

TEST_F(GpuStageTest, ABlockEndsAtItsLimitOnAllRanksAlike) {
  const auto all = stage(true);
  const Block block{
      .samples = 1'000'000, .calls_per_sample = 1, .lead_in = 0, .limit = Seconds{0.02}};
  CallOptions options;
  options.algorithm = "chain";
  const auto times = all->time(cell(Placement::out_of_place), block, options);
  EXPECT_GE(times.sample_seconds.size(), 1U);
  EXPECT_LT(times.sample_seconds.size(), 1'000'000U);
}

TEST_F(GpuStageTest, AnErrorOfADeviceReachesTheCallerAndNobodyHangs) {
  auto all = stage(true);
  CallOptions options;
  options.algorithm = "ring";
  const Block block{.samples = 3, .calls_per_sample = 1, .lead_in = 1};
  fakecuda::Control::fault_operation(20, cudaErrorLaunchFailure);
  EXPECT_THROW((void)all->time(cell(), block, options), Error);
  // A device that has failed ends nothing, so nothing comes before the memory's end.
  all.reset();
  for (const auto& report : fakecuda::Control::take_reports())
    EXPECT_EQ(report.kind, fakecuda::ReportKind::pending_free) << report.text;
}

}  // namespace
}  // namespace ringside::tests
