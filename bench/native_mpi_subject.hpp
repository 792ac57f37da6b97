// SPDX-License-Identifier: MIT
/// The MPI's own all_reduce, called by the processes that ours runs on, on the same memory.
#pragma once

#include "ringside/bench/host_stage.hpp"
#include "ringside/bench/subject.hpp"

namespace ringside::bench {

/// Whichever MPI started the processes.
class NativeMpiSubject final : public Subject {
 public:
  /// Of a stage whose ranks are all processes of the MPI; `beside_ours`: to compare ours with.
  NativeMpiSubject(HostStage& stage, bool beside_ours) : stage_(stage), beside_ours_(beside_ours) {}

  [[nodiscard]] Series describe() const override;
  [[nodiscard]] std::optional<std::string> refusal(const Cell& cell) const override;
  BlockTimes time(const Cell& cell, const Block& block) override;
  std::optional<CheckOutcome> check(const Cell& cell) override;

 private:
  HostStage& stage_;
  bool beside_ours_;
};

}  // namespace ringside::bench
