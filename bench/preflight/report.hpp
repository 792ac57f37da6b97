// SPDX-License-Identifier: MIT
/// A preflight as a value: what the machine says of itself, what every step came to, and the
/// findings that follow.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ringside/bench/preflight/facts.hpp"
#include "ringside/bench/preflight/schedule.hpp"
#include "ringside/bench/preflight/step.hpp"

namespace ringside::bench::preflight {

/// A device, or the driver (`device` empty), that could not even be opened.
struct StartFailure {
  std::optional<int> device;
  Ending ending = Ending::hang;  ///< hang, error, or no_time: that tells nothing of it
  std::string text;
};

struct Report {
  Request request;
  Facts facts;
  std::vector<StartFailure> start_failures;
  std::vector<Result> results;  ///< one a step, in the order in which they were run
  Seconds elapsed{0};
  std::string host_name;
  std::string start_time;  ///< ISO 8601, UTC
};

/// Something is wrong with this machine, or was not looked at.
struct Finding {
  std::string kind;           ///< an Arrival but right, "hang", "error", or "unfinished"
  std::optional<Flow> flow;   ///< the one to blame, if it is one
  std::optional<Step> step;   ///< that showed it
  std::optional<int> device;  ///< the one to blame, where a device cannot be opened
  std::string text;           ///< one line, a whole sentence fragment with flow and step
};

/// Every fault once: by kind, flow, method and P2P, as the first step shows it. Empty: all is well.
[[nodiscard]] std::vector<Finding> findings_of(const Report& report);

/// Checked flows that came to an end, right or wrong.
[[nodiscard]] std::size_t checks_done(const Report& report);

/// Bytes a second.
[[nodiscard]] inline double rate(std::uint64_t bytes, Seconds time) {
  return static_cast<double>(bytes) / time.count();
}

/// What all flows of a bandwidth move a second, until the last has ended.
[[nodiscard]] double total_rate(const Result& result);

}  // namespace ringside::bench::preflight
