// SPDX-License-Identifier: MIT
/// The facts of single readings as JSON values, for facts_json.hpp. For source files only: this
/// header needs nlohmann-json and is not installed.
#pragma once

#include <string>

#include "ringside/base/json_write.hpp"
#include "ringside/topology/readers/reading.hpp"

namespace ringside {

/// "GPU3".
[[nodiscard]] std::string gpu_name(int number);

[[nodiscard]] Json matrix_json(const LinkMatrix& matrix);
[[nodiscard]] Json peer_json(const PeerMatrix& matrix);
[[nodiscard]] Json xml_json(const NcclXml& xml);
[[nodiscard]] Json nvlink_json(const NvlinkStatus& status);
[[nodiscard]] Json rocm_json(const RocmTopology& facts);
[[nodiscard]] Json pcie_status_json(const PcieStatus& gpu);
[[nodiscard]] Json csv_json(const SmiCsv& csv);
[[nodiscard]] Json link_status_json(const LspciLinks& facts);
[[nodiscard]] Json acs_json(const LspciLinks& facts);
[[nodiscard]] Json tree_json(const LspciTree& tree);
[[nodiscard]] Json log_json(const NcclLog& log);
[[nodiscard]] Json peer_bandwidth_json(const PeerBandwidthTest& test);
[[nodiscard]] Json nvbandwidth_json(const NvBandwidth& facts);
[[nodiscard]] Json collective_json(const CollectiveRows& facts);
[[nodiscard]] Json preflight_json(const PreflightReport& report);
[[nodiscard]] Json measured_json(const Measurements& measured);

}  // namespace ringside
