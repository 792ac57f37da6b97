// SPDX-License-Identifier: MIT
/// Collectives that are wrong on purpose: the checks find them, rows say so, and the exit code too.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/bench/algorithm_subject.hpp"
#include "ringside/bench/bench.hpp"
#include "ringside/bench/message_subject.hpp"
#include "ringside/bench/nccl_tests_text.hpp"
#include "ringside/bench/sweep.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/group.hpp"
#include "ringside/collectives/layout.hpp"
#include "ringside/tests/bench/nccl_rows.hpp"

namespace ringside::bench {
namespace {

constexpr int ranks = 3;
constexpr int root = 1;

/// Of every collective with data, an algorithm that does it.
struct Done {
  Collective collective;
  const char* algorithm;
};
constexpr Done all_done[] = {
    {Collective::all_reduce, "ring"},  {Collective::reduce_scatter, "ring"},
    {Collective::all_gather, "ring"},  {Collective::broadcast, "chain"},
    {Collective::reduce, "chain"},     {Collective::gather, "binomial"},
    {Collective::scatter, "binomial"}, {Collective::all_to_all, "pairwise"},
};

/// 20,000 elements a block: more than a period of the contributions.
Cell cell_of(Collective collective, Placement placement = Placement::out_of_place) {
  return {.collective = collective,
          .type = ElementType::float32,
          .op = ReduceOp::sum,
          .count = 20'000,
          .placement = placement,
          .root = has_root(collective) ? root : 0};
}

CheckOutcome check(const Done& done, const Call& call,
                   Placement placement = Placement::out_of_place) {
  const Cell cell = cell_of(done.collective, placement);
  HostStage stage(
      {.collective = done.collective, .ranks = ranks, .root = cell.root, .in_place = false},
      cell.count * ranks * sizeof(float), BenchRequest{});
  AlgorithmSubject subject(stage, done.algorithm, call);
  return subject.check(cell).value();
}

void right(Communicator& communicator, const Arguments& arguments, const CallOptions& options) {
  communicator.submit(arguments, options);
}

Request request_of(const Arguments& arguments) {
  return {.collective = arguments.collective,
          .ranks = ranks,
          .root = arguments.root,
          .in_place = false};
}

/// Bytes of a rank's input or output.
std::size_t bytes_of(const Arguments& arguments, int rank, Buffer buffer) {
  return static_cast<std::size_t>(blocks_in(request_of(arguments), rank, buffer).count) *
         arguments.blocks[0] * size_of(arguments.type);
}

std::byte* output_of(const Arguments& arguments) {
  return static_cast<std::byte*>(arguments.output);
}

/// Ranks that have an output.
int receivers(Collective collective) {
  return collective == Collective::reduce || collective == Collective::gather ? 1 : ranks;
}

bool has_placement(Collective collective, Placement placement) {
  return placement == Placement::out_of_place || can_be_in_place(collective);
}

TEST(Check, ARightCallHasNoWrongElements) {
  for (const auto& done : all_done)
    for (const auto placement : placements) {
      if (!has_placement(done.collective, placement)) continue;
      SCOPED_TRACE(std::string(to_string(done.collective)));
      const auto outcome = check(done, right, placement);
      const std::uint64_t blocks = has_block_per_rank(done.collective) ? ranks : 1;
      EXPECT_EQ(outcome.wrong, 0U);
      EXPECT_EQ(outcome.failed_ranks, 0);
      EXPECT_EQ(outcome.exact_bytes, blocks * 80'000U);
      EXPECT_EQ(outcome.reference_bytes, blocks * 80'000U);
    }
}

TEST(Check, ACallThatDoesNothingIsWrongOnEveryRankThatReceives) {
  for (const auto& done : all_done)
    for (const auto placement : placements) {
      if (!has_placement(done.collective, placement)) continue;
      SCOPED_TRACE(std::string(to_string(done.collective)));
      const auto outcome = check(
          done, [](Communicator&, const Arguments&, const CallOptions&) {}, placement);
      // In place the root of a broadcast and of a scatter has its output already.
      const bool root_has_it =
          placement == Placement::in_place &&
          (done.collective == Collective::broadcast || done.collective == Collective::scatter);
      EXPECT_EQ(outcome.failed_ranks, receivers(done.collective) - (root_has_it ? 1 : 0));
      EXPECT_GT(outcome.wrong, cell_of(done.collective).count);
    }
}

TEST(Check, ContributionsOfOneRankThatDoNotArriveAreFoundWhereverTheyAreMissing) {
  for (const auto& done : all_done) {
    SCOPED_TRACE(std::string(to_string(done.collective)));
    const auto outcome = check(done, [](Communicator& communicator, const Arguments& arguments,
                                        const CallOptions& options) {
      // The root's data are zeros.
      std::vector<std::byte> zeros(bytes_of(arguments, communicator.rank(), Buffer::input));
      Arguments changed = arguments;
      if (communicator.rank() == root) changed.input = zeros.data();
      communicator.submit(changed, options);
    });
    EXPECT_EQ(outcome.failed_ranks, receivers(done.collective));
    EXPECT_GT(outcome.wrong, cell_of(done.collective).count);
  }
}

TEST(Check, OneElementOnOneRankIsFound) {
  for (const auto& done : all_done)
    for (const auto placement : placements) {
      if (!has_placement(done.collective, placement)) continue;
      SCOPED_TRACE(std::string(to_string(done.collective)));
      const auto outcome = check(
          done,
          [](Communicator& communicator, const Arguments& arguments, const CallOptions& options) {
            communicator.submit(arguments, options);
            const auto bytes = bytes_of(arguments, communicator.rank(), Buffer::output);
            if (communicator.rank() == root) output_of(arguments)[bytes - 4] ^= std::byte{1};
          },
          placement);
      EXPECT_EQ(outcome.wrong, 2U);  // once with exact contributions, once with rounding ones
      EXPECT_EQ(outcome.failed_ranks, 1);
    }
}

TEST(Check, ABlockInTheWrongPlaceIsFound) {
  for (const auto& done : all_done) {
    const Request request{
        .collective = done.collective, .ranks = ranks, .root = 0, .in_place = false};
    if (blocks_in(request, 0, Buffer::output).count < 2) continue;
    SCOPED_TRACE(std::string(to_string(done.collective)));
    const auto outcome = check(done, [](Communicator& communicator, const Arguments& arguments,
                                        const CallOptions& options) {
      communicator.submit(arguments, options);
      const auto bytes = bytes_of(arguments, communicator.rank(), Buffer::output);
      if (bytes > 0)
        std::swap_ranges(output_of(arguments), output_of(arguments) + bytes / ranks,
                         output_of(arguments) + bytes / ranks);
    });
    EXPECT_EQ(outcome.failed_ranks, receivers(done.collective));
  }
}

TEST(Check, AnotherOrderOfAdditionsIsFound) {
  for (const auto& done : {all_done[0], all_done[1]}) {
    SCOPED_TRACE(std::string(to_string(done.collective)));
    const auto outcome = check(
        done, [](Communicator& communicator, const Arguments& arguments, CallOptions options) {
          const bool all = arguments.collective == Collective::all_reduce;
          options.algorithm = all ? "ring:order=1-0-2" : "direct";
          communicator.submit(arguments, options);
        });
    const auto count = cell_of(done.collective).count;
    EXPECT_GT(outcome.wrong, count / 10);
    EXPECT_LT(outcome.wrong, ranks * count);  // the exact contributions do not see it
  }
}

TEST(Check, AnInputThatWasChangedIsFound) {
  for (const auto& done : all_done) {
    SCOPED_TRACE(std::string(to_string(done.collective)));
    const auto outcome = check(done, [](Communicator& communicator, const Arguments& arguments,
                                        const CallOptions& options) {
      communicator.submit(arguments, options);
      if (communicator.rank() == root)
        static_cast<std::byte*>(const_cast<void*>(arguments.input))[0] ^= std::byte{1};
    });
    EXPECT_EQ(outcome.wrong, 1U);
    EXPECT_EQ(outcome.failed_ranks, 1);
  }
}

TEST(Check, MessagesThatDoNotArriveOrArriveElsewhereAreFound) {
  Cell cell = cell_of(Collective::all_reduce);
  cell.collective = Operation::sendrecv();
  HostStage stage(
      {.collective = Collective::all_reduce, .ranks = ranks, .root = 0, .in_place = false},
      cell.count * sizeof(float), BenchRequest{});
  EXPECT_EQ(MessageSubject(stage).check(cell)->wrong, 0U);
  const auto nothing = [](Communicator&, const Arguments&, const CallOptions&) {};
  EXPECT_EQ(MessageSubject(stage, nothing).check(cell)->failed_ranks, ranks);
  const auto other_way_round = [](Communicator& communicator, const Arguments& arguments,
                                  const CallOptions& options) {
    const int rank = communicator.rank();
    grouped([&] {
      communicator.send(arguments.input, arguments.blocks[0], arguments.type,
                        (rank + ranks - 1) % ranks, options);
      communicator.recv(arguments.output, arguments.blocks[0], arguments.type, (rank + 1) % ranks,
                        options);
    });
  };
  EXPECT_GT(MessageSubject(stage, other_way_round).check(cell)->wrong, ranks * cell.count * 9 / 10);
}

TEST(Check, ABarrierThatLetsRanksGoEarlyIsFound) {
  const Done barrier{Collective::barrier, "auto"};
  EXPECT_EQ(check(barrier, right).wrong, 0U);
  const auto outcome =
      check(barrier, [](Communicator& communicator, const Arguments&, const CallOptions&) {
        if (communicator.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      });
  EXPECT_GT(outcome.wrong, 0U);
  EXPECT_GE(outcome.failed_ranks, 1);
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
