// SPDX-License-Identifier: MIT
/// What a machine is with something changed, in words.
#include "ringside/topology/model/what_if.hpp"

#include <gtest/gtest.h>

#include "machines.hpp"
#include "ringside/base/error.hpp"
#include "ringside/topology/presets/presets.hpp"

namespace ringside::tests {
namespace {

MachineDescription described(Topology topology) {
  LinkModel model = *link_model_for(topology).model;
  return {.topology = std::move(topology), .model = std::move(model), .settings = {}};
}

Machine made(MachineDescription machine) {
  return Machine(std::move(machine.topology), std::move(machine.model), machine.settings);
}

Machine changed(Topology topology, const char* word) {
  return made(with_what_if(described(std::move(topology)), word));
}

Machine given(const char* preset, const char* setting) {
  return made(with_figure(described(*make_preset(preset)), setting));
}

template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

TEST(WhatIf, AcsHalvesASwitch) {
  const double with = transfer_rate(changed(switched_box(2, 4, 5), "acs=on"), both_ways(0, 1));
  const double without = transfer_rate(changed(switched_box(2, 4, 5), "acs=off"), both_ways(0, 1));
  EXPECT_NEAR(with / without, 0.5, 0.02);
}

TEST(WhatIf, WithoutPeerAccessEverythingIsStaged) {
  const auto machine = changed(switched_box(2, 2, 4), "p2p=off");
  EXPECT_FALSE(machine.peer_access(0, 1));
  EXPECT_LT(transfer_rate(machine, copies({{0, 2}})), 22);
}

TEST(WhatIf, CollapseNeedsThreeRoots) {
  const auto collapsed = changed(switched_box(3, 2, 5), "collapse=on");
  EXPECT_LT(transfer_rate(collapsed, copies({{0, 2}, {1, 4}})), 5);
  const auto two = changed(switched_box(2, 2, 5), "collapse=on");
  EXPECT_GT(transfer_rate(two, copies({{0, 2}, {1, 3}})), 50);
}

TEST(WhatIf, ASlotWithFewerLanesIsSlowerInProportion) {
  const auto machine = changed(*make_preset("4gpu-pcie4-one-root"), "slot:GPU2=x8");
  EXPECT_NEAR(transfer_rate(machine, copies({{2, 0}})), 13, 0.1);
  EXPECT_NEAR(transfer_rate(machine, copies({{1, 0}})), 26, 0.1);
  const auto stated = changed(*make_preset("8gpu-two-sockets"), "slot:GPU0=x4");
  EXPECT_NEAR(transfer_rate(stated, copies({{0, 1}})), 24 / 4.0 / 1.2, 0.1)
      << "a bandwidth that the topology states goes with the lanes; 6/5 through an Intel root";
}

TEST(WhatIf, AnotherGenerationOfOneOrAll) {
  const auto one = changed(*make_preset("4gpu-pcie4-two-switches"), "pcie:GPU3=gen3");
  EXPECT_NEAR(transfer_rate(one, copies({{3, 2}})), 12.5, 0.1);
  EXPECT_NEAR(transfer_rate(one, copies({{0, 1}})), 26, 0.1);
  const auto all = changed(*make_preset("8gpu-two-sockets"), "pcie=gen3");
  EXPECT_NEAR(transfer_rate(all, copies({{0, 1}})), 12.5 / 1.2, 0.1);
}

TEST(WhatIf, LinksAndGpusGo) {
  EXPECT_THROW(changed(*make_preset("4gpu-pcie4-two-sockets"), "socket=off"), Error);
  const auto pairs = changed(*make_preset("4gpu-nvlink-pairs"), "link:GPU1-GPU0=off");
  EXPECT_NEAR(transfer_rate(pairs, copies({{0, 1}})), 26, 0.1);
  EXPECT_GT(transfer_rate(pairs, copies({{2, 3}})), 45);
  const auto seven = changed(*make_preset("dgx-a100"), "remove:GPU2");
  EXPECT_EQ(seven.gpus(), 7);
  EXPECT_EQ(seven.topology().node(seven.topology().gpus()[2]).name, "GPU3");
}

TEST(WhatIf, PeerAccessCanBeOnWhereTheClassHasNone) {
  const auto cloud = *make_preset("g5.12xlarge");
  EXPECT_FALSE(made(described(cloud)).peer_access(0, 1));
  EXPECT_TRUE(changed(cloud, "p2p=on").peer_access(0, 1));
  Topology forbidden = *make_preset("4gpu-pcie4-one-root");
  const auto gpus = forbidden.gpus();
  forbidden.peer_access.push_back(
      {.from = gpus[0], .to = gpus[1], .capability = "", .status = "GNS"});
  EXPECT_FALSE(made(described(forbidden)).peer_access(0, 1));
  EXPECT_TRUE(changed(forbidden, "p2p=on").peer_access(0, 1));
}

TEST(WhatIf, AGpuMayBeNamedByItsNumber) {
  const auto machine = changed(*make_preset("4gpu-pcie4-one-root"), "slot:2=x8");
  EXPECT_NEAR(transfer_rate(machine, copies({{2, 0}})), 13, 0.1);
}

TEST(WhatIf, WhatChangesNothingIsSeen) {
  const auto alike = [](const char* preset, const char* word) {
    const auto machine = described(*make_preset(preset));
    return act_alike(made(machine), made(with_what_if(machine, word)));
  };
  EXPECT_TRUE(alike("dgx-a100", "p2p=off")) << "all over NVLink";
  EXPECT_TRUE(alike("4gpu-pcie4-one-root", "acs=on")) << "no switch";
  EXPECT_TRUE(alike("4gpu-pcie4-two-switches", "collapse=on")) << "two roots only";
  EXPECT_TRUE(alike("4gpu-pcie4-one-root", "slot:GPU1=x16"));
  EXPECT_TRUE(alike("4gpu-pcie4-one-root", "copies=kernel"));
  EXPECT_FALSE(alike("4gpu-pcie4-two-switches", "p2p=off"));
  EXPECT_FALSE(alike("4gpu-pcie4-two-switches", "acs=on"));
  EXPECT_FALSE(alike("4gpu-pcie4-one-root", "slot:GPU1=x8"));
  EXPECT_FALSE(alike("4gpu-pcie4-one-root", "copies=engine"));
  EXPECT_FALSE(alike("4gpu-pcie4-one-root", "pcie:GPU0=gen3"));
}

TEST(WhatIf, ContradictionsAreRefused) {
  const auto check = [](std::vector<std::string> words) { check_what_ifs(words); };
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"p2p=on", "p2p=off"},
                                             {"acs=on", "slot:GPU0=x4", "acs=off"},
                                             {"slot:GPU3=x4", "slot:3=x8"},
                                             {"pcie=gen3", "pcie=gen4"}})
    EXPECT_NE(error_of([&] { check(words); }).find("contradict"), std::string::npos);
  EXPECT_NO_THROW(
      check({"pcie=gen3", "pcie:GPU3=gen4", "slot:GPU2=x4", "slot:GPU3=x8", "p2p=off", "p2p=off"}));
}

