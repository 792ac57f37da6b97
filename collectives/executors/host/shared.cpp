// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/host/shared.hpp"

#include <fmt/format.h>

#include <numeric>
#include <utility>

namespace ringside::host {

Error failed_before(const Error& cause, int rank) {
  Error error(ErrorCode::failed,
              fmt::format("the communicator failed in an earlier call: {}", cause.what()));
  if (cause.peer()) error.with_peer(*cause.peer());
  return error.at_rank(rank);
}

Error aborted(const std::string& why) {
  return {ErrorCode::aborted, fmt::format("aborted: {}", why)};
}

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
  throw failed_before(cause_.value(), rank);
}

namespace {

std::vector<int> first_numbers(int count) {
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

}  // namespace

Shared::Shared(int ranks, PlanCache& plans)
    : Shared(first_numbers(ranks), plans, std::make_shared<Job>(ranks)) {}

Shared::Shared(std::vector<int> members, PlanCache& plans, std::shared_ptr<Job> job)
    : ranks_(static_cast<int>(members.size())),
      plans_(plans),
      job_(std::move(job)),
      members_(std::move(members)),
      mailboxes_(members_.size()),
      entries_(members_.size()),
      progress_(members_.size() * most_lanes),
      busy_(members_.size()),
      seats_(members_.size()),
      scratch_(members_.size()),
      gone_(members_.size()) {}

std::shared_ptr<Shared> Shared::child(std::uint64_t split, const std::vector<int>& ranks) {
  const std::lock_guard lock(children_mutex_);
  const std::pair key(split, ranks.front());
  Child& child = children_[key];
  if (!child.shared) {
    std::vector<int> members;
    for (const int rank : ranks) members.push_back(members_[static_cast<std::size_t>(rank)]);
    child.shared = std::make_shared<Shared>(std::move(members), plans_, job_);
    job_->add(child.shared);
  }
  auto shared = child.shared;
  if (++child.fetched == ranks.size()) children_.erase(key);
  return shared;
}

void Shared::move_up(int rank, std::uint64_t call) {
  for (int lane = 0; lane < most_lanes; ++lane)
    progress_of(rank, lane).done.store(progress(call, 0), std::memory_order_release);
}

void Shared::set_planning(int rank, const std::string& algorithm) {
  const std::lock_guard lock(planning_mutex_);
  planning_[rank] = algorithm;
}

std::string Shared::planning(int rank) const {
  const std::lock_guard lock(planning_mutex_);
  const auto found = planning_.find(rank);
  return found == planning_.end() ? std::string() : found->second;
}

std::byte* Shared::scratch(int rank, std::uint64_t call, std::size_t bytes) {
  auto& arena = scratch_[static_cast<std::size_t>(rank)][call & 1];
  try {
    if (arena.size() < bytes) arena = std::vector<std::byte>(bytes);
  } catch (const std::exception&) {  // bad_alloc, length_error
    throw Error(ErrorCode::io, fmt::format("no memory for {} bytes of scratch", bytes))
        .at_rank(rank);
  }
  return arena.data();
}

}  // namespace ringside::host
