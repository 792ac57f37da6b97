// SPDX-License-Identifier: MIT
/// Groups: several calls, on one or several communicators, that start together.
#pragma once

#include <functional>

namespace ringside {

/// Runs `body` on this thread. Calls that it makes, blocking or not, on whatever communicators, are
/// noted and start when the outermost group ends; `grouped` then returns when the blocking ones are
/// over. So two ranks may send to each other, and ranks may call different communicators in a
/// different order. Calls on one communicator keep their order, but messages with no collective
/// between them go on side by side. Buffers belong to the group until it has ended.
///
/// Groups nest; an inner group is part of the outer one. If `body` throws, nothing that it noted
/// runs: handles of asynchronous calls throw `aborted`. What an outer group has noted besides stays
/// noted: it runs unless the exception ends that group, too. If blocking calls fail, the first
/// error is thrown once all are over.
///
/// Error(invalid_argument), and nothing runs: messages that go on side by side, on one communicator
/// or several, of which one is received where another lies (but a message to oneself may lie where
/// it is to go); or more sends to oneself than receives from oneself, or fewer.
void grouped(const std::function<void()>& body);

/// The same in two halves, for code that cannot pass a function (the C interface).
void group_start();
/// Throws Error(invalid_argument) without a start.
void group_end();
/// Ends the innermost group as `grouped` does when its body throws: drops what was noted since its
/// start, and only that.
void group_discard();

}  // namespace ringside
