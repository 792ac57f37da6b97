// SPDX-License-Identifier: MIT
/// Whole boxes: what is found in each story of tests/data/diagnose/stories, and that nothing is
/// certain or likely where nothing is wrong, over all real inputs.
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/tests/topology/diagnose/cases.hpp"
#include "ringside/topology/diagnose/diagnose.hpp"
#include "ringside/topology/presets/presets.hpp"

namespace ringside::tests {
namespace {

namespace fs = std::filesystem;

using Ids = std::set<std::string>;

/// Of what is certain or likely.
Ids found_in(const Evidence& evidence) {
  Ids ids;
  for (const auto& diagnosis : diagnose(evidence).found)
    if (diagnosis.certainty != Certainty::possible) ids.insert(diagnosis.id);
  return ids;
}

struct Story {
  std::string folder;
  Ids found;
};

/// Names of stories begin with their numbers, so a message says which.
TEST(Stories, EachHasItsCauseAndNothingElse) {
  const std::vector<Story> stories = {
      {"1-4x4090-without-p2p", {"D05", "D12"}}, {"2-one-card-in-an-x4-slot", {"D20"}},
      {"3-acs-behind-one-switch", {"D01"}},     {"4-peer-access-not-used", {"D10"}},
      {"5-wrong-ring-order", {"D42"}},          {"6-nvlink-pairs-left-by-the-ring", {"D27"}},
      {"7-virtual-machine", {"D30"}},           {"8-healthy-dgx", {}},
  };
  for (const auto& [folder, found] : stories)
    EXPECT_EQ(found_in(evidence_in(data_folder() / "diagnose/stories" / folder)), found) << folder;
}

/// Real inputs in which something is wrong, or in the way. In all others nothing may be found.
const std::map<std::string, Ids>& known_findings() {
  static const std::map<std::string, Ids> known = {
      {"topo/075-2x2080ti-pix-p2p-ns", {"D05"}},
      {"topo/077-2x5090-phb-p2p-gns", {"D05"}},
      {"topo/078-2x5090-p2p-spaces", {"D05"}},
      {"topo/106-nccl-log-shm-small-container-2.9", {"D19"}},
      {"pairs/038-2x2080ti-pix-p2pbw", {"D05"}},
      {"perf/002-16rank-rtx6000d-unstable", {"D41"}},
      {"perf/005-2node-1xa100pcie-ib-cliff", {"D35"}},
      {"perf/033-two-runs-interleaved-rows", {"D39"}},
  };
  return known;
}

TEST(RealInputs, NothingIsCertainOrLikelyWhereNothingIsWrong) {
  int judged = 0, refused = 0;
  for (const char* folder : {"topo", "perf", "pairs"})
    for (const auto& entry : fs::directory_iterator(data_folder() / "corpus" / folder)) {
      if (entry.path().extension() != ".txt") continue;
      const std::string name = std::string(folder) + "/" + entry.path().stem().string();
      try {
        const auto known = known_findings().find(name);
        EXPECT_EQ(found_in(evidence_in(entry.path())),
                  known == known_findings().end() ? Ids{} : known->second)
            << name;
        ++judged;
      } catch (const Error&) {
        ++refused;
      }
    }
  std::cout << judged << " real inputs judged, " << refused << " refused\n";
  EXPECT_GT(judged, 150);
  EXPECT_LT(refused, 8);
}

/// Machines of which nothing is known but how they are built.
TEST(RealInputs, PresetsAreHealthyButForTheirNarrowSlot) {
  for (const auto& preset : presets()) {
    const std::string name(preset.name);
    if (name.find('=') != std::string::npos || name.find("x4-slot") != std::string::npos) continue;
    EXPECT_EQ(found_in(evidence_of({.topology = make_preset(name).value(), .findings = {}})), Ids{})
        << name;
  }
}

}  // namespace
}  // namespace ringside::tests
