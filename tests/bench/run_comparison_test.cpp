// SPDX-License-Identifier: MIT
/// Comparing two runs, on synthetic noise as wild as that of a virtual machine: equal programs are
/// found equal, slower ones slower, and the confidence is what it claims to be.
#include "ringside/bench/run_comparison.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/options.hpp"
#include "ringside/base/threads.hpp"
#include "ringside/bench/intervals.hpp"
#include "ringside/bench/json_report.hpp"
#include "ringside/bench/passes.hpp"
#include "ringside/tests/support/outcome.hpp"
#include "ringside/tests/support/program_checks.hpp"

namespace ringside::bench::tests {
namespace {

using ringside::tests::contains;

TEST(MedianInterval, EnclosesTheMedianAsOftenAsItSays) {
  std::mt19937 random(1);
  std::exponential_distribution<double> draw(1);
  const double truth = std::log(2.0);
  for (const std::size_t n : {9U, 15U, 40U}) {
    int enclosed = 0;
    for (int trial = 0; trial < 2000; ++trial) {
      std::vector<double> samples(n);
      for (auto& sample : samples) sample = draw(random);
      enclosed += median_interval(samples, 0.9).contains(truth) ? 1 : 0;
    }
    EXPECT_GE(enclosed, 1780) << n;  // 0.89: three standard deviations below 0.9
    EXPECT_LE(enclosed, 1990) << n << ": not wider than need be";
  }
}

TEST(MedianInterval, OfTooFewSamplesIsInfinite) {
  const std::vector<double> four = {3, 1, 2, 4};
  EXPECT_TRUE(std::isinf(median_interval(four, 0.9).low));
  EXPECT_TRUE(std::isinf(median_interval(four, 0.9).high));
  const std::vector<double> five = {3, 1, 2, 4, 5};
  EXPECT_EQ(median_interval(five, 0.9).low, 1);
  EXPECT_EQ(median_interval(five, 0.9).high, 5);
}

TEST(MannWhitney, TailsAreThoseOfTheTables) {
  EXPECT_DOUBLE_EQ(mann_whitney_tail(1, 1, 0), 0.5);
  EXPECT_NEAR(mann_whitney_tail(5, 5, 0), 1.0 / 252, 1e-15);
  EXPECT_NEAR(mann_whitney_tail(5, 5, 2), 4.0 / 252, 1e-15);  // 1, 1, 2 orders
  EXPECT_NEAR(mann_whitney_tail(3, 4, 1), 2.0 / 35, 1e-15);
  EXPECT_NEAR(mann_whitney_tail(10, 10, 23), 0.0216, 5e-4);  // critical value at 5 %, two-sided: 23
  EXPECT_NEAR(mann_whitney_tail(8, 9, 72), 1, 1e-12);
}

TEST(ShiftBetween, FindsAShiftAndKnowsHowSurelyItDoes) {
  std::mt19937 random(2);
  std::cauchy_distribution<double> draw(0, 1);  // no mean, no variance
  int enclosed = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    std::vector<double> first(10), second(12);
    for (auto& x : first) x = draw(random);
    for (auto& x : second) x = draw(random) + 5;
    enclosed += shift_between(first, second, 0.95).interval.contains(5) ? 1 : 0;
  }
  EXPECT_GE(enclosed, 930);
  EXPECT_LE(enclosed, 985);
  const std::vector<double> two = {1, 2};
  EXPECT_TRUE(std::isinf(shift_between(two, two, 0.95).interval.high)) << "too few to say";
  EXPECT_DOUBLE_EQ(shift_between(two, two, 0.95).estimate, 0);
}

/// A machine whose cores move, whose neighbours come and go, and which is another one in each run.
class Simulation {
 public:
  explicit Simulation(unsigned seed) : random_(seed) {}

  struct Settings {
    std::size_t rows = 30;
    std::size_t rounds = 12;
    double factor = 1;  ///< of the program's time
    bool probed = true;
    std::vector<double> placements = {1, 4.5};  ///< of the cores: factors of latency
    double only_row = -1;                       ///< the factor is this row's alone
  };

