// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/mpi/job.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "ringside/base/options.hpp"
#include "ringside/collectives/selector/choice.hpp"

namespace ringside::mpi {
namespace {

int ranks_here(const Team& team) {
  int count = 0;
  for (int rank = 0; rank < team.size(); ++rank) count += team.is_near(rank) ? 1 : 0;
  return count;
}

}  // namespace

Job::Job(std::shared_ptr<Team> team, std::shared_ptr<const Gpus> gpus)
    : team_(std::move(team)),
      gpus_(std::move(gpus)),
      tuning_(tuning_in_use()),
      checksum_(option<bool>("checksum")),
      most_inline_(
          checksum_ ? 0
                    : std::min<std::size_t>(option<std::uint64_t>("mpi_inline"), message_capacity)),
      cores_(team_->cores_of(team_->host_of(team_->rank()))),
      with_a_core_each_(host::WaitPolicy::for_threads(1)),
      crowded_(host::WaitPolicy::for_threads(std::numeric_limits<int>::max())),
      threads_(ranks_here(*team_)) {
  // A process cannot tell whether the one that it waits for needs its core, as threads tell each
  // other: so it gives the core away. (Measured on 4 ranks and 2 cores: a call of 8 bytes takes
  // a third of the time that it takes with a thread's polls, one of 32 KiB 0.6 to 0.8.)
  if (!option<std::optional<std::int64_t>>("spin")) crowded_.spins = crowded_.entry_spins = {};
  // Of the order of a slice's way over a slow network: while messages move, nobody sleeps.
  constexpr Seconds patience{10e-3};
  if (team_->hosts() > 1)
    for (auto* policy : {&with_a_core_each_, &crowded_})
      policy->sleep_after = std::max(policy->sleep_after, patience);
  // Whether a call's entries hold messages must be the same for all ranks.
  const auto all = gathered(team_->transport(), most_inline_);
  most_inline_ = *std::min_element(all.begin(), all.end());
}

host::WaitPolicy Job::policy() const {
  return threads_.load(std::memory_order_relaxed) > cores_ ? crowded_ : with_a_core_each_;
}

}  // namespace ringside::mpi
