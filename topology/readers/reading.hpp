// SPDX-License-Identifier: MIT
/// What a reader makes of a piece of text: facts as the input states them, and remarks. Readings of
/// several inputs that describe one machine are put together by `build_topology`.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ringside/topology/graph.hpp"
#include "ringside/topology/readers/collective_rows.hpp"
#include "ringside/topology/readers/finding.hpp"
#include "ringside/topology/readers/host_facts.hpp"
#include "ringside/topology/readers/hwloc_xml.hpp"
#include "ringside/topology/readers/link_matrix.hpp"
#include "ringside/topology/readers/lspci.hpp"
#include "ringside/topology/readers/nccl_graph.hpp"
#include "ringside/topology/readers/nccl_log.hpp"
#include "ringside/topology/readers/nccl_xml.hpp"
#include "ringside/topology/readers/nvlink_status.hpp"
#include "ringside/topology/readers/pair_matrices.hpp"
#include "ringside/topology/readers/pcie_status.hpp"
#include "ringside/topology/readers/peer_matrix.hpp"
#include "ringside/topology/readers/preflight_report.hpp"
#include "ringside/topology/readers/rocm.hpp"

namespace ringside {

using Facts =
    std::variant<LinkMatrix, PeerMatrix, NcclXml, NvlinkStatus, RocmTopology, SmiQuery, SmiCsv,
                 LspciLinks, LspciTree, NcclLog, NcclGraph, PeerBandwidthTest, NvBandwidth,
                 CollectiveRows, PreflightReport, Topology, HwlocMachine, HostFacts>;

struct Reading {
  std::string_view reader;  ///< its name, as `ringside topo` prints it
  std::string source;       ///< the file
  int first_line = 0, last_line = 0;
  Facts facts;
  std::vector<Finding> findings;
};

/// A kind of input.
struct Reader {
  std::string_view name;
  /// The readings of all pieces of a text that are of this kind; none if there are none. Throws
  /// Error(bad_input) for a piece that is of this kind but must not be guessed at.
  std::vector<Reading> (*read)(const Text& text);
};

/// All of them.
[[nodiscard]] const std::vector<Reader>& readers();

/// What all readers find in a text, in the order of its lines; none where nothing is understood.
/// Throws Error(bad_input) when a piece must be refused.
[[nodiscard]] std::vector<Reading> read_with_all(const Text& text);

/// What the readers find in a text, in the order of its lines. Throws Error(bad_input), naming the
/// source: nothing is understood (the message lists what would be), or a piece must be refused.
[[nodiscard]] std::vector<Reading> read_text(std::string_view raw, const std::string& source);

}  // namespace ringside