  MeasuredRun run(const Settings& settings) {
    MeasuredRun run{.name = "simulated",
                    .processor = "p",
                    .commit = "c",
                    .date = "d",
                    .request = {},
                    .rows = {}};
    const double offset = normal(0.005);  // of the run: what its rounds share
    std::vector<double> of_round;
    std::vector<double> places;
    for (std::size_t i = 0; i < settings.rounds; ++i) {
      of_round.push_back(normal(0.03));  // of the minute
      places.push_back(settings.placements[random_() % settings.placements.size()]);
    }
    for (std::size_t r = 0; r < settings.rows; ++r) {
      RunRow row;
      row.key.algorithm = "a" + std::to_string(r);
      for (std::size_t i = 0; i < settings.rounds; ++i) {
        const double place = random_() % 8 == 0 ? settings.placements[0] : places[i];
        const bool slowed = settings.only_row < 0 || settings.only_row == static_cast<double>(r);
        double log = std::log(10 * place * (slowed ? settings.factor : 1)) + offset + of_round[i] +
                     normal(0.04);
        if (random_() % 12 == 0) log += 1;  // a neighbour took the core
        const double probe = settings.probed ? 55 * place : 0;
        row.rounds.push_back({.microseconds = std::exp(log),
                              .probe_before_ns = probe * std::exp(normal(0.02)),
                              .probe_after_ns = probe * std::exp(normal(0.02))});
      }
      run.rows.push_back(std::move(row));
    }
    return run;
  }

