// SPDX-License-Identifier: MIT
/// The choice of an algorithm: the nearest row decides, every request gets an answer that can serve
/// it, and what a communicator says it would run is what it runs.
#include "ringside/collectives/selector/choice.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/file.hpp"
#include "ringside/base/options.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/world.hpp"

namespace ringside::tests {
namespace {

constexpr std::uint64_t kib = 1024;

TuningRow row(Collective collective, int ranks, int cores, std::vector<TuningRange> ranges) {
  return {.backend = "host",
          .collective = collective,
          .ranks = ranks,
          .cores = cores,
          .in_place = std::nullopt,
          .ranges = std::move(ranges),
          .measured = {}};
}

TuningTable table_of(std::vector<TuningRow> rows) {
  return {.name = "test table", .origin = {}, .rows = std::move(rows)};
}

std::string spec(const TuningTable& table, const Request& request, std::uint64_t bytes,
                 int cores = 2) {
  return choose(table, {"host", cores}, request, bytes).spec;
}

Request all_reduce(int ranks, bool in_place = false) {
  return {Collective::all_reduce, ranks, 0, in_place};
}

TEST(Choice, TheSizeDecidesWithinARow) {
  const auto table =
      table_of({row(Collective::all_reduce, 2, 2, {{0, "one_shot"}, {64 * kib, "two_shot"}})});
  EXPECT_EQ(spec(table, all_reduce(2), 0), "one_shot");
  EXPECT_EQ(spec(table, all_reduce(2), 64 * kib - 1), "one_shot");
  EXPECT_EQ(spec(table, all_reduce(2), 64 * kib), "two_shot");
}

TEST(Choice, TheNearestNumberOfRanksDecides) {
  const auto table = table_of({row(Collective::all_reduce, 4, 8, {{0, "ring"}}),
                               row(Collective::all_reduce, 2, 8, {{0, "one_shot"}}),
                               row(Collective::all_reduce, 8, 8, {{0, "chain"}})});
  EXPECT_EQ(spec(table, all_reduce(2), 8, 8), "one_shot");
  EXPECT_EQ(spec(table, all_reduce(4), 8, 8), "ring");
  EXPECT_EQ(spec(table, all_reduce(5), 8, 8), "ring");
  EXPECT_EQ(spec(table, all_reduce(7), 8, 8), "chain");
}

TEST(Choice, RanksThatShareCoresAreAnotherMatterThanRanksThatDoNot) {
  const auto table = table_of({row(Collective::all_reduce, 4, 2, {{0, "ring"}}),
                               row(Collective::all_reduce, 4, 4, {{0, "two_shot"}})});
  EXPECT_EQ(spec(table, all_reduce(4), 8, 3), "ring");
  EXPECT_EQ(spec(table, all_reduce(4), 8, 16), "two_shot");
}

TEST(Choice, AllReduceMayDependOnThePlacement) {
  TuningRow in = row(Collective::all_reduce, 2, 2, {{0, "ring"}});
  in.in_place = true;
  TuningRow out = row(Collective::all_reduce, 2, 2, {{0, "chain"}});
  out.in_place = false;
  const auto table = table_of({in, out});
  EXPECT_EQ(spec(table, all_reduce(2, true), 8), "ring");
  EXPECT_EQ(spec(table, all_reduce(2, false), 8), "chain");
  EXPECT_EQ(spec(table_of({in}), all_reduce(2, false), 8), "ring") << "better than nothing";
}

TEST(Choice, OtherBackendsAndCollectivesHaveNoSay) {
  TuningRow foreign = row(Collective::all_reduce, 2, 2, {{0, "ring"}});
  foreign.backend = "mpi";
  const auto table = table_of({foreign, row(Collective::broadcast, 2, 2, {{0, "chain"}})});
  EXPECT_EQ(spec(table, all_reduce(2), 8), "two_shot");
  EXPECT_EQ(spec(table, {Collective::broadcast, 2, 1, false}, 8), "chain");
}

TEST(Choice, WhatCannotServeTheRequestIsPassedByAndNamed) {
  // Two groups of two ranks are no partition of three.
  const auto table =
      table_of({row(Collective::all_reduce, 4, 2,
                    {{0, "hierarchical:groups=0-1/2-3"}, {64, "ring"}, {128, "one_shot"}})});
  const Choice choice = choose(table, {"host", 2}, all_reduce(3), 8);
  EXPECT_EQ(choice.spec, "ring") << choice.why;
  EXPECT_NE(choice.why.find("passed by"), std::string::npos) << choice.why;
  EXPECT_NE(choice.why.find("hierarchical"), std::string::npos) << choice.why;
}

TEST(Choice, ReasonsNameTheRowAndTheNearestMeasurement) {
  TuningRow measured = row(Collective::all_reduce, 2, 2, {{0, "one_shot"}, {64 * kib, "two_shot"}});
  measured.measured = {{8, {{"one_shot", 0.25}}},
                       {64 * kib, {{"two_shot", 4.5}, {"ring", 7.0}}},
                       {1024 * kib, {{"two_shot", 80}}}};
  const Choice choice = choose(table_of({measured}), {"host", 2}, all_reduce(2), 100 * kib);
  EXPECT_EQ(choice.why,
            "test table: two_shot from 64 KiB on for all_reduce on 2 ranks and 2 cores; measured "
            "at 64 KiB: two_shot 4.5 us, ring 7 us");
}

TEST(Choice, ReasonsDoNotTellAChangeMorePreciselyThanItWasMeasured) {
  TuningRow row_of_three =
      row(Collective::all_reduce, 2, 2, {{0, "chain"}, {1449, "one_shot"}, {2897, "two_shot"}});
  row_of_three.measured = {{1024, {{"chain", 1}}}, {2048, {{"one_shot", 2}}}, {4096, {}}};
  const Choice choice = choose(table_of({row_of_three}), {"host", 2}, all_reduce(2), 1500);
  EXPECT_TRUE(
      choice.why.starts_with("test table: one_shot from a size between 1 KiB and 2 KiB "
                             "below a size between 2 KiB and 4 KiB for all_reduce"))
      << choice.why;
}

TEST(Choice, EveryRequestGetsAnAnswerThatServesIt) {
  const auto partial = table_of({row(Collective::all_reduce, 2, 2, {{0, "halving_doubling"}})});
  for (const TuningTable* table : {&default_tuning(), &partial})
    for (const auto name : collective_names()) {
      const Collective collective = *parse_collective(name);
      if (collective == Collective::barrier) continue;
      for (const int ranks : {1, 2, 3, 5, 8, 12})
        for (const int cores : {1, 2, 64})
          for (const bool in_place : {false, true})
            for (const std::uint64_t bytes :
                 {std::uint64_t{0}, 100 * kib, std::uint64_t{1} << 40}) {
              if (in_place && collective == Collective::all_to_all) continue;
              const Request request{collective, ranks, has_root(collective) ? ranks - 1 : 0,
                                    in_place};
              const Choice choice = choose(*table, {"host", cores}, request, bytes);
              EXPECT_NO_THROW((void)PlanStream(parse_spec(choice.spec), request))
                  << name << " " << ranks << ": " << choice.spec;
              EXPECT_FALSE(choice.why.empty());
            }
    }
}

TEST(Choice, WhereRanksMayDifferInPlacementItDoesNotDependOnIt) {
  for (const auto name : collective_names()) {
    const Collective collective = *parse_collective(name);
    if (collective == Collective::barrier || chooses_by_placement(collective) ||
        collective == Collective::all_to_all)
      continue;
    for (const int ranks : {2, 3, 8})
      for (std::uint64_t bytes = 1; bytes < (std::uint64_t{1} << 28); bytes *= 7)
        EXPECT_EQ(spec(default_tuning(), {collective, ranks, 0, false}, bytes),
                  spec(default_tuning(), {collective, ranks, 0, true}, bytes))
            << name << " " << ranks << " " << bytes;
  }
}

TEST(Choice, BarrierNeedsNone) {
  EXPECT_THROW((void)choose(default_tuning(), {"host", 2}, {Collective::barrier, 2, 0, false}, 0),
               Error);
}

/// A table in a file, for as long as it lives.
class TuningFile {
 public:
  explicit TuningFile(const std::string& text)
      : path_(testing::TempDir() + "ringside_choice_" + std::to_string(++made) + "_" +
              testing::UnitTest::GetInstance()->current_test_info()->name() + ".json"),
        option_("tuning", path_) {
    write_file(path_, text);
  }
  ~TuningFile() { std::remove(path_.c_str()); }

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  static inline int made = 0;
  std::string path_;
  ScopedOption option_;
};

TEST(TuningOption, ACommunicatorSaysAndRunsWhatTheTableSays) {
  const TuningFile file(tuning_to_json(table_of({row(
      Collective::all_reduce, 2, 2, {{0, "chain"}, {64, "ring:slices=2"}, {256, "binomial"}})})));
  std::vector<std::string> says;
  World::threads(2).run([&](Communicator& comm) {
    std::vector<float> data(100, static_cast<float>(comm.rank()) + 1);
    for (const std::size_t elements : {4U, 20U, 100U}) {
      if (comm.rank() == 0)
        says.push_back(comm.algorithm_for(Collective::all_reduce, elements * sizeof(float), true));
      comm.all_reduce(std::span(data).first(elements), ReduceOp::max);
    }
    EXPECT_EQ(data, std::vector<float>(100, 2));
    // Ranks of different opinions would have different plans: the first of them says so.
    const CallOptions pinned{.algorithm = comm.rank() == 0 ? "auto" : "ring:slices=2"};
    EXPECT_NO_THROW(comm.all_reduce(std::span(data).first(20), ReduceOp::max, pinned));
    const CallOptions other{.algorithm = comm.rank() == 0 ? "auto" : "ring"};
    EXPECT_THROW(comm.all_reduce(std::span(data).first(20), ReduceOp::max, other), Error);
  });
  EXPECT_EQ(says, (std::vector<std::string>{"chain", "ring:slices=2", "binomial"}));
}

OpStream star(Group g) {
  for (int chunk = 0; chunk < g.chunks(); ++chunk) {
    for (int rank = 1; rank < g.ranks(); ++rank) co_yield g.combine(0, 0, rank, chunk);
    for (int rank = 1; rank < g.ranks(); ++rank) co_yield g.copy(0, rank, chunk);
  }
}

TEST(TuningOption, AnAlgorithmFromOutsideCanBeChosen) {
  register_algorithm({.name = "choice_test_star",
                      .summary = "everything at rank 0",
                      .make = [](const Request&, const Parameters&) {
                        return Algorithm{.chunks = 1, .write = star};
                      }});
  const TuningFile file(
      tuning_to_json(table_of({row(Collective::all_reduce, 2, 2, {{0, "choice_test_star"}})})));
  World::threads(3).run([&](Communicator& comm) {
    EXPECT_EQ(comm.algorithm_for(Collective::all_reduce, 4000, true), "choice_test_star");
    std::vector<float> data(1000, 1);
    comm.all_reduce(std::span(data), ReduceOp::sum);
    EXPECT_EQ(data, std::vector<float>(1000, 3));
  });
}

TEST(TuningOption, ABadFileIsRefusedBeforeAnythingRuns) {
  const auto refusal = [](const std::string& text) -> std::string {
    const TuningFile file(text);
    try {
      World::threads(2).run([](Communicator&) { ADD_FAILURE() << "ran"; });
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing refused";
  };
  EXPECT_NE(refusal("{\"ringside_tuning\": 7}").find("version 7"), std::string::npos);
  const std::string unknown =
      refusal(tuning_to_json(table_of({row(Collective::all_reduce, 2, 2, {{0, "rnig"}})})));
  EXPECT_NE(unknown.find("rnig"), std::string::npos) << unknown;
  const ScopedOption missing("tuning", testing::TempDir() + "ringside_no_such_file.json");
  EXPECT_THROW(World::threads(2).run([](Communicator&) {}), Error);
}

}  // namespace
}  // namespace ringside::tests
