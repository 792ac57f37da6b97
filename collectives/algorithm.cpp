// SPDX-License-Identifier: MIT
#include "ringside/collectives/algorithm.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <limits>
#include <mutex>
#include <new>
#include <set>

#include "ringside/base/error.hpp"
#include "ringside/base/keep.hpp"
#include "ringside/base/text.hpp"
#include "ringside/collectives/algorithms/builtin.hpp"
#include "ringside/collectives/outside.hpp"
#include "ringside/collectives/plugin/plan_file.hpp"
#include "ringside/collectives/plugin/plugin.hpp"
#include "ringside/collectives/stored_plan.hpp"

namespace ringside {
namespace {

constexpr int default_depth =
    2;  // double buffering; deeper costs cache and has not been seen to pay

struct Registry {
  std::mutex mutex;
  std::deque<AlgorithmInfo> algorithms;  // a deque: references stay valid

  Registry() {
    for (auto& info : builtin_algorithms()) algorithms.push_back(std::move(info));
  }
};

Registry& registry() {
  static Registry& instance = never_destroyed<Registry>();
  return instance;
}

/// The spec with its parameters in declared order, once it is known that all are declared.
Spec canonical(const AlgorithmInfo& info, const Spec& spec) {
  Spec result{spec.name, {}};
  std::vector<std::string> known;
  const auto take = [&](std::span<const ParameterInfo> parameters) {
    for (const auto& parameter : parameters) {
      known.push_back(parameter.name);
      for (const auto& given : spec.parameters)
        if (given.first == parameter.name) result.parameters.push_back(given);
    }
  };
  take(info.parameters);
  take(common_parameters());
  for (const auto& [name, value] : spec.parameters)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw Error(ErrorCode::bad_input, fmt::format("{} has no parameter '{}': it takes {}",
                                                    spec.name, name, fmt::join(known, ", ")));
  return result;
}

Shape shape_for(const Parameters& parameters, const Algorithm& algorithm) {
  Shape shape;
  shape.chunks_per_block = algorithm.chunks;
  shape.slices = parameters.integer("slices", 1, 1, most_slices);
  // With one slice there is mostly nothing for a second lane to overlap with.
  shape.lanes = parameters.integer(
      "lanes", shape.slices > 1 ? algorithm.lanes : algorithm.unsliced_lanes, 1, most_lanes);
  shape.depth = std::min(parameters.integer("depth", default_depth, 1, most_slices), shape.slices);
  return shape;
}

/// What register_algorithm demands of one algorithm by itself.
void check_info(const AlgorithmInfo& info) {
  const auto refuse = [](const std::string& why) { throw Error(ErrorCode::invalid_argument, why); };
  if (is_plan_file(info.name) || parse_spec(info.name).name != info.name)
    refuse(fmt::format("'{}' is no algorithm name", info.name));
  if (info.name == "auto" || info.name == "all")
    refuse(fmt::format("'{}' means a choice of algorithms: no algorithm can have that name",
                       info.name));
  if (!info.make) refuse(fmt::format("algorithm '{}' has nothing that makes it", info.name));
  std::set<std::string_view> names;
  for (const auto& parameter : common_parameters()) names.insert(parameter.name);
  for (const auto& parameter : info.parameters)
    if (!names.insert(parameter.name).second)
      refuse(fmt::format("algorithm '{}' has the parameter '{}' twice", info.name, parameter.name));
}

/// Registered code is foreign code: what it made must be usable.
void check_made(const AlgorithmInfo& info, const Algorithm& made) {
  const auto demand = [&](bool right, const char* wrong) {
    if (!right)
      throw Error(ErrorCode::invalid_argument, fmt::format("algorithm '{}' {}", info.name, wrong));
  };
  const auto is_lanes = [](int lanes) { return lanes >= 1 && lanes <= most_lanes; };
  demand(made.chunks >= 1, "cuts its blocks in less than one chunk");
  demand(is_lanes(made.lanes) && is_lanes(made.unsliced_lanes), "has not from 1 to 16 lanes");
  demand(made.write != nullptr, "has nothing that writes it");
}

[[noreturn]] void refuse_thrown(const std::string& spec, const std::string& what) {
  throw Error(ErrorCode::bad_input, fmt::format("algorithm '{}' threw {}", spec, what));
}

/// Runs an algorithm's code. One from outside may throw anything: that becomes an error of ours.
template <class Body>
auto guarded(const std::string& spec, Body&& body) -> decltype(body()) {
  constexpr std::size_t longest_words = 500;
  try {
    return body();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    refuse_thrown(spec, "an exception: " + quote(error.what(), longest_words));
  } catch (...) {
    refuse_thrown(spec, "something that is no std::exception");
  }
}

/// One rank alone: its output is its input.
OpStream keep(Group g) {
  for (int chunk = 0; chunk < g.chunks(); ++chunk) co_yield g.copy(0, 0, chunk);
}

OpStream write_halves(Group g, Halves halves) {
  for (const Op& op : halves.reduce(g)) co_yield op;
  for (const Op& op : halves.spread(g)) co_yield op;
}

}  // namespace

Algorithm Algorithm::of_halves(int chunks, int lanes, Halves halves) {
  return {.chunks = chunks,
          .lanes = lanes,
          .write = [halves](Group g) { return write_halves(std::move(g), halves); },
          .halves = halves,
          .writes_halves = true};
}

std::span<const ParameterInfo> common_parameters() {
  using Infos = std::vector<ParameterInfo>;
  static const Infos& parameters = never_destroyed<Infos>(Infos{
      {"slices", "1", "pieces that every chunk is cut in, so that they pipeline"},
      {"lanes", "as the algorithm wants", "queues of a rank that run independently"},
      {"depth", "2", "slices that scratch holds at a time"},
  });
  return parameters;
}

void register_algorithm(AlgorithmInfo info) {
  std::vector<AlgorithmInfo> infos;
  infos.push_back(std::move(info));
  register_algorithms(std::move(infos));
}

void register_algorithms(std::vector<AlgorithmInfo> infos) {
  for (const auto& info : infos) check_info(info);
  auto& r = registry();
  const std::lock_guard lock(r.mutex);
  std::set<std::string_view> taken;
  for (const auto& info : r.algorithms) taken.insert(info.name);
  for (const auto& info : infos)
    if (!taken.insert(info.name).second)
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("an algorithm named '{}' is registered already", info.name));
  for (auto& info : infos) r.algorithms.push_back(std::move(info));
}

