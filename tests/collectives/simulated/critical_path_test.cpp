// SPDX-License-Identifier: MIT
/// What is told beside the time: the critical path, usage of resources, timelines.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "machines.hpp"
#include "ringside/collectives/executors/simulated/path_shares.hpp"
#include "ringside/collectives/executors/simulated/simulate.hpp"
#include "ringside/collectives/executors/simulated/timeline.hpp"
#include "ringside/tests/collectives/plans_under_test.hpp"

namespace ringside::tests {
namespace {

using test::all_reduce;
using test::registered_names;

constexpr SimulationWanted everything{
    .resources = true, .critical_path = true, .timeline = true, .give_up_after = {}};

Simulation run(const Machine& machine, const std::string& spec, int ranks,
               std::size_t elements = 1 << 20) {
  return simulate(machine, parse_spec(spec), all_reduce(ranks),
                  {.block_elements = {elements}, .element_bytes = 4, .gpus = {}}, everything);
}

TEST(CriticalPath, GoesFromTheCallsStartToItsEndWithoutGaps) {
  const Machine machine = preset_machine("4gpu-pcie4-two-sockets");
  for (const auto& name : registered_names())
    for (const char* slicing : {":slices=1", ":slices=5"}) {
      const auto result = run(machine, name + slicing, 4);
      ASSERT_FALSE(result.critical_path.empty()) << name;
      double end = 0;
      for (const auto& piece : result.critical_path) {
        EXPECT_EQ(piece.begin, end) << name;
        EXPECT_GT(piece.end, piece.begin) << name;
        end = piece.end;
      }
      EXPECT_DOUBLE_EQ(end, result.seconds) << name;
    }
}

TEST(CriticalPath, NamesTheLimitOfEveryTransfer) {
  const Machine machine = preset_machine("4gpu-pcie4-x4-slot");
  const auto result = run(machine, "ring", 4);
  double in_narrow = 0, in_all = 0;
  for (const auto& piece : result.critical_path) {
    if (piece.kind != CriticalPiece::Kind::transfer) continue;
    ASSERT_TRUE(piece.limit.has_value());
    const auto& limit = machine.resources()[static_cast<std::size_t>(*piece.limit)];
    in_all += piece.end - piece.begin;
    if (limit.name.find("GPU3") != std::string::npos) in_narrow += piece.end - piece.begin;
  }
  EXPECT_GT(in_narrow, 0.9 * in_all);
}

TEST(CriticalPath, CountsOverheadsAndLatencies) {
  constexpr int n = 4, steps = 2 * (n - 1);
  const SimpleCosts costs{.latency = 1.5, .op = 0.7, .wait = 0.4, .call = 3};
  const auto result = run(star(n, costs), "ring", n);
  const PathShares shares = shares_of(result.critical_path);
  EXPECT_NEAR(shares.call, 3e-6, 1e-12);
  EXPECT_NEAR(shares.overhead, 1e-6 * (steps * 0.7 + (steps - 1) * 0.4), 1e-12);
  EXPECT_NEAR(shares.latency, 1e-6 * steps * 3.0, 1e-12);
  double transfers = 0;
  for (const auto& limited : shares.transfers) transfers += limited.seconds;
  EXPECT_NEAR(shares.call + shares.overhead + shares.latency + transfers, result.seconds, 1e-12);
}

TEST(Usage, OfLinksIsWhatThePlanSendsOverThem) {
  constexpr int n = 4;
  constexpr std::size_t elements = 1 << 20;
  const Machine machine = star(n);
  const auto result = run(machine, "ring", n, elements);
  for (ResourceId id = 0; id < static_cast<ResourceId>(result.resources.size()); ++id) {
    const auto link = machine.link_of(id);
    if (!link || machine.topology().link(*link).kind != LinkKind::nvlink) continue;
    const auto& usage = result.resources[static_cast<std::size_t>(id)];
    EXPECT_NEAR(usage.bytes, 2.0 * (n - 1) / n * elements * 4, 1);
    EXPECT_NEAR(usage.busy, result.seconds, 1e-12);
    EXPECT_NEAR(usage.saturated, result.seconds, 1e-12);
  }
}

TEST(Timeline, HasEveryOpAfterThoseOfItsStream) {
  const auto result = run(preset_machine("4gpu-pcie4-two-switches"), "ring:slices=3", 4);
  EXPECT_EQ(result.timeline.size(), result.ops);
  std::map<std::pair<int, int>, double> ends;
  for (const auto& op : result.timeline) {
    double& end = ends[{op.rank, op.lane}];
    EXPECT_GE(op.ready, end);
    EXPECT_GE(op.begin, op.ready);
    EXPECT_GE(op.end, op.begin);
    end = op.end;
  }
}

TEST(Timeline, IsWhatChromeReads) {
  const Machine machine = preset_machine("4gpu-pcie4-two-switches");
  const std::vector<int> gpus = {0, 1, 2, 3};
  const auto result = run(machine, "two_shot", 4);
  const auto trace =
      nlohmann::json::parse(chrome_trace(result, machine, gpus, "two_shot \"quoted\""));
  EXPECT_EQ(trace.at("otherData").at("simulated"), "two_shot \"quoted\"");
  std::size_t transfers = 0, processes = 0;
  for (const auto& event : trace.at("traceEvents")) {
    EXPECT_TRUE(event.at("pid").is_number_integer());
    EXPECT_TRUE(event.at("tid").is_number_integer());
    EXPECT_TRUE(event.at("name").is_string());
    if (event.at("ph") == "M") {
      EXPECT_TRUE(event.at("args").at("name").is_string());
      processes += event.at("name") == "process_name" ? 1 : 0;
      continue;
    }
    EXPECT_EQ(event.at("ph"), "X");
    EXPECT_GE(event.at("dur").get<double>(), 0);
    EXPECT_LE(event.at("ts").get<double>() + event.at("dur").get<double>(),
              result.seconds * 1e6 * (1 + 1e-12));
    transfers += event.at("cat") == "transfer" ? 1 : 0;
  }
  EXPECT_EQ(transfers, result.ops);
  EXPECT_EQ(processes, gpus.size());
}

TEST(Timeline, OfASimulationThatKeptNoneIsRefused) {
  const Machine machine = star(2);
  const auto result = simulate(machine, parse_spec("ring"), all_reduce(2),
                               {.block_elements = {8}, .element_bytes = 4, .gpus = {}});
  EXPECT_THROW((void)chrome_trace(result, machine, std::vector<int>{0, 1}, ""), Error);
}

}  // namespace
}  // namespace ringside::tests
