// SPDX-License-Identifier: MIT
/// The presets' recipes, by family. The source of each is in the table of presets.cpp.
#pragma once

#include "ringside/topology/graph.hpp"

namespace ringside::preset {

// Cards in slots: pcie_boxes.cpp.
[[nodiscard]] Topology four_on_one_root();
[[nodiscard]] Topology four_on_two_switches();
[[nodiscard]] Topology four_with_one_in_x4();
[[nodiscard]] Topology four_on_two_sockets();
[[nodiscard]] Topology four_in_nvlink_pairs();
[[nodiscard]] Topology eight_on_two_switches();
[[nodiscard]] Topology eight_on_two_sockets();

// Cloud machines as their guests see them: cloud.cpp.
[[nodiscard]] Topology g4dn_12xlarge();
[[nodiscard]] Topology g5_12xlarge();
[[nodiscard]] Topology p2_16xlarge();
[[nodiscard]] Topology p3_8xlarge();
[[nodiscard]] Topology p3_16xlarge();
[[nodiscard]] Topology p4d();
[[nodiscard]] Topology p5();

// NVLink machines and clusters of them: nvlink_boxes.cpp.
[[nodiscard]] Topology dgx1v();
[[nodiscard]] Topology dgx_a100();
[[nodiscard]] Topology dgx_h100();
/// Two sockets with four H100 each, every one on a switch of its own with its NICs.
[[nodiscard]] Topology h100_box(int nics_per_gpu, int megabits_per_second);
[[nodiscard]] Topology nvl72();
[[nodiscard]] Topology fat_tree(int boxes);

}  // namespace ringside::preset
