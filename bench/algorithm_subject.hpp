// SPDX-License-Identifier: MIT
/// Our algorithms, run by a team of ranks that are threads.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "ringside/bench/buffers.hpp"
#include "ringside/bench/inputs.hpp"
#include "ringside/bench/subject.hpp"
#include "ringside/bench/team.hpp"

namespace ringside::bench {

/// A team, its buffers, and the contributions of checked calls: what the algorithms take turns on.
///
/// The buffers stay where they are, so that a message that fits a cache is found there by the next
/// call (nccl-tests moves on inside its allocation instead).
class Stage {
 public:
  /// Buffers of `bytes` bytes per rank, an output and, for calls out of place, an input.
  Stage(int ranks, std::size_t bytes, const BenchRequest& request);

  [[nodiscard]] Team& team() { return team_; }
  [[nodiscard]] std::byte* output(int rank) {
    return outputs_[static_cast<std::size_t>(rank)].data();
  }
  /// In place: the output.
  [[nodiscard]] std::byte* input(int rank, Placement placement);
  [[nodiscard]] std::optional<Seconds> timeout() const { return timeout_; }

  /// Fills the first `count` elements of every buffer with ones: numbers that no repetition in
  /// place turns into slow ones (subnormals).
  void fill_with_ones(ElementType type, std::uint64_t count);

  /// Contributions, other ones at every second call, so that what a call left behind cannot pass
  /// for the result of the next.
  [[nodiscard]] const ExactInputs& exact_inputs(ElementType type, ReduceOp op);

 private:
  Team team_;
  std::vector<PageBuffer> inputs_, outputs_;
  std::optional<Seconds> timeout_;
  std::map<std::tuple<ElementType, ReduceOp, bool>, ExactInputs> exact_inputs_;
  bool odd_check_ = false;
};

/// A call of one rank; what is checked.
using Call = std::function<void(Communicator&, const std::byte* input, std::byte* output,
                                std::size_t elements, ElementType, ReduceOp, const CallOptions&)>;

class AlgorithmSubject final : public Subject {
 public:
  /// Throws what make_plan throws for a spec that is wrong or does not support the ranks. `call`
  /// stands in for the collective in tests of the checks: our own executors run nothing that has
  /// not been proven.
  AlgorithmSubject(Stage& stage, const std::string& spec, Call call = {});

  [[nodiscard]] Series describe() const override;
  [[nodiscard]] std::optional<std::string> refusal(const Cell& cell) const override;
  BlockTimes time(const Cell& cell, const Block& block) override;
  /// The whole message with exact contributions, and a call with rounding ones, of the same size or
  /// as large as the reference interpreter can follow in some milliseconds.
  std::optional<CheckOutcome> check(const Cell& cell) override;

 private:
  [[nodiscard]] CallOptions call_options() const;
  void invoke(Communicator& communicator, const std::byte* input, std::byte* output,
              std::size_t elements, const Cell& cell, const CallOptions& options) const;
  void check_exact(const Cell& cell, CheckOutcome& outcome);
  void check_against_reference(const Cell& cell, CheckOutcome& outcome);

  Stage& stage_;
  Call call_;
  std::string spec_;
  std::optional<PlanFacts> facts_;
  /// Calls compared with the reference already: the same call need not be compared for every size
  /// above its limit.
  std::map<std::tuple<std::string, ElementType, ReduceOp, std::uint64_t>, CheckOutcome> compared_;
};

/// Counted from the plan out of place.
[[nodiscard]] PlanFacts plan_facts(const std::string& spec, int ranks);

}  // namespace ringside::bench