std::vector<std::reference_wrapper<const AlgorithmInfo>> registered_algorithms() {
  load_configured_plugins();
  auto& r = registry();
  const std::lock_guard lock(r.mutex);
  return {r.algorithms.begin(), r.algorithms.end()};
}

const AlgorithmInfo& find_algorithm(std::string_view name) {
  if (is_plan_file(name))
    throw Error(ErrorCode::bad_input,
                fmt::format("{} is a plan file: it is no algorithm that could be made for other "
                            "requests, or be part of another",
                            quote(name, longest_path)));
  const auto algorithms = registered_algorithms();
  std::vector<std::string_view> names;
  for (const AlgorithmInfo& info : algorithms) {
    if (info.name == name) return info;
    names.emplace_back(info.name);
  }
  throw Error(ErrorCode::bad_input, fmt::format("there is no algorithm '{}'{}: there are {}", name,
                                                did_you_mean(name, names), fmt::join(names, ", ")));
}

Algorithm make_algorithm(const Spec& spec, const Request& request) {
  validate(request);
  const auto& info = find_algorithm(spec.name);
  const auto& served = info.collectives;
  if (std::find(served.begin(), served.end(), request.collective) == served.end())
    throw Error(ErrorCode::unsupported,
                fmt::format("{} does not do {}", spec.name, to_string(request.collective)));
  Algorithm made =
      guarded(spec.name, [&] { return info.make(request, Parameters(canonical(info, spec))); });
  check_made(info, made);
  return made;
}

