// SPDX-License-Identifier: MIT
/// NCCL's collectives on a stage whose team runs them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "ringside/bench/stage.hpp"
#include "ringside/bench/subject.hpp"

namespace ringside::bench {

class NcclSubject final : public Subject {
 public:
  /// `name`: with its version. `beside`: it is what ours are compared with.
  NcclSubject(Stage& stage, std::string name, bool beside);

  [[nodiscard]] Series describe() const override;
  /// What NCCL refuses: a type that its version does not have.
  [[nodiscard]] std::optional<std::string> refusal(const Cell& cell) const override;
  [[nodiscard]] Seconds shortest_sample() const override { return stage_.shortest_sample(); }
  BlockTimes time(const Cell& cell, const Block& block) override;
  /// With contributions that are exact in any order, for NCCL chooses its own. Nothing for
  /// averages, which NCCL rounds otherwise than the definition says (it multiplies by 1/n).
  std::optional<CheckOutcome> check(const Cell& cell) override;

 private:
  [[nodiscard]] CallOptions call_options() const;

  Stage& stage_;
  std::string name_;
  bool beside_;
  mutable std::map<std::tuple<ElementType, ReduceOp>, std::optional<std::string>> refused_;
};

}  // namespace ringside::bench
