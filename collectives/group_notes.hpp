// SPDX-License-Identifier: MIT
/// How a communicator hands its calls to the group that is open on the calling thread.
#pragma once

#include <memory>

#include "ringside/collectives/call_queue.hpp"

namespace ringside::detail {

/// How many groups are open on this thread, one in another. Every call looks: the model of access
/// makes that one instruction, also in a shared library.
extern constinit thread_local int open_groups __attribute__((tls_model("initial-exec")));

/// Keeps a call until the outermost group ends, and what its communicator needs alive. The group
/// waits for a call that is `blocking`, or whose handle has been dropped by then.
void note_in_group(std::shared_ptr<CallQueue> queue, CallQueue::State call, bool blocking);

/// At the end of a rank's body: if it has left groups open, discards them and throws
/// Error(invalid_argument), as nobody would run their calls.
void refuse_open_groups(int rank);

}  // namespace ringside::detail
