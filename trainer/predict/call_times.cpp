// SPDX-License-Identifier: MIT
#include "ringside/trainer/predict/call_times.hpp"

#include <fmt/format.h>

#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/collectives/executors/simulated/nccl_run.hpp"
#include "ringside/collectives/executors/simulated/path_shares.hpp"
#include "ringside/collectives/executors/simulated/simulate.hpp"
#include "ringside/collectives/layout.hpp"
#include "ringside/collectives/selector/planned_machine.hpp"
#include "ringside/collectives/selector/predicted_choice.hpp"

namespace ringside::trainer {
namespace {

std::vector<int> first_gpus(int ranks) {
  std::vector<int> gpus(static_cast<std::size_t>(ranks));
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
}

/// Comparable, for maps.
using Key = std::tuple<Collective, int, int, bool, std::size_t, std::size_t, std::string>;

Key key_of(const TrainingCall& call, std::size_t elements, const std::string& algorithm) {
  const Request& request = call.request;
  return {request.collective, request.ranks,      request.root, request.in_place,
          elements,           call.element_bytes, algorithm};
}

}  // namespace

std::size_t TrainingCall::bytes() const {
  return block_elements * element_bytes * static_cast<std::size_t>(block_count(request));
}

struct CallTimes::State {
  explicit State(const Machine& on) : machine(on) {}

  /// As `auto` chooses with the option `topology`.
  const std::string& chosen(const TrainingCall& call) {
    Question question;
    question.request = call.request;
    question.bytes = nearest_power_of_two(call.bytes());
    question.element_bytes = call.element_bytes;
    const auto key = key_of(call, question.bytes, {});
    if (const auto known = choices.find(key); known != choices.end()) return known->second;
    auto predictor = predictors.find(call.request.ranks);
    if (predictor == predictors.end()) {
      Predictor::Settings settings;
      settings.others = false;
      predictor = predictors
                      .emplace(call.request.ranks,
                               Predictor(machine, first_gpus(call.request.ranks), settings))
                      .first;
    }
    return choices.emplace(key, predictor->second.choose(question).spec).first->second;
  }

  [[nodiscard]] CallTime simulated(const TrainingCall& call, const std::string& spec) const {
    const SimulatedCall simulated{
        .block_elements = std::vector<std::size_t>(
            static_cast<std::size_t>(block_count(call.request)), call.block_elements),
        .element_bytes = call.element_bytes,
        .gpus = first_gpus(call.request.ranks)};
    SimulationWanted wanted;
    wanted.critical_path = true;
    const Simulation run = simulate(machine, parse_spec(spec), call.request, simulated, wanted);
    const PathShares shares = shares_of(run.critical_path);
    return {run.seconds, shares.call + shares.overhead + shares.latency, spec};
  }

  [[nodiscard]] CallTime by_nccl(const TrainingCall& call) {
    if (call.request.collective != Collective::all_reduce)
      throw Error(ErrorCode::unsupported, "NCCL is predicted for all_reduce only");
    if (!nccl)
      nccl.emplace(as_nccl_uses({machine.topology(), machine.model(), machine.settings()}));
    NcclCall run;
    run.gpus = first_gpus(call.request.ranks);
    run.bytes = static_cast<double>(call.bytes());
    CallTime time{nccl_seconds(*nccl, run), 0, std::string(nccl_word)};
    run.bytes = static_cast<double>(call.request.ranks);  // as good as nothing
    time.waiting = nccl_seconds(*nccl, run);
    return time;
  }

  const Machine& machine;
  std::optional<Machine> nccl;
  std::map<int, Predictor> predictors;  // by ranks
  std::map<Key, std::string> choices;
  std::map<Key, CallTime> times;
};

CallTimes::CallTimes(const Machine& machine) : state_(std::make_unique<State>(machine)) {}
CallTimes::CallTimes(CallTimes&&) noexcept = default;
CallTimes::~CallTimes() = default;

int CallTimes::gpus() const { return state_->machine.gpus(); }

const CallTime& CallTimes::of(const TrainingCall& call, const std::string& algorithm) {
  const auto key = key_of(call, call.block_elements, algorithm);
  if (const auto known = state_->times.find(key); known != state_->times.end())
    return known->second;
  const CallTime time =
      algorithm == nccl_word
          ? state_->by_nccl(call)
          : state_->simulated(call, algorithm.empty() ? state_->chosen(call) : algorithm);
  return state_->times.emplace(key, time).first->second;
}

}  // namespace ringside::trainer
