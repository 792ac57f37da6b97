// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/host/job.hpp"

#include <algorithm>
#include <limits>

#include "ringside/base/options.hpp"
#include "ringside/base/threads.hpp"
#include "ringside/collectives/executors/host/shared.hpp"
#include "ringside/collectives/executors/host/small_message.hpp"
#include "ringside/collectives/selector/choice.hpp"

namespace ringside::host {

Job::Job(int ranks)
    : threads_(ranks),
      cores_(allowed_cpu_count()),
      checksum_(option<bool>("checksum")),
      most_inline_(checksum_ ? 0 : longest_small_message(ranks, cores_)),
      tuning_(tuning_in_use()),
      with_a_core_each_(WaitPolicy::for_threads(1)),
      crowded_(WaitPolicy::for_threads(std::numeric_limits<int>::max())),
      ranks_(static_cast<std::size_t>(ranks)) {}

void Job::add(const std::shared_ptr<Shared>& communicator) {
  const std::lock_guard lock(mutex_);
  std::erase_if(communicators_, [](const auto& known) { return known.expired(); });
  communicators_.push_back(communicator);
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    if (ranks_[rank].ended) tell(*communicator, static_cast<int>(rank), ranks_[rank].why);
}

void Job::ended(int rank, const std::optional<Error>& why) {
  const std::lock_guard lock(mutex_);
  ranks_[static_cast<std::size_t>(rank)] = {true, why};
  for (const auto& known : communicators_)
    if (const auto communicator = known.lock()) tell(*communicator, rank, why);
}

void Job::tell(Shared& communicator, int rank, const std::optional<Error>& why) {
  const auto& members = communicator.members();
  const auto found = std::find(members.begin(), members.end(), rank);
  if (found == members.end()) return;
  if (why) communicator.failure().set(*why);  // first: who sees that the rank is gone learns why
  communicator.set_gone(static_cast<int>(found - members.begin()));
}

}  // namespace ringside::host