 private:
  double normal(double deviation) {
    return std::normal_distribution<double>(0, deviation)(random_);
  }
  std::mt19937 random_;
};

TEST(CompareRuns, TheSameProgramIsFoundTheSame) {
  Simulation simulation(3);
  int alarms = 0;
  for (int trial = 0; trial < 100; ++trial) {
    const auto comparison = compare_runs(simulation.run({}), simulation.run({}));
    alarms += comparison.slower() || comparison.overall.verdict == Verdict::faster ? 1 : 0;
  }
  EXPECT_LE(alarms, 2);
}

TEST(CompareRuns, AProgramSlowedByTenPercentIsFoundSlower) {
  Simulation simulation(4);
  int found = 0;
  for (int trial = 0; trial < 100; ++trial) {
    const auto comparison = compare_runs(simulation.run({}), simulation.run({.factor = 1.1}));
    found += comparison.slower() ? 1 : 0;
    EXPECT_NEAR(comparison.overall.estimate, 1.1, 0.08);
  }
  EXPECT_GE(found, 90);
}

TEST(CompareRuns, AFasterProgramIsFoundFasterAndIsNoFinding) {
  Simulation simulation(5);
  const auto comparison = compare_runs(simulation.run({.factor = 1.3}), simulation.run({}));
  EXPECT_EQ(comparison.overall.verdict, Verdict::faster);
  EXPECT_FALSE(comparison.slower());
}

TEST(CompareRuns, ASingleSlowRowIsFoundAndNoOther) {
  Simulation simulation(6);
  const auto comparison = compare_runs(
      simulation.run({.rounds = 24}), simulation.run({.rounds = 24, .factor = 1.6, .only_row = 7}));
  for (std::size_t i = 0; i < comparison.rows.size(); ++i)
    EXPECT_EQ(comparison.rows[i].ratio.verdict, i == 7 ? Verdict::slower : Verdict::same) << i;
  EXPECT_EQ(comparison.overall.verdict, Verdict::same);
  EXPECT_TRUE(comparison.slower());
}

TEST(CompareRuns, CoresThatLieOtherwiseAreNoSlowerProgram) {
  Simulation simulation(7);
  const MeasuredRun near = simulation.run({.placements = {1, 1, 1, 4.5}});
  const MeasuredRun far = simulation.run({.placements = {1, 4.5, 4.5, 4.5}});
  EXPECT_FALSE(compare_runs(near, far).slower());
}

/// Why two runs are not compared.
std::string refusal_of(const MeasuredRun& old_run, const MeasuredRun& new_run) {
  return ringside::tests::bad_input_of([&] { return compare_runs(old_run, new_run); });
}

TEST(CompareRuns, RunsOfWhichNoRowCanBeComparedAreRefused) {
  Simulation simulation(7);
  const auto why =
      refusal_of(simulation.run({.placements = {1}}), simulation.run({.placements = {4.5}}));
  EXPECT_TRUE(contains(why, "no row could be compared: the cores were never as far apart")) << why;
}

TEST(CompareRuns, RoundsInWhichTheCoresMovedAreLeftOut) {
  Simulation simulation(8);
  MeasuredRun old_run = simulation.run({.rows = 1, .placements = {1}});
  MeasuredRun new_run = old_run;
  for (std::size_t i = 0; i < 4; ++i) {
    new_run.rows[0].rounds[i].microseconds *= 100;
    new_run.rows[0].rounds[i].probe_after_ns *= 4.5;
  }
  const auto comparison = compare_runs(old_run, new_run);
  EXPECT_EQ(comparison.rows[0].old_rounds, 12U);
  EXPECT_EQ(comparison.rows[0].new_rounds, 8U);
  EXPECT_NEAR(comparison.rows[0].ratio.estimate, 1, 0.1);
}

TEST(CompareRuns, AMachineThatIsSlowerInOneRunIsDividedOut) {
  Simulation simulation(9);
  std::mt19937 random(9);
  const auto with_baseline = [&](double machine) {
    MeasuredRun run = simulation.run({.rows = 10, .placements = {1}});
    RunRow baseline;
    baseline.key.algorithm = "baseline:loop";
    for (std::size_t i = 0; i < 12; ++i) {
      const double now = machine * std::exp(std::normal_distribution<double>(0, 0.3)(random));
      baseline.rounds.push_back({5 * now, 55, 55});
      for (auto& row : run.rows) row.rounds[i].microseconds *= now;
    }
    run.rows.push_back(std::move(baseline));
    return run;
  };
  const auto comparison = compare_runs(with_baseline(1), with_baseline(1.5));
  EXPECT_EQ(comparison.overall.verdict, Verdict::same);
  EXPECT_NEAR(comparison.overall.estimate, 1, 0.05);
  ASSERT_EQ(comparison.rows.size(), 10U) << "a baseline is no row";
  EXPECT_EQ(comparison.rows[0].normalised_by, "baseline:loop");
}

TEST(CompareRuns, TooFewRoundsSayNothingInsteadOfTheSame) {
  Simulation simulation(10);
  const auto why = refusal_of(simulation.run({.rounds = 5, .placements = {1}}),
                              simulation.run({.rounds = 5, .factor = 100, .placements = {1}}));
  EXPECT_TRUE(contains(why, "too few rounds to tell")) << why;

  MeasuredRun old_run = simulation.run({.rows = 2, .rounds = 12, .placements = {1}});
  MeasuredRun new_run = old_run;
  new_run.rows[0].rounds.resize(3);
  for (auto& round : new_run.rows[0].rounds) round.microseconds *= 100;
  const auto comparison = compare_runs(old_run, new_run);
  EXPECT_EQ(comparison.rows[0].ratio.verdict, Verdict::unknown);
  EXPECT_TRUE(comparison.rows[0].ratio.too_few_rounds());
  EXPECT_EQ(comparison.rows[1].ratio.verdict, Verdict::same);
  const auto text = comparison_text(old_run, new_run, comparison);
  EXPECT_TRUE(contains(text, "- (too few rounds to tell)")) << text;
  EXPECT_TRUE(contains(text, "1 the same, 1 not comparable")) << text;
}

TEST(CompareRuns, OtherCallsAreRefused) {
  Simulation simulation(12);
  const MeasuredRun old_run = simulation.run({});
  const auto refusal = [&](const auto& change) {
    MeasuredRun other = old_run;
    change(other.request);
    return refusal_of(old_run, other);
  };
  EXPECT_TRUE(contains(refusal([](auto& r) { r.buffers = Buffers::cold; }),
                       "--buffers warm in the old one and cold"));
  EXPECT_TRUE(contains(refusal([](auto& r) { r.exact_counts = true; }), "--exact-counts no"));
  EXPECT_TRUE(contains(refusal([](auto& r) { r.pin = false; }), "--pin yes"));
}

TEST(CompareRuns, OtherConditionsAreTold) {
  Simulation simulation(13);
  MeasuredRun old_run = simulation.run({});
  old_run.options.emplace()["inline"] = "0";
  old_run.compiler = "gcc 12\x1b[2J";
  MeasuredRun new_run = old_run;
  EXPECT_TRUE(compare_runs(old_run, old_run).warnings.empty());
  new_run.options.emplace()["isa"] = "baseline";
  new_run.compiler = "gcc 13";
  new_run.cores = 7;
  new_run.version = "9";
  new_run.request.check = false;
  const auto text = comparison_text(old_run, new_run, compare_runs(old_run, new_run));
  for (const auto* piece :
       {"# warning: the number of cores was \"0\", now \"7\"", "the version was",
        "the compiler was \"gcc 12\\x1b[2J\", now \"gcc 13\"",
        "the option \"inline\" was \"0\", now its default",
        "the option \"isa\" was its default, now \"baseline\"", "were not checked"})
    EXPECT_TRUE(contains(text, piece)) << piece << " in\n" << text;
  new_run.options.reset();
  EXPECT_TRUE(contains(comparison_text(old_run, new_run, compare_runs(old_run, new_run)),
                       "does not say its options"));
}

TEST(CompareRuns, WrongResultsAreToldAndAFinding) {
  Simulation simulation(14);
  const MeasuredRun old_run = simulation.run({});
  MeasuredRun new_run = old_run;
  EXPECT_TRUE(compare_runs(old_run, new_run).right());
  new_run.rows[3].wrong = 17;
  const auto comparison = compare_runs(old_run, new_run);
  EXPECT_FALSE(comparison.right());
  EXPECT_TRUE(contains(comparison_text(old_run, new_run, comparison),
                       "WRONG RESULTS in the new run: 17 wrong elements"));
  EXPECT_TRUE(contains(comparison_json(old_run, new_run, comparison), "\"wrong_in_new\": 17"));
}

TEST(CompareRuns, TextsOfAFileCannotControlTheTerminal) {
  Simulation simulation(15);
  MeasuredRun run = simulation.run({});
  run.commit = "c\x1b]0;title\x07";
  for (auto& row : run.rows) row.key.collective = "all\x1b[31m", row.key.type = "float\r";
  const auto text = comparison_text(run, run, compare_runs(run, run));
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << int(c);
}

TEST(CompareRuns, RowsThatOneRunLacksAreCounted) {
  Simulation simulation(11);
  const auto comparison = compare_runs(simulation.run({.rows = 5}), simulation.run({.rows = 8}));
  EXPECT_EQ(comparison.rows.size(), 5U);
  EXPECT_EQ(comparison.only_old, 0U);
  EXPECT_EQ(comparison.only_new, 3U);
  MeasuredRun other = simulation.run({.rows = 5});
  for (auto& row : other.rows) row.key.ranks = 77;
  EXPECT_THROW((void)compare_runs(simulation.run({.rows = 5}), other), Error);
}

// --- runs as files -------------------------------------------------------------------------------

BenchRequest quick_request() {
  BenchRequest request;
  request.algorithms = {"two_shot", "ring"};
  request.sizes = {.begin = 8, .end = 1024, .factor = 128};
  request.time = Seconds{0.004};
  request.rounds = 4;
  request.spread = true;
  return request;
}

std::string refusal_of(const std::string& text) {
  return ringside::tests::bad_input_of([&] { return run_from_json(text, "old.json"); });
}

TEST(RunFile, ReadsWhatWasWrittenAndWhatToMeasureAgain) {
  const Report report = run_passes(quick_request());
  const MeasuredRun run = run_from_json(json_report(report, false), "old.json");
  EXPECT_EQ(run.request.algorithms, report.request.algorithms);
  EXPECT_EQ(run.request.rounds, 4);
  EXPECT_EQ(run.request.sizes.end, 1024U);
  EXPECT_TRUE(run.request.spread);
  ASSERT_EQ(run.rows.size(), 8U) << "2 algorithms, 2 sizes, 2 placements";
  for (const auto& row : run.rows) EXPECT_EQ(row.rounds.size(), 4U);
  const auto& timing = report.series[0].rows[0].timings[0];
  EXPECT_EQ(run.rows[0].rounds[2].microseconds,
            allowed_cpu_count() > 1 ? timing->round_medians[2] : timing->round_times[2]);
  EXPECT_TRUE(timing->check) << "checked once";
}

TEST(RunFile, SaysTheOptionsThatAreNotDefault) {
  const ScopedOption option("inline", "0");
  const auto report = run_passes(quick_request());
  const MeasuredRun run = run_from_json(json_report(report, false), "old.json");
  ASSERT_TRUE(run.options);
  EXPECT_EQ(run.options->at("inline"), "0");
  EXPECT_FALSE(run.options->contains("timeout"));
  EXPECT_EQ(run.version, report.machine.version);
  EXPECT_EQ(run.compiler, report.machine.compiler);
}

TEST(RunFile, SaysWhatWasWrong) {
  Report report = run_passes(quick_request());
  report.series[1].rows[0].timings[1]->check->wrong = 3;
  const MeasuredRun run = run_from_json(json_report(report, false), "old.json");
  std::uint64_t wrong = 0;
  for (const auto& row : run.rows) wrong += row.wrong;
  EXPECT_EQ(wrong, 3U);
}

TEST(RunFile, SizesThatAreRoundedToOneStayApart) {
  BenchRequest request = quick_request();
  request.collectives = {Collective::all_gather};
  request.algorithms = {"direct"};
  request.sizes = {.begin = 8, .end = 32, .factor = 2};
  const MeasuredRun run = run_from_json(json_report(run_passes(request), false), "old.json");
  ASSERT_EQ(run.rows.size(), 6U);
  EXPECT_EQ(run.rows[0].key.size, run.rows[2].key.size);
  EXPECT_NE(run.rows[0].key, run.rows[2].key);
}

TEST(RunFile, RefusesARowThatIsThereTwice) {
  Report report = run_passes(quick_request());
  report.series.push_back(report.series[0]);
  EXPECT_NE(refusal_of(json_report(report, false)).find("is there twice"), std::string::npos);
}

TEST(RunFile, KeepsTheProbesOfAllRoundsAndTheBaselinesOfEachRow) {
  BenchRequest request = quick_request();
  request.algorithms = {"two_shot"};
  request.sizes = {.begin = 4096, .end = 4096};
  request.compare = {"baseline:two_shot"};
  const MeasuredRun run = run_from_json(json_report(run_passes(request), false), "old.json");
  EXPECT_EQ(run.request.compare, request.compare);
  ASSERT_EQ(run.rows.size(), 4U) << "each in two placements";
  for (const auto& row : run.rows) {
    ASSERT_EQ(row.rounds.size(), 4U);
    for (const auto& round : row.rounds)
      EXPECT_EQ(round.probe_after_ns > 0, allowed_cpu_count() > 1) << "two cores can be probed";
  }
}

TEST(RunFile, RefusesWhatIsNoRunAndSaysWhy) {
  const std::string text = json_report(run_passes(quick_request()), false);
  const auto damaged = [&](const std::string& piece, const std::string& by) {
    std::string copy = text;
    const auto place = copy.find(piece);
    EXPECT_NE(place, std::string::npos) << piece;
    return copy.replace(place, piece.size(), by);
  };
  EXPECT_NE(refusal_of("{}").find("no run of ringside bench"), std::string::npos);
  EXPECT_NE(refusal_of("{").find("old.json"), std::string::npos);
  EXPECT_NE(refusal_of(damaged("\"ringside_bench\": 1", "\"ringside_bench\": 9")).find("version 9"),
            std::string::npos);
  EXPECT_NE(refusal_of(damaged("\"spread\": true", "\"spread\": false")).find("--spread"),
            std::string::npos);
  EXPECT_NE(refusal_of(damaged("\"warmup\": 1", "\"warmup\": -1")).find("$.request.warmup"),
            std::string::npos);
  EXPECT_NE(refusal_of(damaged("\"round_medians_us\": [", "\"round_medians_us\": [-1,"))
                .find("$.results[0]"),
            std::string::npos);
}

}  // namespace
}  // namespace ringside::bench::tests
