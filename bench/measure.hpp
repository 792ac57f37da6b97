// SPDX-License-Identifier: MIT
/// How often a call is repeated, and what its times are reduced to.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "ringside/bench/probe.hpp"
#include "ringside/bench/subject.hpp"

namespace ringside::bench {

/// Times and checks one cell of several subjects: warm-up and calibration of each, then rounds in
/// which every subject gets one block in turn, then the checks. So what the machine does to one of
/// them it does to its neighbours, and ratios of the same round are fair.
///
/// The number of calls is decided here, by the slowest rank of a trial block, and handed to all
/// ranks: a sample takes at least as long as the subject says (2 us on the host), or the clock
/// would be a part of it, and a block has at most 2,000 samples. Every block is watched by `watch`.
///
/// Without a given number of calls the time is kept also on a machine that slows down meanwhile:
/// a block has fewer calls if those of the last one took more than twice as long as planned; it
/// ends early after 4 times its share of `time`, and no round begins after 4 times the time of all
/// subjects (then there are fewer rounds than asked for, the same ones for all).
[[nodiscard]] std::vector<Timing> measure(const std::vector<Subject*>& subjects, const Cell& cell,
                                          const BenchRequest& request, RoundWatch& watch);

/// Nothing is watched.
[[nodiscard]] inline std::vector<Timing> measure(const std::vector<Subject*>& subjects,
                                                 const Cell& cell, const BenchRequest& request) {
  RoundWatch none(false);
  return measure(subjects, cell, request, none);
}

/// The block that takes about `limit` when one call takes `call` seconds; at least one call.
[[nodiscard]] Block block_within(double call, Seconds limit,
                                 Seconds shortest_sample = clock_sample);

/// The block of about `calls` calls; never fewer.
[[nodiscard]] Block block_of(std::int64_t calls, double call,
                             Seconds shortest_sample = clock_sample);

}  // namespace ringside::bench
