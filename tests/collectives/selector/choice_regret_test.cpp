// SPDX-License-Identifier: MIT
/// The pruned search against the exact one among all orders and equal groups of the ranks: how much
/// longer its choice takes. bench/results has all sizes on all machines of up to 8 GPUs.
#include <gtest/gtest.h>

#include "choice_tables.hpp"
#include "preset_machines.hpp"

namespace ringside::tests {
namespace {

constexpr double most_regret = 0.05;

void expect_little_regret(std::string_view preset, const std::vector<std::uint64_t>& sizes) {
  const Machine machine = machine_of(preset);
  Predictor::Settings pruned, exact;
  pruned.others = exact.others = false;
  exact.breadth = Breadth::all;
  exact.search = {.tolerance = 0.005, .tie = 0, .extrapolate = false};
  Predictor picks(machine, {}, pruned), best(machine, {}, exact);
  for (const std::uint64_t bytes : sizes) {
    const Question question = all_reduce_of(machine, bytes);
    const auto picked = picks.choose(question);
    const auto optimum = best.choose(question);
    EXPECT_LE(picked.seconds, optimum.seconds * (1 + most_regret))
        << preset << ", " << bytes << " bytes: " << picked.spec << " instead of " << optimum.spec;
  }
}

TEST(ChoiceRegret, OnMachinesOfFourGpusIsSmall) {
  for (const auto& preset : preset_names())
    if (machine_of(preset).gpus() == 4) expect_little_regret(preset, table_sizes(4));
}

TEST(ChoiceRegret, OnMachinesOfEightGpusIsSmall) {
  constexpr std::uint64_t kib = 1024;
  for (const auto* preset : {"8gpu-two-switches", "8gpu-two-sockets", "dgx-h100"})
    expect_little_regret(preset, {32 * kib, 1024 * kib});
}

}  // namespace
}  // namespace ringside::tests
