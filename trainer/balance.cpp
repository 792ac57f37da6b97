// SPDX-License-Identifier: MIT
#include "ringside/trainer/balance.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/trainer/median.hpp"

namespace ringside::trainer {

namespace {

double computed(const StepTimes& times) {
  return times[Part::forward] + times[Part::backward] + times[Part::update];
}

}  // namespace

void BalanceCount::begin(std::vector<std::int64_t> shares, const StepTimes& times) {
  now_ = {std::move(shares), 0, 0, 0, -computed(times), -times[Part::exposed], 0};
  (void)watch_.restart();
}

void BalanceCount::add_step(std::size_t samples, std::size_t own) {
  ++now_.steps;
  now_.samples += static_cast<std::int64_t>(samples);
  now_.own_samples += static_cast<std::int64_t>(own);
}

void BalanceCount::end(const StepTimes& times) {
  if (now_.steps == 0) return;
  now_.computing += computed(times);
  now_.waiting += times[Part::exposed];
  now_.seconds = watch_.elapsed().count();
  ended_.push_back(std::exchange(now_, {}));
}

std::vector<Balance> BalanceCount::gather(Communicator& comm) {
  std::vector<Balance> all;
  for (const Own& own : std::exchange(ended_, {})) {
    const std::array<double, 4> told{static_cast<double>(own.own_samples), own.computing,
                                     own.waiting, own.seconds};
    std::vector<double> of_all(told.size() * static_cast<std::size_t>(comm.size()));
    comm.all_gather(told, of_all);
    Balance balance{own.shares, own.steps, own.samples, 0, {}};
    for (std::size_t at = 0; at < of_all.size(); at += told.size()) {
      const auto its = std::span(of_all).subspan(at, told.size());
      balance.ranks.push_back({static_cast<std::int64_t>(its[0]), its[1], its[2]});
      balance.seconds = std::max(balance.seconds, its[3]);
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
