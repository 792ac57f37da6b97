// SPDX-License-Identifier: MIT
#include "ringside/collectives/selector/planned_machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/base/options.hpp"
#include "ringside/base/text.hpp"
#include "ringside/collectives/layout.hpp"
#include "ringside/collectives/selector/explain.hpp"
#include "ringside/collectives/selector/predicted_choice.hpp"
#include "ringside/topology/live/live.hpp"
#include "ringside/topology/load.hpp"
#include "ringside/topology/model/assumptions.hpp"

namespace ringside {
namespace {

Machine machine_of(Topology topology) {
  const LinkModel model = *link_model_for(topology).model;
  return {std::move(topology), model};
}

std::shared_ptr<PlannedMachine> read_machine(const std::string& name) {
  const bool live = name == "live";
  if (live) return std::make_shared<PlannedMachine>("this machine", read_live({}).topology, true);
  const std::vector<std::string> inputs = {name};
  auto loaded = load_topology(inputs);
  if (!loaded.built)
    throw Error(
        ErrorCode::bad_input,
        fmt::format("option topology: {} does not tell how devices are linked", quote(name)));
  return std::make_shared<PlannedMachine>(name, std::move(loaded.built->topology), false);
}

}  // namespace

std::uint64_t nearest_power_of_two(std::uint64_t bytes) {
  if (bytes == 0) return 0;
  const std::uint64_t below = std::bit_floor(bytes);
  // bytes / below against the square root of 2, without overflow.
  const double ratio = static_cast<double>(bytes) / static_cast<double>(below);
  return ratio * ratio < 2 ? below : below * 2;
}

struct PlannedMachine::State {
  using Gpus = std::vector<int>;
  /// GPUs, collective, root, placement, bytes.
  using Key = std::tuple<Gpus, Collective, int, bool, std::uint64_t>;

  State(std::string named, Topology topology, bool is_live)
      : name(std::move(named)), live(is_live), machine(machine_of(std::move(topology))) {}

  Predictor& predictor_for(const Gpus& gpus) {
    const auto found = predictors.find(gpus);
    if (found != predictors.end()) return found->second;
    Predictor::Settings settings;
    settings.others = false;
    return predictors.emplace(gpus, Predictor(machine, gpus, settings)).first->second;
  }

  std::string name;
  bool live;
  Machine machine;
  std::mutex mutex;
  std::map<Gpus, Predictor> predictors;
  std::map<Key, Choice> known;
};

PlannedMachine::PlannedMachine(std::string name, Topology topology, bool live)
    : state_(std::make_unique<State>(std::move(name), std::move(topology), live)) {}
PlannedMachine::~PlannedMachine() = default;

std::vector<int> PlannedMachine::gpus_of(const std::vector<int>& devices,
                                         const std::vector<PciAddress>& addresses) const {
  const Topology& topology = state_->machine.topology();
  const auto nodes = topology.gpus();
  const auto gpu_at = [&](const PciAddress& address) -> int {
    const auto found = topology.find(address);
    const auto gpu = found ? std::find(nodes.begin(), nodes.end(), *found) : nodes.end();
    return gpu == nodes.end() ? -1 : static_cast<int>(gpu - nodes.begin());
  };
  std::vector<int> gpus;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const int by_address = state_->live && i < addresses.size() ? gpu_at(addresses[i]) : -1;
    gpus.push_back(by_address >= 0 ? by_address : devices[i]);
    if (gpus.back() >= state_->machine.gpus())
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("option topology: {} has {} GPUs, and there is a rank on device {}",
                              state_->name, state_->machine.gpus(), devices[i]));
  }
  return gpus;
}

Choice PlannedMachine::choose(const std::vector<int>& gpus, const Request& request,
                              std::uint64_t bytes) {
  Question question;
  question.request = request;
  question.bytes = nearest_power_of_two(bytes);
  const State::Key key{gpus, request.collective, request.root, request.in_place, question.bytes};
  const std::lock_guard lock(state_->mutex);
  const auto known = state_->known.find(key);
  if (known != state_->known.end()) return known->second;
  const PredictedChoice choice = state_->predictor_for(gpus).choose(question);
  return state_->known
      .emplace(key, Choice{choice.spec, fmt::format("{} at {}: {} simulated, limited by {}; {}",
                                                    state_->name, format_bytes(question.bytes),
                                                    format_duration(Seconds(choice.seconds)),
                                                    choice.limit, choice.why)})
      .first->second;
}

std::string PlannedMachine::explain(const std::vector<int>& gpus, const Request& request,
                                    std::uint64_t bytes, const std::string& spec) {
  const auto blocks = static_cast<std::uint64_t>(block_count(request));
  if (request.ranks < 2 || blocks == 0) return {};
  const std::uint64_t element = bytes % (4 * blocks) == 0 ? 4 : 1;
  const std::uint64_t whole = bytes - bytes % (blocks * element);
  if (whole == 0) return {};
  const std::lock_guard lock(state_->mutex);  // the machine works out its ways when asked
  const Machine& machine = state_->machine;
  const auto assumed = assumptions_text(assumptions_of(machine.topology(), machine.model()));
  return (assumed.empty() ? "" : fmt::format("Of {} is {}.\n", state_->name, assumed)) +
         explanation_text(explain_call(machine, state_->name, {request, whole, element, gpus},
                                       std::vector{spec}));
}

std::shared_ptr<PlannedMachine> planned_machine() {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<PlannedMachine>> machines;
  const auto name = option<std::string>("topology");
  if (name.empty()) return nullptr;
  const std::lock_guard lock(mutex);
  auto& machine = machines[name];
  if (!machine) machine = read_machine(name);
  return machine;
}

}  // namespace ringside
