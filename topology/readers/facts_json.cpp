// SPDX-License-Identifier: MIT
#include "ringside/topology/readers/facts_json.hpp"

#include <algorithm>
#include <utility>

#include "ringside/topology/readers/fact_values.hpp"

namespace ringside {
namespace {

/// Puts the facts of the readings of a file side by side.
class Writer {
 public:
  void add(const LinkMatrix& matrix) {
    const std::string_view kind = matrix.pcie_only ? "topo-mp" : "topo-m";
    if (has_matrix_) {
      Json facts = {{"kind", kind}};
      facts.update(matrix_json(matrix));
      json_["more_matrices"].push_back(std::move(facts));
      return;
    }
    add_kind(kind);
    has_matrix_ = true;
    merge(matrix_json(matrix));
  }

  void add(const PeerMatrix& matrix) {
    add_kind("topo-p2p", "p2p");
    if (!has_matrix_) merge({{"gpus", matrix.names.size()}, {"nics", 0}});
    if (!json_.contains("p2p")) json_["p2p"] = peer_json(matrix);
    if (!matrix.capability.empty())
      json_["p2p_by_capability"][matrix.capability] = peer_json(matrix);
  }

  void add(const NcclXml& xml) {
    add_kind("nccl-topo-xml");
    merge(xml_json(xml));
  }

  void add(const NvlinkStatus& status) {
    add_kind("nvlink-s", "nvlink");
    Json inactive = Json::array();
    for (const auto& gpu : status.gpus)
      if (gpu.active.empty()) inactive.push_back(gpu_name(gpu.number));
    if (!json_.contains("links"))
      merge({{"gpus", status.gpus.size()}, {"links", nvlink_json(status)}, {"inactive", inactive}});
    else
      merge({{"nvlink_status", nvlink_json(status)}});
  }

  void add(const RocmTopology& facts) {
    add_kind("rocm-topo");
    merge(rocm_json(facts));
  }

  void add(const SmiQuery& query) {
    add_kind("nvidia-smi-q");
    Json json = {{"gpus", query.gpus.size()}};
    if (query.gpus.size() == 1) json.update(pcie_status_json(query.gpus.front()));
    for (const auto& gpu : query.gpus) json["pcie_status"].push_back(pcie_status_json(gpu));
    merge(std::move(json));
  }

  void add(const SmiCsv& csv) {
    add_kind("nvidia-smi-query");
    merge(csv_json(csv));
  }

  void add(const LspciLinks& facts) {
    const auto has = [&](auto member) {
      return std::ranges::any_of(
          facts.devices, [&](const LspciDevice& each) { return (each.*member).has_value(); });
    };
    if (has(&LspciDevice::status) || has(&LspciDevice::capability)) {
      add_kind("lspci-lnksta");
      merge(link_status_json(facts));
    }
    if (has(&LspciDevice::acs)) {
      add_kind("lspci-acs");
      merge(acs_json(facts));
    }
    if (facts.devices.empty()) {
      if (kind_.empty()) add_kind("lspci-plain");
      Json listed = Json::array();
      for (const auto& device : facts.listed)
        listed.push_back({{"bdf", device.address}, {"description", device.description}});
      merge({{"listed", std::move(listed)}});
    }
  }

  void add(const LspciTree& tree) {
    add_kind("lspci-tree");
    merge(tree_json(tree));
  }

  /// Beside a table of measurements, the log is that of the same run.
  void add(const NcclLog& log) {
    if (has_rows_) return merge({{"nccl_log", log_json(log)}});
    add_kind("nccl-log");
    merge(log_json(log));
  }

  /// Stands in a log, which gives the file its kind.
  void add(const NcclGraph& graph) {
    if (kind_.empty()) add_kind("nccl-log");
    const auto is_gpu = [](const NcclGraph::Entry& entry) {
      return entry.link == "PCI" && (entry.kind == "GPU" || entry.kind == "DEV");
    };
    merge({{"graph_gpus", std::ranges::count_if(graph.entries, is_gpu)},
           {"graph_truncated", graph.truncated}});
  }

  void add(const PeerBandwidthTest& test) {
    add_kind("p2pbw");
    merge(peer_bandwidth_json(test));
  }

  void add(const NvBandwidth& facts) {
    add_kind("nvbandwidth");
    merge(nvbandwidth_json(facts));
  }

  /// Stands beside whatever else a text has, which gives the file its kind. What is said again is
  /// no other fact.
  void add(const HostFacts& host) {
    if (kind_.empty()) add_kind("host");
    Json facts = Json::array();
    for (const auto& fact : host.facts) {
      Json each = {{fact.key, fact.value}};
      if (std::ranges::find(facts, each) == facts.end()) facts.push_back(std::move(each));
    }
    merge({{"host", std::move(facts)}});
  }

  /// A report has many tables: the first is the file's, the others stand beside it.
  void add(const CollectiveRows& facts) {
    if (has_rows_) {
      json_["more_tables"].push_back(collective_json(facts));
      return;
    }
    has_rows_ = true;
    add_kind(facts.ours            ? "ringside-bench"
             : facts.payload_table ? "other-bench"
             : facts.rccl          ? "rccl-tests"
                                   : "nccl-tests");
    merge(collective_json(facts));
  }

  void add(const PreflightReport& report) {
    add_kind("ringside-preflight");
    merge(preflight_json(report));
  }

  /// The topology itself is printed beside the facts.
  void add(const Topology& topology) {
    add_kind("ringside-topology");
    merge({{"gpus", topology.gpus().size()}, {"nics", topology.nics().size()}});
  }

  void add(const HwlocMachine& machine) {
    add_kind("hwloc-xml");
    merge({{"pci_functions", machine.pci.functions.size()}});
  }

  Json finish() {
    Json json = {{"kind", kind_}};
    json.update(json_);
    return json;
  }

 private:
  /// A file's kind is its readings' kinds, the later ones in short.
  void add_kind(std::string_view kind, std::string_view short_kind = "") {
    if (kind_.find(kind) != std::string::npos) return;
    if (kind_.empty())
      kind_ = kind;
    else if (kind_.find(short_kind) == std::string::npos)
      kind_ += "+" + std::string(short_kind.empty() ? kind : short_kind);
  }

  /// What an earlier reading said stays.
  void merge(Json facts) {
    for (auto& [key, value] : facts.items())
      if (!json_.contains(key)) json_[key] = std::move(value);
  }

  std::string kind_;
  bool has_matrix_ = false, has_rows_ = false;
  Json json_ = Json::object();
};

}  // namespace

Json facts_json(std::span<const Reading> readings) {
  // What gives the file its kind comes first; the rest stands beside it.
  const auto turn_of = [](const Reading& reading) {
    if (std::holds_alternative<LinkMatrix>(reading.facts) ||
        std::holds_alternative<CollectiveRows>(reading.facts))
      return 0;
    return std::holds_alternative<HostFacts>(reading.facts) ? 2 : 1;
  };
  Writer writer;
  for (const int turn : {0, 1, 2})
    for (const auto& reading : readings)
      if (turn_of(reading) == turn)
        std::visit([&](const auto& facts) { writer.add(facts); }, reading.facts);
  return writer.finish();
}

}  // namespace ringside
