// SPDX-License-Identifier: MIT
/// Our algorithms, run by the team of a stage.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/bench/call_checks.hpp"
#include "ringside/bench/stage.hpp"
#include "ringside/bench/subject.hpp"
#include "ringside/collectives/communicator.hpp"
#include "ringside/collectives/plan.hpp"

namespace ringside::bench {

/// An algorithm, the library's choice (`auto`), or, for the barrier, which needs none, its entry.
class AlgorithmSubject final : public Subject {
 public:
  /// Throws what make_plan throws for a spec that is wrong or serves the request in no placement (a
  /// plan file holds one), and what require_proof throws: nobody has proven yet what comes from
  /// outside. `call` stands in for the collective in tests of the checks: our own executors run
  /// nothing that has not been proven.
  AlgorithmSubject(Stage& stage, const std::string& spec, Call call = {});

  [[nodiscard]] Series describe() const override;
  [[nodiscard]] std::optional<std::string> refusal(const Cell& cell) const override;
  [[nodiscard]] std::string choice(const Cell& cell) override;
  [[nodiscard]] Seconds shortest_sample() const override { return stage_.shortest_sample(); }
  BlockTimes time(const Cell& cell, const Block& block) override;
  /// The whole message with exact contributions, and a call with rounding ones, of the same size or
  /// as large as the reference interpreter can follow in some milliseconds. Of a barrier: whether a
  /// rank left before all had come.
  std::optional<CheckOutcome> check(const Cell& cell) override;

 private:
  [[nodiscard]] CallOptions call_options() const;
  void check_against_reference(const Cell& cell, CheckOutcome& outcome);
  [[nodiscard]] CheckOutcome compare_with_reference(const Cell& cell, const Plan& plan);

  Stage& stage_;
  Call call_;
  std::string spec_;
  std::array<std::string, placements.size()> refusals_;  ///< by Placement; empty: served
  std::optional<PlanFacts> facts_;
  /// Calls compared with the reference already: the same call need not be compared for every size
  /// above its limit.
  std::map<std::tuple<std::string, ElementType, ReduceOp, std::uint64_t>, CheckOutcome> compared_;
};

/// What a series of calls that need no algorithm is called.
inline constexpr std::string_view entry_label = "enter";

/// Counted from the plan of a request; not for barrier, which has none.
[[nodiscard]] PlanFacts plan_facts(const std::string& spec, const Request& request);

/// Nothing, or why the algorithm does not serve the request. Throws what make_plan throws for a
/// spec that is wrong otherwise.
[[nodiscard]] std::optional<Error> refusal_of(const std::string& spec, const Request& request);

}  // namespace ringside::bench
