// SPDX-License-Identifier: MIT
/// Flows made real: memory at both ends, a stream, and the copies of a step in them, checked or
/// timed. Needs CUDA.
#pragma once

#include <cstdint>
#include <functional>

#include "ringside/bench/preflight/step.hpp"

namespace ringside::bench::preflight {

// All throw Error(device). Peer access is as the step wants it, and the memory is there.

/// Runs all flows at once, twice and with other data each time, into destinations that held another
/// pattern before, and judges them.
[[nodiscard]] Outcome check_transfers(const Step& step);

/// The time of one copy of a chain in one stream: the median of several chains.
[[nodiscard]] Outcome time_chain(const Step& step);

/// The time of one copy of each flow while all of them run. Looks for a size, at most `bytes`, with
/// which a sample takes about as long as the step asks for. `meanwhile` is called once while the
/// copies of the last sample run.
[[nodiscard]] Outcome time_transfers(const Step& step, std::uint64_t bytes,
                                     const std::function<void()>& meanwhile);

}  // namespace ringside::bench::preflight
