// SPDX-License-Identifier: MIT
/// What a rank keeps of a call in order to make it again: everything that does not depend on the
/// contents and addresses of the buffers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "ringside/collectives/call.hpp"
#include "ringside/collectives/executors/chosen_plans.hpp"
#include "ringside/collectives/executors/host/program.hpp"
#include "ringside/collectives/executors/host/signature.hpp"
#include "ringside/collectives/executors/host/small_message.hpp"
#include "ringside/collectives/plan_cache.hpp"

namespace ringside::host {

struct Prepared {
  SignedCall signed_call;
  std::optional<SmallMessage> small;
  /// By placement (out of place, in place): both where the ranks may differ in it, none for barrier
  /// and small messages.
  std::array<std::unique_ptr<const Program>, 2> programs;
  std::size_t scratch_bytes = 0;  ///< of the longest program

  [[nodiscard]] const Program& program(Placement placement) const {
    return *programs[placement == Placement::out_of_place ? 0 : 1];
  }
  /// Of what is allocated for it.
  [[nodiscard]] std::size_t bytes() const;
};

/// How calls are prepared, the same for all ranks of a communicator.
struct Preparation {
  int rank = 0;
  int ranks = 1;
  std::size_t most_inline = 0;  ///< the longest message, in bytes, that travels in an entry
  SpecFor spec_for;
  Program::Checksums checksums = Program::Checksums::none;
  PlanWait wait = {};
};

/// Makes it. Throws what PlanCache::get throws; Error(unsupported) if premul_sum cannot run the
/// plan.
[[nodiscard]] Prepared prepare(const Call& call, const Preparation& how, PlanCache& plans);

}  // namespace ringside::host
