// SPDX-License-Identifier: MIT
#include "sweeps.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "machines.hpp"
#include "reference.hpp"
#include "ringside/collectives/executors/simulated/simulate.hpp"
#include "ringside/collectives/lower.hpp"
#include "ringside/collectives/selector/request_bounds.hpp"
#include "ringside/tests/collectives/plans_under_test.hpp"
#include "ringside/topology/presets/presets.hpp"

namespace ringside::tests {
namespace {

using test::registered_names;
using test::requests_of;
using test::words;

/// Takes every `stride`-th of what it is asked about.
class Thinning {
 public:
  explicit Thinning(int stride) : stride_(stride) {}
  bool take() { return asked_++ % stride_ == 0; }

 private:
  int stride_;
  int asked_ = 0;
};

/// Blocks that differ in length and that no number of chunks or slices divides; every tenth empty.
std::vector<std::size_t> uneven_blocks(const Request& request, std::size_t elements) {
  std::vector<std::size_t> lengths;
  for (int block = 0; block < block_count(request); ++block)
    lengths.push_back(block % 10 == 9 ? 0 : elements + static_cast<std::size_t>(block) * 37);
  return lengths;
}

std::vector<std::size_t> even_blocks(const Request& request, std::size_t elements) {
  return std::vector<std::size_t>(static_cast<std::size_t>(block_count(request)), elements);
}

SimulatedCall call_of(const Request& request, std::vector<std::size_t> lengths) {
  SimulatedCall call{.block_elements = std::move(lengths), .element_bytes = 4, .gpus = {}};
  call.gpus.resize(static_cast<std::size_t>(request.ranks));
  std::iota(call.gpus.begin(), call.gpus.end(), 0);
  return call;
}

/// Nothing where the algorithm does not serve the request.
std::optional<Simulation> try_simulation(const Machine& machine, const std::string& spec,
                                         const Request& request, const SimulatedCall& call,
                                         const SimulationWanted& wanted) {
  try {
    return simulate(machine, parse_spec(spec), request, call, wanted);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return std::nullopt;
  }
}

void expect_equal_to_reference(const Machine& machine, const std::string& spec,
                               const Request& request, const SimulatedCall& call, bool lowered) {
  const auto simulation = try_simulation(machine, spec, request, call, {.resources = true});
  if (!simulation) return;
  Plan plan = make_plan(spec, request);
  if (lowered) {
    AccessMatrix access(static_cast<std::size_t>(request.ranks),
                        std::vector<Access>(static_cast<std::size_t>(request.ranks), Access::none));
    plan = lower(plan, access);
  }
  const auto expected = reference_simulation(machine, plan, call);
  EXPECT_NEAR(simulation->seconds, expected.seconds, 1e-10 * expected.seconds)
      << words(spec, request);
  EXPECT_EQ(simulation->ops, plan.size() * static_cast<std::size_t>(plan.shape().slices));
  for (std::size_t i = 0; i < expected.resources.size(); ++i)
    ASSERT_NEAR(simulation->resources[i].bytes, expected.resources[i].bytes,
                1e-9 * expected.resources[i].bytes + 1e-6)
        << words(spec, request) << ", " << machine.resources()[i].name;
}

constexpr const char* slicings[] = {"", "slices=3", "slices=4,depth=1", "slices=5,lanes=1",
                                    "slices=4,depth=4,lanes=3"};

/// The preset as it is, without peer access, and with plain copies by copy engines.
std::vector<Machine> variants_of(std::string_view preset) {
  std::vector<Machine> machines;
  machines.push_back(preset_machine(preset));
  machines.push_back(preset_without_peer_access(preset));
  MachineSettings settings;
  settings.mover = Mover::copy_engine;
  machines.emplace_back(machines.front().topology(), machines.front().model(), settings);
  return machines;
}

/// False where the algorithm does not serve the request.
bool keeps_bound(const Machine& machine, const std::string& spec, const Request& request,
                 std::size_t elements) {
  const auto blocks = static_cast<std::size_t>(block_count(request));
  const auto call = call_of(request, even_blocks(request, elements / blocks));
  const auto simulation = try_simulation(machine, spec, request, call, {});
  if (!simulation) return false;
  const std::size_t length = elements / blocks * blocks;
  const double bytes = static_cast<double>(length) * static_cast<double>(call.element_bytes);
  const auto bounds = bounds_for(machine, call.gpus, request, bytes);
  EXPECT_GE(simulation->seconds, bounds.seconds * (1 - 1e-9))
      << machine.topology().name << ", " << words(spec, request) << ", " << elements
      << " elements: " << bounds.bounds.front().reason;
  return true;
}

}  // namespace

void expect_simulations_equal_the_reference(int stride, int least_cases) {
  Thinning thinning(stride);
  int cases = 0;
  const Machine narrow = preset_machine("4gpu-pcie4-x4-slot");
  const Machine idealised = preset_without_overheads("8gpu-two-sockets");
  const Machine apart = preset_without_peer_access("8gpu-two-sockets");
  for (const Request& request : requests_of({2, 3, 4, 8}, 1))
    for (const std::string& name : registered_names(request.collective))
      for (const char* slicing : slicings)
        for (const Machine* machine : {&narrow, &idealised, &apart}) {
          if (request.ranks > machine->gpus() || !thinning.take()) continue;
          const auto call = call_of(request, uneven_blocks(request, 40'007));
          expect_equal_to_reference(*machine, with_parameters(name, slicing), request, call,
                                    machine == &apart);
          if (testing::Test::HasFailure()) return;
          ++cases;
        }
  EXPECT_GE(cases, least_cases);
}

void expect_simulations_keep_the_bounds(int stride, int least_cases) {
  Thinning thinning(stride);
  int cases = 0;
  for (const auto& preset : presets()) {
    if (preset.name.find("boxes=N") != std::string_view::npos) continue;
    for (const Machine& machine : variants_of(preset.name))
      for (const Request& request : requests_of({machine.gpus()}, 1))
        for (const std::string& name : registered_names(request.collective))
          for (const char* slicing : {"", "slices=8"})
            for (const std::size_t elements : {1U << 10U, 1U << 20U, 1U << 26U})
              if (thinning.take() &&
                  keeps_bound(machine, with_parameters(name, slicing), request, elements))
                ++cases;
  }
  EXPECT_GE(cases, least_cases);
}

void expect_many_slices_end(int stride, int least_cases) {
  Thinning thinning(stride);
  int cases = 0;
  for (const auto& preset : presets()) {
    if (preset.name.find("boxes=N") != std::string_view::npos) continue;
    const Machine machine = preset_machine(preset.name);
    const Request request{Collective::all_reduce, machine.gpus(), 0, false};
    for (const int slices : {16, 32, 64, 128, 255, 256, 512})
      for (const std::size_t mebibytes : {64, 100, 256, 600, 768, 1024, 4096, 16384})
        if (thinning.take() && keeps_bound(machine, "double_tree:slices=" + std::to_string(slices),
                                           request, (mebibytes << 20U) / 4))
          ++cases;
  }
  EXPECT_GE(cases, least_cases);
}

}  // namespace ringside::tests
