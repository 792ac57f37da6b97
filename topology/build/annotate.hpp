// SPDX-License-Identifier: MIT
/// Facts about single devices and links, put where they belong in a topology.
#pragma once

#include <vector>

#include "ringside/topology/graph.hpp"
#include "ringside/topology/readers/finding.hpp"
#include "ringside/topology/readers/link_matrix.hpp"
#include "ringside/topology/readers/lspci.hpp"
#include "ringside/topology/readers/nvlink_status.hpp"
#include "ringside/topology/readers/pcie_status.hpp"
#include "ringside/topology/readers/peer_matrix.hpp"
#include "ringside/topology/readers/rocm.hpp"

namespace ringside {

/// The status of peer access where CUDA's or AMD's tools say no more than that there is none.
constexpr const char* peer_access_refused = "refused";

// All throw Error(bad_input) when the facts are of devices that the topology does not have: then
// the inputs are of different machines.

void add_peer_access(const PeerMatrix& matrix, Topology& topology);

/// Models, and the bandwidth of each NVLink from the rate of a GPU's links.
void add_nvlink_status(const NvlinkStatus& status, Topology& topology,
                       std::vector<Finding>& findings);

/// Bus ids, models, and what the link can do and has. An idle GPU slows its link down, so the
/// generation now is a detail ("pcie_generation_now"), and the link's is the highest that GPU and
/// slot can do together; the width does not change with load. A list of some GPUs stays unplaced,
/// with a note, where the topology knows no addresses.
void add_pcie_status(const std::vector<PcieStatus>& gpus, Topology& topology,
                     std::vector<Finding>& findings);

/// The same from lspci, for devices whose address the topology knows; "acs_redirect" as a detail.
void add_lspci(const LspciLinks& links, Topology& topology);

/// rocm-smi's tables as a matrix: XGMI pairs, and NUMA nodes. Of PCIe they tell what is in
/// different NUMA nodes (3 hops), not how near the others are.
[[nodiscard]] LinkMatrix matrix_of(const RocmTopology& rocm);

/// What AMD's tools tell beside: addresses, whether GPUs reach each other, bandwidths of xGMI.
void add_rocm(const RocmTopology& rocm, Topology& topology);

}  // namespace ringside