TEST(WhatIf, LanesAreAPowerOfTwo) {
  for (const char* word : {"slot:GPU0=x3", "slot:GPU0=x64", "slot:GPU0=x12"})
    EXPECT_NE(error_of([&] {
                (void)changed(*make_preset("4gpu-pcie4-one-root"), word);
              }).find("1, 2, 4, 8, 16, 32"),
              std::string::npos);
}

TEST(WhatIf, WhoMovesCopies) {
  EXPECT_EQ(changed(*make_preset("dgx-a100"), "copies=engine").mover(), Mover::copy_engine);
  EXPECT_EQ(changed(*make_preset("dgx-a100"), "copies=kernel").mover(), Mover::kernel);
}

TEST(WhatIf, AnUnknownWordListsAllOnOneLine) {
  for (const char* word : {"p2p", "p2p=maybe", "slot=x4", "slot:GPU0=4", "pcie=gen9", "", "=",
                           "remove:GPU0=x", "copies=both", "socket=on", "turbo=on"}) {
    const auto message = error_of([&] { (void)changed(*make_preset("dgx-a100"), word); });
    for (const auto& known : what_if_words())
      EXPECT_NE(message.find(known.form), std::string::npos) << word << ": " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
}

TEST(WhatIf, AnUnknownDeviceNamesTheNearest) {
  EXPECT_NE(error_of([] { (void)changed(*make_preset("dgx-a100"), "slot:GPU11=x4"); }).find("GPU1"),
            std::string::npos);
  EXPECT_NE(error_of([] {
              (void)changed(*make_preset("4gpu-pcie4-two-switches"), "link:GPU3-switch9=off");
            }).find("GPU3-switch1"),
            std::string::npos);
}

TEST(Settings, AFigureOfTheModel) {
  EXPECT_NEAR(
      transfer_rate(given("4gpu-pcie4-one-root", "pcie4.x16.bandwidth=22"), copies({{0, 1}})), 22,
      0.1);
  EXPECT_NEAR(
      transfer_rate(given("4gpu-pcie4-x4-slot", "pcie4.x4.bandwidth=3.9"), copies({{3, 1}})), 3.9,
      0.01);
}

TEST(Settings, ALinkByItsEndsInBothDirections) {
  const auto machine = given("4gpu-pcie4-two-switches", "GPU3-switch1=6");
  EXPECT_NEAR(transfer_rate(machine, copies({{3, 2}})), 6, 0.01);
  EXPECT_NEAR(transfer_rate(machine, copies({{2, 3}})), 6, 0.01);
  const auto nvlink = given("dgx-a100", "nvswitch0-GPU3=100");
  EXPECT_NEAR(transfer_rate(nvlink, copies({{3, 2}})), 100, 0.1) << "of data, not of the line";
}

TEST(Settings, AnUnknownNameIsToldWithTheNearest) {
  EXPECT_NE(error_of([] {
              (void)given("dgx-a100", "pcie4.x16.bandwith=22");
            }).find("pcie4.x16.bandwidth"),
            std::string::npos);
  EXPECT_NE(error_of([] {
              (void)given("4gpu-pcie4-two-switches", "GPU3-switch7=22");
            }).find("GPU3-switch1"),
            std::string::npos);
  for (const char* text : {"pcie.kernel", "pcie.kernel=", "pcie.kernel=fast", "pcie.kernel=-1"})
    EXPECT_NE(error_of([&] { (void)given("dgx-a100", text); }).find("NAME=NUMBER"),
              std::string::npos);
}

TEST(Settings, WhatNoFigureCanBeIsRefusedInWords) {
  const auto refused = [](const char* setting) {
    return error_of([&] { (void)given("4gpu-pcie4-two-switches", setting); });
  };
  for (const auto& [setting, words] : std::vector<std::pair<const char*, const char*>>{
           {"pcie.kernel=7", "from 0.001 to 1"},
           {"pcie.both_ways=0", "from 0.001 to 1"},
           {"copies.by_engine=0.5", "0 (no) or 1 (yes)"},
           {"pcie.peer_access=2", "0 (no) or 1 (yes)"},
           {"pcie_generation.default=9", "from 1 to 6"},
           {"switch.collapse_from=1.5", "whole"},
           {"pcie4.x16.bandwidth=0", "GB/s"},
           {"pcie4.x8.bandwidth=1e9", "GB/s"},
           {"memory.default=1e6", "GB/s"},
           {"overhead.op=1e9", "us"},
           {"GPU3-switch1=1e-6", "GB/s"},
           {"GPU3-switch1=1e6", "GB/s"}}) {
    EXPECT_NE(refused(setting).find(words), std::string::npos) << refused(setting);
    EXPECT_NE(refused(setting).find(setting), std::string::npos) << refused(setting);
  }
  for (const char* setting : {"pcie.kernel=1", "copies.by_engine=1", "overhead.op=0"})
    EXPECT_NO_THROW((void)given("4gpu-pcie4-two-switches", setting));
}

}  // namespace
}  // namespace ringside::tests
