// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/host/shared.hpp"

#include <fmt/format.h>

namespace ringside::host {

void Failure::set(const Error& cause) {
  const std::lock_guard lock(mutex_);
  if (!cause_) cause_ = cause;
  failed_.store(true, std::memory_order_release);
}

void Failure::throw_cause(int rank) const {
  const std::lock_guard lock(mutex_);
  Error error = cause_.value();
  throw error.at_rank(rank);
}

void Failure::throw_if_set(int rank) const {
  if (!failed_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(mutex_);
  Error error(ErrorCode::failed,
              fmt::format("the communicator failed in an earlier call: {}", cause_->what()));
  if (cause_->peer()) error.with_peer(*cause_->peer());
  throw error.at_rank(rank);
}

Shared::Shared(int ranks, PlanCache& plans)
    : ranks_(ranks),
      plans_(plans),
      entries_(static_cast<std::size_t>(ranks)),
      progress_(static_cast<std::size_t>(ranks) * most_lanes),
      busy_(static_cast<std::size_t>(ranks)),
      seats_(static_cast<std::size_t>(ranks)),
      scratch_(static_cast<std::size_t>(ranks)),
      gone_(static_cast<std::size_t>(ranks)) {}

void Shared::move_up(int rank, std::uint64_t call) {
  for (int lane = 0; lane < most_lanes; ++lane)
    progress_of(rank, lane).done.store(progress(call, 0), std::memory_order_release);
}

std::byte* Shared::scratch(int rank, std::uint64_t call, std::size_t bytes) {
  auto& arena = scratch_[static_cast<std::size_t>(rank)][call & 1];
  if (arena.size() < bytes) arena = std::vector<std::byte>(bytes);
  return arena.data();
}

}  // namespace ringside::host
