// SPDX-License-Identifier: MIT
/// What is left to do when a signal ends the program in the middle of a measurement.
#pragma once

#include <sys/types.h>

namespace ringside::bench {

/// From now on SIGINT, SIGTERM and SIGHUP, unless they are ignored or handled already, first take
/// away the progress line and end the child processes, and then end the program as they would have.
/// For programs: a library has no say in its process's signals.
void clean_up_on_signals();

/// The cleaning up is told by those who make what is to be cleaned up.
void note_progress_line(bool shown);
/// `group` is the head of a process group. Of more than 8 at a time the last ones are not noted.
void note_child(pid_t group);
void forget_child(pid_t group);

}  // namespace ringside::bench