/// Where the ops come from: an algorithm that writes them, or a plan file that holds them.
struct PlanStream::State {
  virtual ~State() = default;
  [[nodiscard]] virtual const Request& request() const = 0;
  [[nodiscard]] virtual const Shape& shape() const = 0;
  virtual const Op* next() = 0;
  [[nodiscard]] virtual const std::vector<std::vector<ScratchSlot>>& slots() const = 0;

  std::string spec;  // canonical
};

struct PlanStream::Written final : State {
  Written(const Spec& given, const Request& wanted)
      : algorithm(make_algorithm(given, wanted)),
        settled(canonical(find_algorithm(given.name), given)),
        builder(wanted, shape_for(Parameters(settled), algorithm), algorithm.lanes),
        ops(wanted.ranks == 1 ? keep(Group(builder)) : guarded(to_string(settled), [&] {
          return algorithm.write(Group(builder));
        })) {
    spec = to_string(settled);
  }
  [[nodiscard]] const Request& request() const override { return builder.request(); }
  [[nodiscard]] const Shape& shape() const override { return builder.shape(); }
  const Op* next() override {
    return guarded(spec, [&] { return ops.next(); });
  }
  [[nodiscard]] const std::vector<std::vector<ScratchSlot>>& slots() const override {
    return builder.slots();
  }

  Algorithm algorithm;
  Spec settled;
  Builder builder;
  OpStream ops;
};

struct PlanStream::Read final : State {
  Read(const Spec& given, const Request& wanted) : plan(plan_of_file(given.name, wanted)) {
    spec = given.name;
    for (int rank = 0; rank < plan->ranks(); ++rank) {
      const auto of_rank = plan->scratch(rank);
      scratch.emplace_back(of_rank.begin(), of_rank.end());
    }
  }
  [[nodiscard]] const Request& request() const override { return plan->request(); }
  [[nodiscard]] const Shape& shape() const override { return plan->shape(); }
  const Op* next() override {
    if (index == plan->size()) return nullptr;
    op = plan->op(index++);
    return &op;
  }
  [[nodiscard]] const std::vector<std::vector<ScratchSlot>>& slots() const override {
    return scratch;
  }

  std::shared_ptr<const Plan> plan;
  std::vector<std::vector<ScratchSlot>> scratch;
  std::size_t index = 0;
  Op op;
};

PlanStream::PlanStream(const Spec& spec, const Request& request) {
  if (is_plan_file(spec.name))
    state_ = std::make_unique<Read>(spec, request);
  else
    state_ = std::make_unique<Written>(spec, request);
}
PlanStream::PlanStream(PlanStream&&) noexcept = default;
PlanStream::~PlanStream() = default;

const Request& PlanStream::request() const { return state_->request(); }
const Shape& PlanStream::shape() const { return state_->shape(); }
const std::string& PlanStream::spec() const { return state_->spec; }
const Op* PlanStream::next() { return state_->next(); }
const std::vector<std::vector<ScratchSlot>>& PlanStream::slots() const { return state_->slots(); }

namespace {

Plan store(const Spec& spec, const Request& request, std::size_t most_locations) {
  std::size_t locations = 0;
  return *stored_plan(spec, request, [&](const Plan& so_far, const Op& op) {
    locations += op.sources.size() + op.destinations.size();
    if (locations > most_locations)
      throw Error(ErrorCode::bad_input,
                  fmt::format("{}: its ops up to {} have more than {} locations", so_far.spec(),
                              so_far.size(), most_locations));
    return true;
  });
}

}  // namespace

Plan make_plan(const Spec& spec, const Request& request) {
  return store(spec, request, std::numeric_limits<std::size_t>::max());
}

Plan make_plan(std::string_view spec, const Request& request) {
  return make_plan(parse_spec(spec), request);
}

Plan make_bounded_plan(std::string_view spec, const Request& request) {
  return store(parse_spec(spec), request, most_run_locations);
}

}  // namespace ringside
