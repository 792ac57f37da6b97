// SPDX-License-Identifier: MIT
/// A worker without devices: `stand_in_worker DEVICES FAULT...` answers as a machine of so many
/// GPUs would on which every copy is right and takes a time that tells source and destination, but
/// for the faults: "KIND:SOURCE-DESTINATION" (with P2P enabled only) with KIND one of lost, hang,
/// crash, kill, error; or "deaf" (does not answer at all), "refuse", "hang_open:DEVICE".
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "ringside/bench/preflight/protocol.hpp"
#include "ringside/tests/bench/preflight/machines.hpp"

namespace ringside::tests {
namespace {

using namespace bench::preflight;

[[noreturn]] void hang() {
  while (true) ::pause();
}

class StandIn {
 public:
  StandIn(int devices, std::vector<std::string> faults)
      : devices_(devices), faults_(std::move(faults)) {}

  Reply answer(const Command& command) {
    if (has("deaf")) hang();
    Reply reply;
    if (has("refuse")) {
      reply.refusal = "no GPU: for a test";
      return reply;
    }
    if (command.kind == Command::Kind::facts) reply.facts = machine_of(devices_);
    if (command.kind == Command::Kind::open && has(fmt::format("hang_open:{}", command.device)))
      hang();
    if (command.kind == Command::Kind::step) reply.outcome = outcome_of(command.step);
    return reply;
  }

 private:
  [[nodiscard]] bool has(const std::string& fault) const {
    return std::find(faults_.begin(), faults_.end(), fault) != faults_.end();
  }
  [[nodiscard]] bool planted(const Step& step, const std::string& kind, const Flow& flow) const {
    return step.peer_access && has(fmt::format("{}:{}-{}", kind, flow.source, flow.destination));
  }

  Outcome outcome_of(const Step& step) const {
    Outcome outcome;
    outcome.bytes = step.bytes;
    for (const auto& flow : step.flows) {
      if (planted(step, "hang", flow)) hang();
      if (planted(step, "crash", flow)) {
        std::cerr << "a driver's last words\n";
        std::exit(3);
      }
      if (planted(step, "kill", flow)) std::raise(SIGKILL);
      if (planted(step, "error", flow)) {
        outcome.ending = Ending::error;
        outcome.text = "device 0: an error";
        return outcome;
      }
      if (step.quantity == Quantity::check) {
        Verdict verdict;
        verdict.bytes = step.bytes;
        if (planted(step, "lost", flow)) verdict.arrival = Arrival::lost;
        outcome.verdicts.push_back(verdict);
        continue;
      }
      // Latency of a -> b: 1ab.5 us (host: 9); bandwidth: 1ab GB/s.
      const int number = 100 + 10 * ((flow.source + 10) % 10) + (flow.destination + 10) % 10;
      outcome.times.emplace_back(step.quantity == Quantity::latency
                                     ? (number + 0.5) * 1e-6
                                     : static_cast<double>(step.bytes) / (number * 1e9));
      outcome.samples = 3;
      outcome.together = std::max(outcome.together, outcome.times.back());
    }
    return outcome;
  }

  int devices_;
  std::vector<std::string> faults_;
};

}  // namespace
}  // namespace ringside::tests

int main(int argc, char** argv) {
  using namespace ringside::bench::preflight;
  const std::vector<std::string> words(argv + 1, argv + argc);
  ringside::tests::StandIn stand_in(std::stoi(words.at(0)), {words.begin() + 1, words.end()});
  std::string line;
  while (std::getline(std::cin, line) && line != quit_command)
    std::cout << write(stand_in.answer(read_command(line))) << std::endl;
}
