// SPDX-License-Identifier: MIT
#include "ringside/bench/interruption.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>

namespace ringside::bench {
namespace {

std::atomic<bool> line_shown = false;
std::array<std::atomic<pid_t>, 8> children = {};  // 0: free
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<pid_t>::is_always_lock_free);

/// Asks, and waits for four seconds at most: mpirun gives its ranks one second to end by
/// themselves, and would leave them behind if it were killed.
void end_child(pid_t group) {
  constexpr int nap_milliseconds = 5;
  constexpr int naps = 800;
  ::kill(-group, SIGTERM);
  for (int i = 0; i < naps && ::waitpid(group, nullptr, WNOHANG) == 0; ++i)
    (void)::poll(nullptr, 0, nap_milliseconds);
}

}  // namespace

/// Calls only what may be called in a handler. The signal has its default action again, and is
/// pending until this returns.
extern "C" void ringside_clean_up(int signal) {
  constexpr char erase[] = "\r\x1b[K";
  if (line_shown.load()) (void)!::write(STDERR_FILENO, erase, sizeof erase - 1);
  for (const auto& child : children)
    if (const pid_t group = child.load(); group > 0) end_child(group);
  (void)::raise(signal);
}

void clean_up_on_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action = {};
    if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
    action.sa_handler = ringside_clean_up;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    (void)::sigaction(signal, &action, nullptr);
  }
}

void note_progress_line(bool shown) { line_shown.store(shown); }

void note_child(pid_t group) {
  for (auto& child : children)
    if (pid_t free = 0; child.compare_exchange_strong(free, group)) return;
}

void forget_child(pid_t group) {
  for (auto& child : children)
    if (pid_t noted = group; child.compare_exchange_strong(noted, 0)) return;
}

}  // namespace ringside::bench
