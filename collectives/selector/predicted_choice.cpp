// SPDX-License-Identifier: MIT
#include "ringside/collectives/selector/predicted_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/collectives/executors/simulated/access.hpp"
#include "ringside/collectives/executors/simulated/simulate.hpp"
#include "ringside/collectives/layout.hpp"
#include "ringside/collectives/selector/contenders.hpp"
#include "ringside/collectives/selector/request_bounds.hpp"

namespace ringside {
namespace {

/// Times that differ by less are the same.
constexpr double alike = 0.005;

}  // namespace

Question all_reduce_question(int ranks, double bytes) {
  Question question;
  question.request.collective = Collective::all_reduce;
  question.request.ranks = ranks;
  question.bytes =
      static_cast<std::uint64_t>(bytes) / question.element_bytes * question.element_bytes;
  return question;
}

std::string times_as_long(double ratio) {
  return std::abs(ratio - 1) < alike ? "as long" : fmt::format("{:.2f} times as long", ratio);
}

namespace {

CallSize size_of_call(const Question& question) {
  const auto blocks = static_cast<std::size_t>(block_count(question.request));
  return {static_cast<std::size_t>(question.bytes) / question.element_bytes / blocks,
          question.element_bytes};
}

SimulatedCall call_of(const Question& question, const std::vector<int>& gpus) {
  const auto blocks = static_cast<std::size_t>(block_count(question.request));
  return {std::vector<std::size_t>(blocks, size_of_call(question).block_elements),
          question.element_bytes, gpus};
}

std::string name_of(const Machine& machine, ResourceId resource) {
  return machine.resources()[static_cast<std::size_t>(resource)].name;
}

/// The two directions of a link have one name: what fills one mostly fills the other in turn.
std::string link_name(const Machine& machine, ResourceId resource) {
  const auto link = machine.link_of(resource);
  if (!link) return name_of(machine, resource);
  const Topology& topology = machine.topology();
  const Link& one_way = topology.link(std::min(*link, Topology::reverse(*link)));
  return fmt::format("{} - {}", topology.node(one_way.from).name, topology.node(one_way.to).name);
}

/// What a plan's time is spent on: a resource, by how long it was full, or what is not moving data,
/// by how long the critical path waits for it.
struct MainLimit {
  std::string name;
  double share = 0;
};
MainLimit main_limit(const Machine& machine, const Simulation& simulation) {
  std::map<std::string, double> seconds;
  for (const CriticalPiece& piece : simulation.critical_path)
    if (piece.kind != CriticalPiece::Kind::transfer)
      seconds[piece.kind == CriticalPiece::Kind::latency ? "latency" : "issuing ops"] +=
          piece.end - piece.begin;
  for (std::size_t id = 0; id < simulation.resources.size(); ++id) {
    double& longest = seconds[link_name(machine, static_cast<ResourceId>(id))];
    longest = std::max(longest, simulation.resources[id].saturated);
  }
  if (seconds.empty() || simulation.seconds <= 0) return {};
  const auto most =
      std::max_element(seconds.begin(), seconds.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return {most->first, most->second / simulation.seconds};
}

std::string duration(double seconds) { return format_duration(Seconds(seconds)); }

/// "its ops one after another take 1.2 ms", "what numa0 -> numa1 has to carry takes 40 ms".
std::string describe(const Machine& machine, const LowerLimit& limit) {
  if (!limit.resource)
    return fmt::format("its ops one after another take {}", duration(limit.seconds));
  return fmt::format("with what {} has to carry it takes at least {}",
                     name_of(machine, *limit.resource), duration(limit.seconds));
}

/// Requests that may be made in either placement get one answer.
Request settled(Request request) {
  if (!chooses_by_placement(request.collective)) request.in_place = false;
  return request;
}

}  // namespace

struct Predictor::State {
  const Machine& machine;
  std::vector<int> gpus;
  Settings settings;
  AccessMatrix access;
  struct Known {
    Contenders contenders;
    std::optional<Bound> bound;
  };
  std::vector<std::pair<Request, std::unique_ptr<Known>>> known;

  State(const Machine& on, std::vector<int> of_ranks, Settings how)
      : machine(on), gpus(std::move(of_ranks)), settings(how) {
    if (gpus.empty()) {
      gpus.resize(static_cast<std::size_t>(machine.gpus()));
      std::iota(gpus.begin(), gpus.end(), 0);
    }
    for (const int gpu : gpus)
      if (gpu < 0 || gpu >= machine.gpus())
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("there is no GPU {}: the machine has {}", gpu, machine.gpus()));
    access = access_of(machine, gpus);
  }

  Known& known_for(const Request& request) {
    for (auto& [of, value] : known)
      if (of == request) return *value;
    auto value = std::make_unique<Known>(
        Known{Contenders(machine, gpus, request, settings.breadth), std::nullopt});
    if (request.ranks > 1) {
      value->bound = bounds_of_any_plan(capacities_for(machine, gpus),
                                        demand_of(request.collective), request.root)
                         .front();
    }
    return *known.emplace_back(request, std::move(value)).second;
  }

  [[nodiscard]] Simulation run(const Question& question, const Spec& spec,
                               const SimulationWanted& wanted) const {
    return simulate(machine, spec, question.request, call_of(question, gpus), wanted);
  }

