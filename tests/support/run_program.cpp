// SPDX-License-Identifier: MIT
#include "ringside/tests/support/run_program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "ringside/base/options.hpp"

namespace ringside::tests {
namespace {

void check(int error, const char* what) {
  if (error != 0) throw std::system_error(error, std::generic_category(), what);
}

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() { close(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool open() const { return fd_ >= 0; }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
};

struct Pipe {
  Pipe() : Pipe(make()) {}
  Descriptor read, write;

 private:
  explicit Pipe(std::array<int, 2> fds) : read(fds[0]), write(fds[1]) {}
  static std::array<int, 2> make() {
    std::array<int, 2> fds{};
    check(::pipe2(fds.data(), O_CLOEXEC) == 0 ? 0 : errno, "pipe2");
    return fds;
  }
};

/// In the child: the streams, a process group of its own, so that its children can be killed with
/// it, the environment, and the program. (posix_spawn would want the whole environment as a list.)
[[noreturn]] void become(const std::vector<std::string>& command,
                         const std::vector<std::string>& environment, const Pipe& in,
                         const Pipe& out, const Pipe& err) {
  ::setpgid(0, 0);
  ::dup2(in.read.get(), STDIN_FILENO);
  ::dup2(out.write.get(), STDOUT_FILENO);
  ::dup2(err.write.get(), STDERR_FILENO);
  for (const int signal : {SIGPIPE, SIGINT, SIGHUP}) ::signal(signal, SIG_DFL);
  for (const auto& row : option_rows()) ::unsetenv(row.variable.c_str());
  for (const auto& [variable, guess] : unknown_option_variables()) ::unsetenv(variable.c_str());
  for (const auto& entry : environment) {
    const auto equals = entry.find('=');
    ::setenv(entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str(), 1);
  }
  std::vector<char*> arguments;
  for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  ::perror(arguments[0]);
  ::_exit(127);
}

/// Reads what is there; closes the pipe at its end.
void drain(Descriptor& pipe, std::string& text) {
  std::array<char, 65536> buffer{};
  const ssize_t got = ::read(pipe.get(), buffer.data(), buffer.size());
  if (got > 0)
    text.append(buffer.data(), static_cast<std::size_t>(got));
  else if (got == 0 || errno != EINTR)
    pipe.close();
}

void feed(Descriptor& pipe, std::string_view& text) {
  const ssize_t put = ::write(pipe.get(), text.data(), text.size());
  if (put > 0) text.remove_prefix(static_cast<std::size_t>(put));
  const bool refused = put < 0 && errno != EINTR && errno != EAGAIN;
  if (refused || text.empty()) pipe.close();
}

}  // namespace

ProgramResult run_program(const std::vector<std::string>& command, const ProgramInput& input) {
  using Clock = std::chrono::steady_clock;
  ::signal(SIGPIPE, SIG_IGN);  // a program may end before it has read its input
  Pipe in, out, err;
  const pid_t pid = ::fork();
  check(pid >= 0 ? 0 : errno, "fork");
  if (pid == 0) become(command, input.environment, in, out, err);
  ::setpgid(pid, pid);  // here too: whoever comes first
  in.read.close();
  out.write.close();
  err.write.close();
  ::fcntl(in.write.get(), F_SETFL, O_NONBLOCK);

  ProgramResult result;
  std::string_view text = input.text;
  if (text.empty()) in.write.close();
  const auto end = Clock::now() + input.limit;
  while (out.read.open() || err.read.open()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    std::array<pollfd, 3> waits{
        {{out.read.get(), POLLIN, 0}, {err.read.get(), POLLIN, 0}, {in.write.get(), POLLOUT, 0}}};
    if (left.count() <= 0 ||
        ::poll(waits.data(), waits.size(), static_cast<int>(left.count())) == 0) {
      result.timed_out = true;
      ::kill(-pid, SIGKILL);
      break;
    }
    if (waits[0].revents != 0) drain(out.read, result.output);
    if (waits[1].revents != 0) drain(err.read, result.error);
    if (waits[2].revents != 0) feed(in.write, text);
  }
  in.write.close();

  // It closed its output; a program that then goes on is given the rest of the limit.
  int status = 0;
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    if (!result.timed_out && Clock::now() >= end) {
      result.timed_out = true;
      ::kill(-pid, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace ringside::tests
