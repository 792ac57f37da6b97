// SPDX-License-Identifier: MIT
/// nccl-tests' sendrecv by our own messages: every rank sends to the next one and receives from the
/// one before, round in a ring.
#pragma once

#include "ringside/bench/algorithm_subject.hpp"
#include "ringside/bench/host_stage.hpp"
#include "ringside/bench/subject.hpp"

namespace ringside::bench {

class MessageSubject final : public Subject {
 public:
  /// The stage is one of an all_reduce, whose buffers are as long. `call` stands in for the
  /// messages in tests of the checks.
  explicit MessageSubject(HostStage& stage, Call call = {});

  [[nodiscard]] Series describe() const override;
  [[nodiscard]] std::optional<std::string> refusal(const Cell& cell) const override;
  BlockTimes time(const Cell& cell, const Block& block) override;
  /// The whole message: any bits must arrive.
  std::optional<CheckOutcome> check(const Cell& cell) override;

 private:
  [[nodiscard]] CallOptions call_options() const;

  HostStage& stage_;
  Call call_;
  bool odd_check_ = false;
};

}  // namespace ringside::bench
