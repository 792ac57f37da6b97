// SPDX-License-Identifier: MIT
#include "ringside/topology/presets/presets.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/topology/presets/makers.hpp"

namespace ringside {
namespace {

constexpr std::string_view fat_tree_name = "fat-tree:boxes=";
constexpr int most_boxes = 512;

struct Recipe {
  Preset preset;
  Topology (*make)();
};

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> all = {
      {{"4gpu-pcie4-one-root", "4 cards in PCIe 4.0 x16 slots of one host bridge",
        "class PHB between all, as posted for desktop and Threadripper boards"},
       preset::four_on_one_root},
      {{"4gpu-pcie4-two-switches", "4 cards, two behind each of two PCIe 4.0 switches",
        "classes PIX and PHB, as posted for 8-GPU boxes with switches of 2 (kubernetes#53497)"},
       preset::four_on_two_switches},
      {{"4gpu-pcie4-x4-slot", "4 cards on one host bridge, the last in an x4 slot",
        "tinygrad/open-gpu-kernel-modules#6: one of the cards at 3.9 GB/s with every peer"},
       preset::four_with_one_in_x4},
      {{"4gpu-pcie4-two-sockets", "4 cards, two on each of two sockets; socket link 10 GB/s",
        "classes PHB and SYS as posted; 10 GB/s is NCCL's figure for Intel processors of 2017 to "
        "2021"},
       preset::four_on_two_sockets},
      {{"4gpu-nvlink-pairs", "4 RTX 3090 on one host bridge, in two pairs with NVLink bridges",
        "NV4 and PHB, as posted in aikitoria/open-gpu-kernel-modules#18"},
       preset::four_in_nvlink_pairs},
      {{"8gpu-two-switches", "8 cards, four behind each of two PCIe 4.0 switches of one socket",
        "classes PIX and PHB, as posted in voipmonitor/rtx6kpro (there PCIe 5.0)"},
       preset::eight_on_two_switches},
      {{"8gpu-two-sockets",
        "8 cards, four on each of two sockets; GPU links 24, socket link 10 GB/s",
        "NCCL's view of a box with 8 RTX 4090, NVIDIA/nccl-tests#307"},
       preset::eight_on_two_sockets},
      {{"dgx1v", "NVIDIA DGX-1: 8 V100 in a hybrid cube mesh, two per PCIe 3.0 switch",
        "matrix of a DGX-1 published by Microway; NVIDIA DGX-1 system architecture white paper"},
       preset::dgx1v},
      {{"dgx-a100", "NVIDIA DGX A100: 8 A100 on NVSwitch, 8 NICs of 200 Gb/s",
        "matrix in NVIDIA/nccl#1505; NVIDIA DGX A100 user guide"},
       preset::dgx_a100},
      {{"dgx-h100", "NVIDIA DGX H100: 8 H100 on NVSwitch, 8 NICs of 400 Gb/s",
        "NVIDIA DGX H100 user guide; classes PIX, NODE and SYS as posted for H100 boxes"},
       preset::dgx_h100},
      {{"g4dn.12xlarge", "AWS: 4 T4 in a guest",
        "AWS instance types; that all pairs are PHB is assumed, the lanes are not known"},
       preset::g4dn_12xlarge},
      {{"g5.12xlarge", "AWS: 4 A10G in a guest",
        "AWS instance types; that all pairs are PHB is assumed, the lanes are not known"},
       preset::g5_12xlarge},
      {{"p2.16xlarge", "AWS: 8 K80 boards (16 GPUs) in a guest",
        "AWS instance types, two GPUs and a switch on a K80 board; PHB between boards is assumed"},
       preset::p2_16xlarge},
      {{"p3.8xlarge", "AWS: 4 V100 in a guest, NVLink",
        "matrix in the HUVM artifact; the PCIe classes, which NVLink hides, are assumed"},
       preset::p3_8xlarge},
      {{"p3.16xlarge", "AWS: 8 V100 in a guest, hybrid cube mesh; the guest sees no sockets",
        "posted matrix of such a guest (all pairs without NVLink are PHB)"},
       preset::p3_16xlarge},
      {{"p4d", "AWS p4d.24xlarge: 8 A100 on NVSwitch, 4 NICs, PCIe as NCCL is told",
        "topology/p4d-24xl-topo.xml of aws/aws-ofi-nccl"},
       preset::p4d},
      {{"p5", "AWS p5.48xlarge: 8 H100 on NVSwitch, 32 NICs of 100 Gb/s",
        "AWS instance types; the places of the NICs are those of HGX H100 boards"},
       preset::p5},
      {{"nvl72", "NVIDIA GB200 NVL72: 18 trays of 4 GPUs on one NVLink fabric",
        "NVIDIA GB200 NVL72 product page: 18 links of NVLink 5 a GPU"},
       preset::nvl72},
  };
  return all;
}

Topology make_fat_tree(std::string_view count) {
  const auto boxes = parse_int(count, 1, most_boxes);
  if (!boxes)
    throw Error(ErrorCode::bad_input, fmt::format("{}N: N is a number from 1 to {}, not {}",
                                                  fat_tree_name, most_boxes, quote(count)));
  return preset::fat_tree(static_cast<int>(*boxes));
}

}  // namespace

const std::vector<Preset>& presets() {
  static const std::vector<Preset> all = [] {
    std::vector<Preset> list;
    for (const auto& recipe : recipes()) list.push_back(recipe.preset);
    list.push_back({"fat-tree:boxes=N",
                    "N boxes like dgx-a100, 8 NICs of 25 GB/s each, a switch per NIC and a spine",
                    "rail-optimised fat tree as in NVIDIA's DGX SuperPOD reference architecture"});
    return list;
  }();
  return all;
}

std::optional<Topology> make_preset(std::string_view name) {
  std::optional<Topology> topology;
  if (name.starts_with(fat_tree_name)) topology = make_fat_tree(name.substr(fat_tree_name.size()));
  for (const auto& recipe : recipes())
    if (recipe.preset.name == name) topology = recipe.make();
  if (topology) topology->name = name;
  return topology;
}

}  // namespace ringside
