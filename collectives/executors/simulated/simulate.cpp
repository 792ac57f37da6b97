// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/simulated/simulate.hpp"

#include <fmt/format.h>

#include <numeric>

#include "ringside/base/error.hpp"
#include "ringside/collectives/executors/simulated/access.hpp"
#include "ringside/collectives/executors/simulated/execution.hpp"
#include "ringside/collectives/lower.hpp"
#include "ringside/collectives/stored_plan.hpp"

namespace ringside {
namespace {

using simulated::Execution;
using simulated::OpSource;

/// A plan that must be lowered is stored, at about 100 bytes an op, twice.
constexpr std::size_t most_stored_ops = 4'000'000;

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorCode::invalid_argument, why); }

/// The call with a GPU for each rank, and checked.
SimulatedCall settled(const Machine& machine, const Request& request, SimulatedCall call) {
  const auto ranks = static_cast<std::size_t>(request.ranks);
  if (call.gpus.empty()) {
    if (request.ranks > machine.gpus())
      refuse(fmt::format("{} ranks on a machine with {} GPUs: say which rank is on which GPU",
                         request.ranks, machine.gpus()));
    call.gpus.resize(ranks);
    std::iota(call.gpus.begin(), call.gpus.end(), 0);
  }
  if (call.gpus.size() != ranks)
    refuse(fmt::format("GPUs of {} ranks for a request of {}", call.gpus.size(), ranks));
  for (const int gpu : call.gpus)
    if (gpu < 0 || gpu >= machine.gpus())
      refuse(fmt::format("there is no GPU {} in a machine with {}", gpu, machine.gpus()));
  const auto blocks = static_cast<std::size_t>(block_count(request));
  if (call.block_elements.size() != blocks)
    refuse(fmt::format("{} block lengths for {} blocks", call.block_elements.size(), blocks));
  if (call.element_bytes == 0) refuse("elements of no bytes");
  return call;
}

Plan stored(const Spec& spec, const Request& request) {
  return *stored_plan(spec, request, [](const Plan& so_far, const Op& /*op*/) {
    if (so_far.size() == most_stored_ops)
      throw Error(ErrorCode::unsupported,
                  fmt::format("{} on {} ranks has more ops than can be lowered here ({}), and some "
                              "GPUs of the machine do not reach each other",
                              so_far.spec(), so_far.ranks(), most_stored_ops));
    return true;
  });
}

}  // namespace

Simulation simulate(const Machine& machine, const Spec& spec, const Request& request,
                    const SimulatedCall& call, const SimulationWanted& wanted) {
  validate(request);
  const SimulatedCall complete = settled(machine, request, call);
  OpSource source(spec, request);
  if (auto result = Execution(machine, source, complete, wanted).run()) return std::move(*result);
  return simulate(machine, lower(stored(spec, request), access_of(machine, complete.gpus)),
                  complete, wanted);
}

Simulation simulate(const Machine& machine, const Plan& plan, const SimulatedCall& call,
                    const SimulationWanted& wanted) {
  check_structure(plan);
  const SimulatedCall complete = settled(machine, plan.request(), call);
  OpSource source(plan);
  auto result = Execution(machine, source, complete, wanted).run();
  if (!result)
    refuse(fmt::format("the plan {} does what the machine cannot do directly: lower it first",
                       plan.spec()));
  return std::move(*result);
}

}  // namespace ringside
