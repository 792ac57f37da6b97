// SPDX-License-Identifier: MIT
#include "ringside/bench/preflight/worker.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <iostream>
#include <string>

#include "ringside/base/error.hpp"
#include "ringside/bench/preflight/devices.hpp"
#include "ringside/bench/preflight/protocol.hpp"

namespace ringside::bench::preflight {
namespace {

Reply answer(Devices& devices, const Command& command) {
  Reply reply;
  try {
    switch (command.kind) {
      case Command::Kind::facts:
        reply.facts = devices.facts();
        break;
      case Command::Kind::open:
        devices.open(command.device);
        break;
      case Command::Kind::step:
        reply.outcome = devices.run(command.step);
        break;
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::unsupported) {
      reply.refusal = error.what();
    } else {
      reply.outcome.ending = Ending::error;
      reply.outcome.text = error.what();
    }
  }
  return reply;
}

/// Takes standard output for the answers: what a driver may print there goes to standard error.
int take_output() {
  const int answers = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (answers >= 0) (void)::dup2(STDERR_FILENO, STDOUT_FILENO);
  return answers;
}

bool write_line(int descriptor, const std::string& text) {
  const std::string line = text + "\n";
  for (std::size_t sent = 0; sent < line.size();) {
    const auto written = ::write(descriptor, line.data() + sent, line.size() - sent);
    if (written <= 0) return false;
    sent += static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace

int run_worker() {
  // One that hangs in the driver would not notice that its parent has gone.
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int answers = take_output();
  Devices devices;
  std::string line;
  while (answers >= 0 && std::getline(std::cin, line) && line != quit_command)
    if (!write_line(answers, write(answer(devices, read_command(line))))) break;
  return 0;
}

}  // namespace ringside::bench::preflight
