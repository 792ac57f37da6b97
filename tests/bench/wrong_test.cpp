// SPDX-License-Identifier: MIT
/// Collectives that are wrong on purpose: the checks find them, rows say so, and the exit code too.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/bench/algorithm_subject.hpp"
#include "ringside/bench/bench.hpp"
#include "ringside/bench/nccl_tests_text.hpp"
#include "ringside/bench/sweep.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/tests/bench/nccl_rows.hpp"

namespace ringside::bench {
namespace {

constexpr int ranks = 3;
constexpr Cell cell{.type = ElementType::float32,
                    .op = ReduceOp::sum,
                    .count = 20'000,
                    .placement = Placement::out_of_place};

CheckOutcome check(const Call& call, Placement placement = Placement::out_of_place) {
  Stage stage(ranks, cell.count * sizeof(float), BenchRequest{});
  AlgorithmSubject subject(stage, "ring", call);
  Cell checked = cell;
  checked.placement = placement;
  return subject.check(checked).value();
}

void right(Communicator& communicator, const std::byte* input, std::byte* output,
           std::size_t elements, ElementType type, ReduceOp op, const CallOptions& options) {
  communicator.all_reduce(input, output, elements, type, op, options);
}

TEST(Check, ARightCallHasNoWrongElements) {
  for (const auto placement : placements) {
    const auto outcome = check(right, placement);
    EXPECT_EQ(outcome.wrong, 0U);
    EXPECT_EQ(outcome.failed_ranks, 0);
    EXPECT_EQ(outcome.exact_bytes, cell.count * sizeof(float));
    EXPECT_EQ(outcome.reference_bytes, cell.count * sizeof(float));
  }
}

TEST(Check, ADroppedContributionIsWrongOnEveryRank) {
  for (const auto placement : placements) {
    const auto outcome = check(
        [](Communicator& communicator, const std::byte* input, std::byte* output,
           std::size_t elements, ElementType type, ReduceOp op, const CallOptions& options) {
          // The last rank contributes nothing.
          std::vector<std::byte> own(input, input + elements * size_of(type));
          if (communicator.rank() == ranks - 1) std::fill(own.begin(), own.end(), std::byte{0});
          communicator.all_reduce(own.data(), own.data(), elements, type, op, options);
          std::memcpy(output, own.data(), own.size());
        },
        placement);
    EXPECT_EQ(outcome.failed_ranks, ranks);
    EXPECT_GT(outcome.wrong, ranks * cell.count);
  }
}

TEST(Check, OneElementOnOneRankIsFound) {
  const auto outcome =
      check([](Communicator& communicator, const std::byte* input, std::byte* output,
               std::size_t elements, ElementType type, ReduceOp op, const CallOptions& options) {
        communicator.all_reduce(input, output, elements, type, op, options);
        if (communicator.rank() == 1) output[4 * (elements - 1)] ^= std::byte{1};
      });
  EXPECT_EQ(outcome.wrong, 2U);  // once with exact contributions, once with rounding ones
  EXPECT_EQ(outcome.failed_ranks, 1);
}

TEST(Check, AnotherOrderOfAdditionsIsFound) {
  const auto outcome =
      check([](Communicator& communicator, const std::byte* input, std::byte* output,
               std::size_t elements, ElementType type, ReduceOp op, CallOptions options) {
        options.algorithm = "ring:order=1-0-2";
        communicator.all_reduce(input, output, elements, type, op, options);
      });
  EXPECT_GT(outcome.wrong, cell.count / 10);
  EXPECT_LT(outcome.wrong, ranks * cell.count);  // the exact contributions do not see it
}

TEST(Check, AnInputThatWasChangedIsFound) {
  const auto outcome =
      check([](Communicator& communicator, const std::byte* input, std::byte* output,
               std::size_t elements, ElementType type, ReduceOp op, const CallOptions& options) {
        communicator.all_reduce(input, output, elements, type, op, options);
        if (communicator.rank() == 2) const_cast<std::byte*>(input)[0] ^= std::byte{1};
      });
  EXPECT_EQ(outcome.wrong, 1U);
}

TEST(Check, WrongElementsReachTheRowTheFooterAndTheVerdict) {
  Report report;
  report.request.ranks = {ranks};
  Series series;
  series.label = "ring";
  series.ranks = ranks;
  Timing timing;
  timing.time = 1;
  timing.check = CheckOutcome{.wrong = 5, .failed_ranks = 2};
  series.rows.push_back({.bytes = 8, .count = 2, .timings = {timing, std::nullopt}});
  report.series.push_back(series);
  EXPECT_FALSE(all_right(report));
  const auto text = tests::read_nccl_text(text_block(report, series));
  EXPECT_EQ(text.rows.at(0).out_of_place->check, "5");
  EXPECT_EQ(text.out_of_bounds, "2 FAILED");
  report.series[0].rows[0].timings[0]->check = CheckOutcome{};
  EXPECT_TRUE(all_right(report));
}

/// The last rank's data never arrive; rank 0's value goes to everybody.
OpStream forget_the_last(Group group) {
  const int n = group.ranks();
  for (int rank = 1; rank + 1 < n; ++rank) co_yield group.combine(0, 0, rank, 0);
  for (int rank = 1; rank < n; ++rank) co_yield group.copy(0, rank, 0);
}

TEST(RunBench, ARegisteredAlgorithmThatIsWrongIsRefusedBeforeItRuns) {
  register_algorithm({.name = "forget_the_last",
                      .summary = "wrong on purpose",
                      .make = [](const Request&, const Parameters&) {
                        return Algorithm{.chunks = 1, .lanes = 1, .write = forget_the_last};
                      }});
  BenchRequest request;
  request.algorithms = {"forget_the_last"};
  request.ranks = {ranks};
  request.sizes = {.begin = 8, .end = 8, .factor = 2, .step = 0};
  try {
    (void)run_sweep(request);
    FAIL() << "it ran";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("without the contribution of rank 2"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace ringside::bench
