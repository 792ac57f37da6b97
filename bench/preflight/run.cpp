// SPDX-License-Identifier: MIT
#include "ringside/bench/preflight/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/bench/machine.hpp"
#include "ringside/bench/peer_process.hpp"
#include "ringside/bench/preflight/protocol.hpp"

namespace ringside::bench::preflight {
namespace {

/// The driver's initialisation, and a device's, take some 0.1 s each, and seconds where the
/// persistence mode is off: a hang is told from that by four times the patience.
constexpr double patience_to_start = 4;

std::string without_prefix(std::string_view text, std::string_view prefix) {
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  return std::string(text);
}

/// The process that touches the devices. One that has hung or failed is replaced at its next use.
class Worker {
 public:
  explicit Worker(std::vector<std::string> command) : command_(std::move(command)) {}

  struct Answer {
    Reply reply;
    bool timed_out = false;
  };

  /// Whatever befalls the process is an outcome: hang or error.
  Answer ask(const Command& command, Seconds limit) {
    Answer answer;
    try {
      if (!process_) start();
      process_->send(write(command));
      answer.reply = read_reply(process_->receive(limit));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::timeout) {
        process_->kill();
        answer.timed_out = true;
        answer.reply.outcome.ending = Ending::hang;
        answer.reply.outcome.text =
            fmt::format("hangs: has not ended within {}", format_duration(limit));
      } else if (error.code() == ErrorCode::failed) {
        answer.reply.outcome.ending = Ending::error;
        answer.reply.outcome.text = without_prefix(error.what(), command_.front() + ": ");
      } else {
        throw;
      }
    }
    const auto ending = answer.reply.outcome.ending;
    if (ending == Ending::hang || ending == Ending::error)
      process_.reset();  // its devices may be lost
    return answer;
  }

  [[nodiscard]] bool has_open(int device) const { return process_ && open_.contains(device); }
  void note_open(int device) { open_.insert(device); }

 private:
  void start() {
    constexpr Seconds unused{60};  // every answer has its own limit
    process_ = std::make_unique<PeerProcess>(command_, unused);
    open_.clear();
  }

  std::vector<std::string> command_;
  std::unique_ptr<PeerProcess> process_;
  std::set<int> open_;
};

class Preflight {
 public:
  Preflight(const Request& request, std::vector<std::string> worker) : worker_(std::move(worker)) {
    report_.request = request;
    report_.host_name = read_machine().host_name;
    report_.start_time = utc_now();
  }

  Report run(const Listener& listener) {
    if (read_facts(listener)) run_steps(listener);
    report_.elapsed = watch_.elapsed();
    return std::move(report_);
  }

 private:
  [[nodiscard]] Seconds left() const { return report_.request.total - watch_.elapsed(); }

  [[nodiscard]] Outcome out_of_time() const {
    Outcome outcome;
    outcome.ending = Ending::no_time;
    outcome.text =
        fmt::format("the time for all of it, {}, was up", format_duration(report_.request.total));
    return outcome;
  }

  bool read_facts(const Listener& listener) {
    listener(0, 1, "opening the driver");
    const Seconds patience = patience_to_start * report_.request.step;
    const auto limit = std::min(patience, left());
    auto [reply, timed_out] = worker_.ask({.kind = Command::Kind::facts, .step = {}}, limit);
    if (reply.refusal) throw Error(ErrorCode::unsupported, *reply.refusal);
    if (!reply.facts) {
      const auto outcome = timed_out && limit < patience ? out_of_time() : reply.outcome;
      report_.start_failures.push_back({std::nullopt, outcome.ending, outcome.text});
      return false;
    }
    report_.facts = std::move(*reply.facts);
    return true;
  }

  void run_steps(const Listener& listener) {
    const auto steps = steps_of(report_.facts, report_.request);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      listener(i, steps.size(), to_string(steps[i]));
      report_.results.push_back({steps[i], outcome_of(steps[i])});
    }
  }

  Outcome outcome_of(const Step& step) {
    if (step.quantity != Quantity::check && is_virtual(report_.facts))
      return not_run(Ending::no_device, "virtual devices: nothing was measured");
    if (const auto reason = obstacle(step, report_.results))
      return not_run(Ending::blocked, *reason);
    if (const auto failure = open_devices(step)) return *failure;
    return ask({.kind = Command::Kind::step, .step = step}, report_.request.step);
  }

  static Outcome not_run(Ending ending, std::string text) {
    Outcome outcome;
    outcome.ending = ending;
    outcome.text = std::move(text);
    return outcome;
  }

  /// A limit that the end of all time has shortened tells nothing of the devices.
  Outcome ask(const Command& command, Seconds limit) {
    const auto rest = left();
    if (rest.count() <= 0) return out_of_time();
    auto answer = worker_.ask(command, std::min(limit, rest));
    return answer.timed_out && rest < limit ? out_of_time() : answer.reply.outcome;
  }

  /// Contexts are made before a step, one by one and with a limit of their own: that may take long,
  /// and a device that cannot be opened is told from a path that does not work. Nothing if all are
  /// open; else what stands for the step's outcome.
  std::optional<Outcome> open_devices(const Step& step) {
    std::set<int> devices;
    for (const auto& flow : step.flows) devices.insert({flow.source, flow.destination});
    devices.erase(host);
    for (const int device : devices) {
      if (broken_.contains(device))
        return not_run(Ending::blocked, fmt::format("device {} cannot be opened", device));
      if (worker_.has_open(device)) continue;
      const auto outcome = ask({.kind = Command::Kind::open, .device = device, .step = {}},
                               patience_to_start * report_.request.step);
      if (outcome.ending == Ending::done) {
        worker_.note_open(device);
        continue;
      }
      if (outcome.ending == Ending::no_time || outcome.ending == Ending::no_memory) return outcome;
      broken_.insert(device);
      report_.start_failures.push_back({device, outcome.ending, "opening it: " + outcome.text});
      return not_run(Ending::blocked, fmt::format("device {} cannot be opened", device));
    }
    return std::nullopt;
  }

  Stopwatch watch_;
  Worker worker_;
  Report report_;
  std::set<int> broken_;
};

}  // namespace

Report run_preflight(const Request& request, const std::vector<std::string>& worker,
                     const Listener& listener) {
  return Preflight(request, worker).run(listener);
}

}  // namespace ringside::bench::preflight
