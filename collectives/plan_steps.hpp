// SPDX-License-Identifier: MIT
/// A plan step by step, for pictures of it: which ops make up a step, and what every rank's memory
/// holds after each op.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ringside/collectives/plan.hpp"
#include "ringside/collectives/symbols.hpp"

namespace ringside {

/// A plan with its ops in the order of their steps; conflicting ops keep theirs. Ops at equal depth
/// of the critical path are one step: the hops on the longest path to an op's end, in the first
/// slice.
struct SteppedPlan {
  Plan plan;
  std::vector<int> steps;  ///< of the ops as ordered here
};

/// Requires a well-formed plan.
[[nodiscard]] SteppedPlan by_step(const Plan& plan);

/// "step 3"; "steps 1-2" of ops that read and store, so that their step is two after the one
/// before.
[[nodiscard]] std::string step_label(int earlier, int step);

/// What a chunk of memory holds: whose contributions.
struct Held {
  std::vector<bool> ranks = {};  ///< empty: nothing was written there
  bool complete = false;         ///< what the collective demands of this chunk
  bool repeated = false;         ///< it has a rank's contribution more than once

  [[nodiscard]] bool nothing() const { return ranks.empty(); }
  [[nodiscard]] bool contains(int rank) const {
    return !ranks.empty() && ranks[static_cast<std::size_t>(rank)];
  }
};

/// All memory of a plan while its ops run one after another. The plan must outlive it.
class PlanMemory {
 public:
  explicit PlanMemory(const Plan& plan)
      : plan_(plan), expressions_(plan.ranks()), run_(plan, expressions_) {}

  /// Runs the next op, or says why it must not run.
  std::optional<Fault> step() { return run_.step(); }

  /// The running value of a rank's chunk: what its output holds, else its input; nothing if neither
  /// has the chunk.
  [[nodiscard]] std::optional<Held> running_value(int rank, int chunk) const;
  [[nodiscard]] Held in_scratch(int rank, int slot, int chunk) const;
  [[nodiscard]] Held at(const Location& location) const;
  /// Outputs (rank and chunk) that there are, and that are complete.
  [[nodiscard]] std::pair<std::size_t, std::size_t> outputs() const;

 private:
  [[nodiscard]] bool holds(int rank, Buffer buffer, int chunk) const;
  [[nodiscard]] bool complete(Expressions::Id id, int chunk) const;
  [[nodiscard]] Held held(Expressions::Id id, int chunk) const;

  const Plan& plan_;
  Expressions expressions_;
  SymbolicRun run_;
};

}  // namespace ringside
