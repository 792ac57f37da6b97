// SPDX-License-Identifier: MIT
#include "ringside/topology/diagnose/rules.hpp"

namespace ringside {

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = {
      acs_redirect_rule(),
      peer_hang_rule(),
      wrong_data_rule(),
      iommu_rule(),
      no_peer_access_rule(),
      false_peer_access_rule(),
      small_bar1_rule(),
      virtual_machine_rule(),
      slow_peer_access_rule(),
      unused_peer_access_rule(),
      group_collapse_rule(),
      slow_staging_rule(),
      shared_uplink_staging_rule(),
      host_memory_limit_rule(),
      nodes_per_socket_rule(),
      wrong_node_rule(),
      lone_gpu_rule(),
      sockets_inside_host_rule(),
      small_shared_memory_rule(),
      narrow_link_rule(),
      slow_generation_rule(),
      signal_errors_rule(),
      shared_uplink_rule(),
      slow_card_ends_peer_access_rule(),
      link_power_rule(),
      partial_bridge_rule(),
      ring_leaves_nvlink_rule(),
      unused_nvlink_rule(),
      mesh_subset_rule(),
      hidden_topology_rule(),
      processor_masks_rule(),
      misleading_classes_rule(),
      far_nic_rule(),
      missing_infiniband_rule(),
      rate_cliff_rule(),
      overloaded_gpu_rule(),
      single_rank_rule(),
      above_the_wire_rule(),
      mixed_runs_rule(),
      known_bugs_rule(),
      unstable_rates_rule(),
      ring_order_rule(),
  };
  return all;
}

std::vector<Diagnosis> apply(const Rule& rule, const Evidence& evidence) {
  if (rule.find == nullptr) return {};
  auto found = rule.find(evidence);
  for (auto& diagnosis : found) {
    diagnosis.id = rule.id;
    if (diagnosis.title.empty()) diagnosis.title = rule.title;
    diagnosis.source = rule.source;
  }
  return found;
}

}  // namespace ringside
