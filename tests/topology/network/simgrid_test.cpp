// SPDX-License-Identifier: MIT
/// The flow engine against SimGrid on random cases. Argument: how many (1,000).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "simgrid_case.hpp"

namespace ringside::tests {
namespace {

int cases_wanted = 1000;

TEST(FlowEngine, RandomCasesEndWhenSimGridSays) {
  std::vector<Case> cases;
  for (int seed = 0; seed < cases_wanted; ++seed) {
    // SimGrid counts bytes in whole numbers.
    Case one = random_case(static_cast<std::uint64_t>(seed),
                           {.resources = 12, .flows = 40, .whole_weights = true});
    for (CaseFlow& flow : one.flows) flow.bytes = std::floor(flow.bytes);
    cases.push_back(one);
  }
  const std::vector<std::vector<double>> expected = times_of_simgrid(cases);

  double worst = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::vector<double> times = times_of_engine(cases[i]);
    const double makespan = *std::ranges::max_element(times);
    const double theirs = *std::ranges::max_element(expected[i]);
    ASSERT_NEAR(makespan / theirs, 1, 1e-6) << "case " << i;
    for (std::size_t f = 0; f < times.size(); ++f) {
      const double difference = std::abs(times[f] / expected[i][f] - 1);
      ASSERT_LE(difference, 1e-6) << "case " << i << ", flow " << f;
      worst = std::max(worst, difference);
    }
  }
  fmt::print("{} cases, largest relative difference of the end of a flow: {:.1e}\n", cases.size(),
             worst);
}

}  // namespace
}  // namespace ringside::tests

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1) ringside::tests::cases_wanted = std::stoi(argv[1]);
  return RUN_ALL_TESTS();
}
