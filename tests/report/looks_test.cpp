// SPDX-License-Identifier: MIT
/// Colours and markers of algorithms.
#include "ringside/tools/report/looks.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "ringside/collectives/algorithm.hpp"

namespace ringside::tests {
namespace {

TEST(Looks, EveryAlgorithmHasALookOfItsOwn) {
  report::Looks looks;
  std::set<report::Look> seen;
  for (const AlgorithmInfo& info : registered_algorithms())
    EXPECT_TRUE(seen.insert(looks.of(info.name)).second) << info.name;
  for (const char* name :
       {"openmpi", "openmpi-tuned", "openmpi-nocma", "mpich", "gloo", "nccl", "auto"})
    EXPECT_TRUE(seen.insert(looks.of(name)).second) << name;
}

TEST(Looks, DoNotDependOnWhatElseIsInTheReport) {
  report::Looks one, other;
  (void)other.of("ring:slices=8");
  (void)other.of("my_plugin");
  EXPECT_EQ(one.of("ring"), other.of("ring"));
  EXPECT_EQ(other.of("ring"), other.of("ring"));
}

TEST(Looks, ParametersChangeTheMarkerAndNotTheColour) {
  report::Looks looks;
  std::set<report::Look> seen = {looks.of("ring"), looks.of("bidirectional_ring")};
  for (const char* spec : {"ring:slices=2", "ring:slices=4", "ring:slices=8"}) {
    const auto look = looks.of(spec);
    EXPECT_EQ(look.colour, looks.of("ring").colour);
    EXPECT_TRUE(seen.insert(look).second) << spec;
  }
}

TEST(Looks, StayInsideOfThePalette) {
  report::Looks looks;
  for (int i = 0; i < 100; ++i) {
    const auto look = looks.of("unknown" + std::to_string(i));
    EXPECT_TRUE(look.colour >= 0 && look.colour < report::palette_size);
    EXPECT_TRUE(look.marker >= 0 && look.marker < report::marker_count);
  }
}

}  // namespace
}  // namespace ringside::tests
