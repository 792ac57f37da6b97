// SPDX-License-Identifier: MIT
#include "ringside/trainer/balance.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/base/statistics.hpp"
#include "ringside/trainer/gathered.hpp"

namespace ringside::trainer {
namespace {

double computed(const StepTimes& times) {
  return times[Part::forward] + times[Part::backward] + times[Part::update];
}

/// What a rank tells the others.
struct FromRank {
  RankBalance rank;
  double seconds = 0;
};

}  // namespace

void BalanceCount::begin(std::vector<std::int64_t> shares, const StepTimes& times) {
  now_ = {.shares = std::move(shares),
          .rank = {.computing = -computed(times), .waiting = -times[Part::exposed]}};
  (void)watch_.restart();
}

void BalanceCount::add_step(std::size_t samples, std::size_t own) {
  ++now_.steps;
  now_.samples += static_cast<std::int64_t>(samples);
  now_.rank.samples += static_cast<std::int64_t>(own);
}

void BalanceCount::end(const StepTimes& times) {
  if (now_.steps == 0) return;
  now_.rank.computing += computed(times);
  now_.rank.waiting += times[Part::exposed];
  now_.seconds = watch_.elapsed().count();
  ended_.push_back(std::exchange(now_, {}));
}

std::vector<Balance> BalanceCount::gather(Communicator& comm) {
  std::vector<Balance> all;
  for (const Own& own : std::exchange(ended_, {})) {
    Balance balance{own.shares, own.steps, own.samples, 0, {}};
    for (const FromRank& told : gathered(comm, FromRank{own.rank, own.seconds})) {
      balance.ranks.push_back(told.rank);
      balance.seconds = std::max(balance.seconds, told.seconds);
    }
    all.push_back(std::move(balance));
  }
  return all;
}

void SpeedOfSamples::add_step(double seconds, std::size_t samples) {
  if (samples > 0) seconds_of_a_sample_.push_back(seconds / static_cast<double>(samples));
}

std::int64_t SpeedOfSamples::nanoseconds() const {
  if (seconds_of_a_sample_.empty())
    throw Error(ErrorCode::invalid_argument,
                "shares cannot be measured: a rank had no samples in any step");
  return static_cast<std::int64_t>(std::llround(1e9 * median(seconds_of_a_sample_)));
}

}  // namespace ringside::trainer
