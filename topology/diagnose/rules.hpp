// SPDX-License-Identifier: MIT
/// The rules by their subjects, one a file in rules/. They are listed in rules.cpp.
#pragma once

#include <optional>

#include "ringside/topology/diagnose/rule.hpp"

namespace ringside {

// D01 to D11: peer access that is blocked, slow, hangs or is wrong.
[[nodiscard]] Rule acs_redirect_rule();
[[nodiscard]] Rule peer_hang_rule();
[[nodiscard]] Rule wrong_data_rule();
[[nodiscard]] Rule iommu_rule();
[[nodiscard]] Rule no_peer_access_rule();
[[nodiscard]] Rule false_peer_access_rule();
[[nodiscard]] Rule small_bar1_rule();
[[nodiscard]] Rule virtual_machine_rule();
[[nodiscard]] Rule slow_peer_access_rule();
[[nodiscard]] Rule unused_peer_access_rule();
[[nodiscard]] Rule group_collapse_rule();

// D12 to D19: data that go through the host.
[[nodiscard]] Rule slow_staging_rule();
[[nodiscard]] Rule shared_uplink_staging_rule();
[[nodiscard]] Rule host_memory_limit_rule();
[[nodiscard]] Rule nodes_per_socket_rule();
[[nodiscard]] Rule wrong_node_rule();
[[nodiscard]] Rule lone_gpu_rule();
[[nodiscard]] Rule sockets_inside_host_rule();
[[nodiscard]] Rule small_shared_memory_rule();

// D20 to D25: links, slots, switches.
[[nodiscard]] Rule narrow_link_rule();
[[nodiscard]] Rule slow_generation_rule();
[[nodiscard]] Rule signal_errors_rule();
[[nodiscard]] Rule shared_uplink_rule();
[[nodiscard]] Rule slow_card_ends_peer_access_rule();
[[nodiscard]] Rule link_power_rule();

// D26 to D29: NVLink that is there, but not enough.
[[nodiscard]] Rule partial_bridge_rule();
[[nodiscard]] Rule ring_leaves_nvlink_rule();
[[nodiscard]] Rule unused_nvlink_rule();
[[nodiscard]] Rule mesh_subset_rule();

// D30 to D32: the report of the topology is wrong.
[[nodiscard]] Rule hidden_topology_rule();
[[nodiscard]] Rule processor_masks_rule();
[[nodiscard]] Rule misleading_classes_rule();

// D33 to D35: between hosts, and between sizes.
[[nodiscard]] Rule far_nic_rule();
[[nodiscard]] Rule missing_infiniband_rule();
[[nodiscard]] Rule rate_cliff_rule();

// D36 to D41: not the fabric.
[[nodiscard]] Rule overloaded_gpu_rule();
[[nodiscard]] Rule single_rank_rule();
[[nodiscard]] Rule above_the_wire_rule();
[[nodiscard]] Rule mixed_runs_rule();
[[nodiscard]] Rule known_bugs_rule();
[[nodiscard]] Rule unstable_rates_rule();

// D42: what no thread of the catalogue names.
[[nodiscard]] Rule ring_order_rule();

/// The line that says that the IOMMU translates addresses, its value in words; nothing where it
/// does not or no input tells.
[[nodiscard]] std::optional<StatedValue> translating_iommu(const Evidence& evidence);

}  // namespace ringside
