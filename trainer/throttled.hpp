// SPDX-License-Identifier: MIT
/// A communicator as if its wires were slower: what slow links do to training, on any machine.
#pragma once

#include "ringside/collectives/communicator.hpp"

namespace ringside::trainer {

/// Makes the calls of `inner`, and lets each last longer by its bytes (those of all its blocks) at
/// so many bytes per second, messages at the end that receives; the thread that waits sleeps. No
/// split. Must not outlive `inner`.
[[nodiscard]] Communicator throttled(Communicator& inner, double bytes_per_second);

}  // namespace ringside::trainer
