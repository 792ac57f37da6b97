// SPDX-License-Identifier: MIT
#include "ringside/bench/peer_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <thread>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/bench/interruption.hpp"

extern char** environ;

namespace ringside::bench {
namespace {

std::string system_message(int error) { return std::generic_category().message(error); }

/// Both ends are closed in the child, which gets its own copy of the far one.
struct Channel {
  int near = -1, far = -1;
};

/// A socket, because writing to one whose reader has gone can be an error instead of a signal.
Channel open_channel() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw Error(ErrorCode::io, fmt::format("cannot open a socket: {}", system_message(errno)));
  return {ends[0], ends[1]};
}

/// A child with the channels as its standard descriptors, the head of a process group of its own;
/// returns an errno.
int spawn(const std::vector<std::string>& command, const Channel (&channels)[3], pid_t& child) {
  std::vector<char*> arguments;
  for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int i = 0; i < 3; ++i) posix_spawn_file_actions_adddup2(&actions, channels[i].far, i);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  const int error =
      ::posix_spawnp(&child, arguments.front(), &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

/// The line that says most: mpirun frames its messages with dashes and blank lines.
std::string first_words(const std::string& text) {
  for (const auto line : split(text, '\n')) {
    const auto words = trim(line);
    if (words.find_first_not_of("-=*") != std::string_view::npos) return std::string(words);
  }
  return {};
}

}  // namespace

PeerProcess::PeerProcess(const std::vector<std::string>& command, Seconds limit)
    : name_(command.front()), limit_(limit) {
  const Channel channels[3] = {open_channel(), open_channel(), open_channel()};
  const int error = spawn(command, channels, child_);
  for (const auto& channel : channels) ::close(channel.far);
  input_ = channels[0].near;
  output_ = channels[1].near;
  errors_ = channels[2].near;
  if (error == 0) {
    note_child(child_);
    return;
  }
  for (const int descriptor : {input_, output_, errors_}) ::close(descriptor);
  throw Error(ErrorCode::io, fmt::format("cannot start {}: {}", name_, system_message(error)));
}

PeerProcess::~PeerProcess() {
  constexpr Seconds patience{2.0};
  static constexpr std::string_view quit = "quit\n";
  (void)::send(input_, quit.data(), quit.size(), MSG_NOSIGNAL);
  ::close(input_);
  if (!ended_within(patience)) {
    ::kill(-child_, SIGTERM);  // mpirun passes it on to its ranks
    if (!ended_within(patience)) {
      ::kill(-child_, SIGKILL);
      (void)ended_within(patience);
    }
  }
  forget_child(child_);
  ::close(output_);
  ::close(errors_);
}

bool PeerProcess::ended_within(Seconds limit) {
  const Stopwatch watch;
  while (child_ > 0) {
    const pid_t waited = ::waitpid(child_, &status_, WNOHANG);
    if (waited == child_ || (waited < 0 && errno == ECHILD)) return true;
    if (watch.elapsed() > limit) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

/// How it came to an end, when it has: its last descriptor may close a little before.
std::string PeerProcess::ending() {
  constexpr Seconds patience{0.5};
  if (ended_within(patience) && WIFSIGNALED(status_))
    return fmt::format("its process was killed by signal {}", WTERMSIG(status_));
  return "its process has ended";
}

void PeerProcess::send(const std::string& line) {
  const std::string text = line + "\n";
  for (std::size_t sent = 0; sent < text.size();) {
    const auto written = ::send(input_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(ending());
    sent += static_cast<std::size_t>(written);
  }
}

/// Reads what is there; false at the end.
bool PeerProcess::fill(std::string& buffer, int descriptor) {
  char bytes[65536];
  const auto read = ::read(descriptor, bytes, sizeof bytes);
  if (read < 0 && errno == EINTR) return true;
  if (read <= 0) return false;
  buffer.append(bytes, static_cast<std::size_t>(read));
  return true;
}

void PeerProcess::kill() {
  if (child_ > 0) ::kill(-child_, SIGKILL);
}

std::string PeerProcess::receive(Seconds limit) {
  const Stopwatch watch;
  bool errors_open = true;
  while (true) {
    if (const auto end = unread_.find('\n'); end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    const Seconds left = limit - watch.elapsed();
    pollfd waited[2] = {{.fd = output_, .events = POLLIN, .revents = 0},
                        {.fd = errors_open ? errors_ : -1, .events = POLLIN, .revents = 0}};
    const double milliseconds = std::clamp(left.count() * 1e3 + 1, 0.0, 1e6);
    const int ready = ::poll(waited, 2, static_cast<int>(milliseconds));
    if (ready < 0 && errno != EINTR) fail(system_message(errno));
    if (ready == 0 && left.count() <= 0)
      throw Error(ErrorCode::timeout,
                  fmt::format("{} has not answered within {}", name_, format_duration(limit)));
    if (ready <= 0) continue;
    if (waited[1].revents != 0) errors_open = fill(complaints_, errors_);
    if (waited[0].revents != 0 && !fill(unread_, output_)) {
      while (errors_open) errors_open = fill(complaints_, errors_);
      fail(ending());
    }
  }
}

void PeerProcess::fail(const std::string& why) {
  const auto words = first_words(complaints_);
  throw Error(ErrorCode::failed,
              fmt::format("{}: {}{}{}", name_, why, words.empty() ? "" : ": ", words));
}

}  // namespace ringside::bench