  [[nodiscard]] Simulator simulator(const Question& question) const {
    return [this, question](const Contender& contender, int slices,
                            std::optional<double> give_up_after) {
      SimulationWanted wanted;
      wanted.give_up_after = give_up_after;
      const Simulation done = run(question, Contenders::spec_of(contender, slices), wanted);
      return std::pair(done.seconds, !done.gave_up);
    };
  }

  void add_bound(PredictedChoice& choice, const Question& question,
                 const Known& for_request) const {
    if (!for_request.bound) return;
    choice.bound = *for_request.bound;
    choice.bound_seconds = message_bytes(question.request, static_cast<double>(question.bytes)) *
                           choice.bound.seconds_per_byte;
  }

  void add_limit(PredictedChoice& choice, const Question& question) const {
    SimulationWanted wanted;
    wanted.critical_path = true;
    wanted.resources = true;
    const Simulation done = run(question, parse_spec(choice.spec), wanted);
    choice.seconds = done.seconds;
    const MainLimit limit = main_limit(machine, done);
    choice.limit = limit.name;
    choice.limit_share = limit.share;
  }

  void add_others(PredictedChoice& choice, const Question& question, const Contenders& contenders,
                  const SearchResult& found) const;
};

/// The best of every other algorithm: of those simulated to the end the fastest, else the one that
/// looks the best by its limit, simulated now.
void Predictor::State::add_others(PredictedChoice& choice, const Question& question,
                                  const Contenders& contenders, const SearchResult& found) const {
  const CallSize size = size_of_call(question);
  const std::string taken = parse_spec(choice.spec).name;
  std::set<std::string> told = {taken};
  for (const Contender& contender : contenders.all()) {
    if (!told.insert(contender.algorithm).second) continue;
    const Trial* best = nullptr;
    for (const Trial& trial : found.trials)
      if (contenders.all()[trial.contender].algorithm == contender.algorithm && trial.complete &&
          (best == nullptr || trial.seconds < best->seconds))
        best = &trial;
    Rejected rejected;
    LowerLimit limit;
    if (best != nullptr) {
      rejected.spec =
          to_string(Contenders::spec_of(contenders.all()[best->contender], best->slices));
      rejected.seconds = best->seconds;
      limit = best->limit;
    } else if (const auto prospect = best_prospect(contenders, size, contender.algorithm)) {
      const Spec spec =
          Contenders::spec_of(contenders.all()[prospect->contender], prospect->slices);
      rejected.spec = to_string(spec);
      rejected.seconds = run(question, spec, {}).seconds;
      limit = prospect->limit;
    } else {
      continue;
    }
    rejected.at_least = limit.seconds;
    rejected.why = fmt::format("{}; {}", times_as_long(*rejected.seconds / choice.seconds),
                               describe(machine, limit));
    choice.others.push_back(std::move(rejected));
  }
  std::stable_sort(choice.others.begin(), choice.others.end(),
                   [](const Rejected& a, const Rejected& b) { return *a.seconds < *b.seconds; });
  for (const auto& [spec, why] : contenders.candidates().refused)
    choice.others.push_back({spec, std::nullopt, 0, why});
}

Predictor::Predictor(const Machine& machine, std::vector<int> gpus, Settings settings)
    : state_(std::make_unique<State>(machine, std::move(gpus), settings)) {}
Predictor::Predictor(const Machine& machine, std::vector<int> gpus)
    : Predictor(machine, std::move(gpus), Settings{}) {}
Predictor::Predictor(Predictor&&) noexcept = default;
Predictor::~Predictor() = default;

PredictedChoice Predictor::choose(const Question& asked, const TuningTable* measured,
                                  const ChoiceSetting& setting) {
  Question question = asked;
  question.request = settled(asked.request);
  if (question.request.ranks != static_cast<int>(state_->gpus.size()))
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a choice for {} ranks asked of a predictor for {}",
                            question.request.ranks, state_->gpus.size()));
  PredictedChoice choice;
  const auto& known = state_->known_for(question.request);
  state_->add_bound(choice, question, known);
  if (measured != nullptr)
    if (const auto row = choose_measured(*measured, setting, question.request, question.bytes)) {
      choice.spec = row->spec;
      choice.why = row->why;
      choice.measured = true;
      state_->add_limit(choice, question);
      return choice;
    }
  const Contenders& contenders = known.contenders;
  const SearchResult found = search(contenders, size_of_call(question), state_->simulator(question),
                                    state_->settings.search);
  choice.spec =
      to_string(Contenders::spec_of(contenders.all()[found.best.contender], found.best.slices));
  choice.listed = found.plans;
  choice.simulated = found.trials.size();
  state_->add_limit(choice, question);
  if (state_->settings.others) state_->add_others(choice, question, contenders, found);
  const bool is_fastest =
      std::none_of(found.trials.begin(), found.trials.end(), [&](const Trial& trial) {
        return trial.complete && trial.seconds < choice.seconds * (1 - alike);
      });
  choice.why = fmt::format(
      "predicted to be {} of {} plans, {} of them simulated",
      is_fastest ? "the fastest"
                 : fmt::format("as fast as the fastest within {:.0f} %, and the cheapest to issue,",
                               100 * state_->settings.search.tie),
      choice.listed, choice.simulated);
  if (!choice.others.empty() && choice.others.front().seconds)
    choice.why += fmt::format("; the next algorithm, {}, takes {}", choice.others.front().spec,
                              times_as_long(*choice.others.front().seconds / choice.seconds));
  return choice;
}

double Predictor::predict(const Question& question, const std::string& spec) {
  return state_->run(question, parse_spec(spec), {}).seconds;
}

}  // namespace ringside
