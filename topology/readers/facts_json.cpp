// SPDX-License-Identifier: MIT
#include "ringside/topology/readers/facts_json.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "ringside/base/text.hpp"
#include "ringside/topology/readers/device_table.hpp"

namespace ringside {
namespace {

Json affinity_json(const LinkMatrix& matrix, const AffinityColumn& column) {
  Json object = Json::object();
  for (const auto& name : matrix.names)
    if (const auto cell = column.find(name); cell != column.end())
      object[name] = cell->second ? Json(*cell->second) : Json(nullptr);
  return object;
}

bool is_gpu(const LinkMatrix& matrix, std::size_t index) {
  return is_gpu_name(matrix.names[index]);
}

/// The known cells above the diagonal whose ends are both GPUs, both NICs, or one of each.
Json links_json(const LinkMatrix& matrix, bool first_is_gpu, bool second_is_gpu) {
  Json links = Json::array();
  for (std::size_t i = 0; i < matrix.names.size(); ++i)
    for (std::size_t j = 0; j < matrix.names.size(); ++j) {
      if (is_gpu(matrix, i) != first_is_gpu || is_gpu(matrix, j) != second_is_gpu) continue;
      if (first_is_gpu == second_is_gpu && j <= i) continue;
      if (const auto& cell = matrix.cell(i, j))
        links.push_back({matrix.names[i], matrix.names[j], to_string(*cell)});
    }
  return links;
}

Json matrix_json(const LinkMatrix& matrix) {
  Json json;
  json["gpus"] = matrix.gpus;
  json["nics"] = matrix.names.size() - matrix.gpus;
  json["nic_names"] = Json::array();
  for (std::size_t i = 0; i < matrix.names.size(); ++i)
    if (!is_gpu(matrix, i)) json["nic_names"].push_back(matrix.names[i]);
  json["links"] = links_json(matrix, true, true);
  json["nic_links"] = links_json(matrix, true, false);
  json["nic_nic_links"] = links_json(matrix, false, false);
  json["columns"] = matrix.columns;
  json["cpu_affinity"] = affinity_json(matrix, matrix.cpu_affinity);
  json["numa_affinity"] = affinity_json(matrix, matrix.numa_affinity);
  json["gpu_numa_id"] = affinity_json(matrix, matrix.gpu_numa_id);
  if (!matrix.nic_legend.empty()) json["nic_legend"] = matrix.nic_legend;
  json["truncated"] = matrix.truncated();
  if (matrix.truncated()) {
    json["missing_rows"] = matrix.missing_rows;
    json["partial_rows"] = matrix.partial_rows;
  }
  if (matrix.damaged) json["damaged"] = true;
  return json;
}

Json peer_json(const PeerMatrix& matrix) {
  Json pairs = Json::array();
  for (std::size_t i = 0; i < matrix.names.size(); ++i)
    for (std::size_t j = i + 1; j < matrix.names.size(); ++j)
      if (!matrix.cell(i, j).empty())
        pairs.push_back({matrix.names[i], matrix.names[j], matrix.cell(i, j)});
  return pairs;
}

void for_each_element(const XmlElement& element,
                      const std::function<void(const XmlElement&)>& visit) {
  visit(element);
  for (const auto& child : element.children) for_each_element(child, visit);
}

/// Where each GPU of a topology file sits: its NUMA node, its bus, the PCI elements around it.
void place_gpus(const XmlElement& element, const std::string* numa, const std::string* bus,
                int depth, Json& places) {
  if (element.tag == "cpu") numa = element.attribute("numaid");
  if (element.tag == "pci") bus = element.attribute("busid"), ++depth;
  if (element.tag == "gpu")
    if (const auto* dev = element.attribute("dev")) {
      const auto numa_id = numa == nullptr ? std::nullopt : parse_int(*numa);
      places[*dev] = {{"cpu_numaid", numa_id ? Json(*numa_id) : Json(nullptr)},
                      {"busid", bus == nullptr ? Json(nullptr) : Json(*bus)},
                      {"pci_depth", depth}};
    }
  for (const auto& child : element.children) place_gpus(child, numa, bus, depth, places);
}

Json xml_json(const NcclXml& xml) {
  std::map<std::string, int> count;
  int gpu_class = 0, no_class = 0;
  std::set<std::string> speeds, widths, net_names, compute;
  Json numa_ids = Json::array();
  for_each_element(xml.system, [&](const XmlElement& element) {
    ++count[element.tag];
    const auto note = [&](std::set<std::string>& set, std::string_view attribute) {
      if (const auto* value = element.attribute(attribute)) set.insert(*value);
    };
    if (element.tag == "pci") {
      const auto* pci_class = element.attribute("class");
      no_class += pci_class == nullptr;
      gpu_class += pci_class != nullptr && is_gpu_class(*pci_class);
      note(speeds, "link_speed");
      note(widths, "link_width");
    }
    if (element.tag == "net") note(net_names, "name");
    if (element.tag == "gpu") note(compute, "sm");
    if (element.tag == "cpu")
      if (const auto* id = element.attribute("numaid"))
        numa_ids.push_back(parse_int(*id) ? Json(*parse_int(*id)) : Json(*id));
  });
  Json places = Json::object();
  place_gpus(xml.system, nullptr, nullptr, 0, places);
  const int gpus = std::max(count["gpu"], gpu_class);
  Json json;
  json["well_formed"] = xml.well_formed;
  json["cpus"] = count["cpu"];
  json["nets"] = count["net"];
  json["nvlinks"] = count["nvlink"];
  json["xgmi"] = count["xgmi"];
  json["pci_nodes"] = count["pci"];
  json["gpu_elements"] = count["gpu"];
  json["pci_with_gpu_class"] = gpu_class;
  json["pci_without_class"] = no_class;
  json["gpus"] = gpus > 0 ? Json(gpus) : Json(nullptr);
  json["cpu_numaids"] = numa_ids;
  json["gpu_sm"] = compute;
  json["link_speeds"] = speeds;
  json["link_widths"] = widths;
  json["net_names"] = net_names;
  json["gpu_place"] = places;
  json["truncated"] = xml.truncated;
  return json;
}

std::string gpu_name(int number) { return "GPU" + std::to_string(number); }

Json nvlink_json(const NvlinkStatus& status) {
  Json links = Json::object();
  for (const auto& gpu : status.gpus) links[gpu_name(gpu.number)] = gpu.active;
  return links;
}

Json rocm_json(const RocmTopology& facts) {
  Json json = {{"gpus", facts.names.size()}};
  for (const auto& [section, cells] : facts.matrices) {
    Json pairs = Json::array();
    for (std::size_t i = 0; i < facts.names.size(); ++i)
      for (std::size_t j = i + 1; j < facts.names.size(); ++j) {
        const auto& cell = cells[i * facts.names.size() + j];
        if (cell.empty()) continue;
        const auto number = parse_int(cell);
        pairs.push_back({facts.names[i], facts.names[j], number ? Json(*number) : Json(cell)});
      }
    json[section] = std::move(pairs);
  }
  if (!facts.numa_node.empty()) json["numa_node"] = facts.numa_node;
  if (!facts.numa_affinity.empty()) json["numa_affinity"] = facts.numa_affinity;
  json["truncated"] = facts.truncated;
  return json;
}

/// Width alone proves that a link is degraded: an idle GPU slows its link down.
Json verdict_json(const PcieStatus& gpu) {
  const auto less = [](std::optional<int> current, std::optional<int> most) {
    return current && most && *current < *most;
  };
  const bool narrow = less(gpu.width_of("Current"), gpu.width_of("Max"));
  return {{"width_reduced", narrow},
          {"gen_reduced_now", less(gpu.generation_of("Current"), gpu.generation_of("Max"))},
          {"degraded_for_sure", narrow}};
}

Json pcie_status_json(const PcieStatus& gpu) {
  Json json = Json::object();
  if (gpu.index) json["index"] = *gpu.index;
  if (!gpu.bus_id.empty()) json["busid"] = gpu.bus_id;
  if (!gpu.model.empty()) json["model"] = gpu.model;
  if (!gpu.generation.empty()) json["pcie_gen"] = gpu.generation;
  if (!gpu.width.empty()) json["link_width"] = gpu.width;
  if (!gpu.bar1_mib.empty()) json["bar1_mib"] = gpu.bar1_mib;
  if (!gpu.generation.empty() || !gpu.width.empty()) json["verdict"] = verdict_json(gpu);
  return json;
}

Json csv_json(const SmiCsv& csv) {
  Json rows = Json::array();
  for (const auto& gpu : csv.gpus) {
    Json row = Json::object();
    const auto put = [&](const char* key, std::optional<int> value) {
      if (value) row[key] = *value;
    };
    put("index", gpu.index);
    if (!gpu.bus_id.empty()) row["busid"] = gpu.bus_id;
    if (!gpu.model.empty()) row["model"] = gpu.model;
    put("gen_max", gpu.generation_of("Max"));
    put("width_max", gpu.width_of("Max"));
    put("gen_current", gpu.generation_of("Current"));
    put("width_current", gpu.width_of("Current"));
    rows.push_back(std::move(row));
  }
  return {{"gpus", csv.gpus.size()}, {"rows", std::move(rows)}};
}

Json link_status_json(const LspciLinks& facts) {
  Json status = Json::array(), capability = Json::array(), devices = Json::array();
  for (const auto& device : facts.devices) {
    if (device.status)
      status.push_back({{"speed", device.status->speed},
                        {"speed_flag", device.status->speed_flag},
                        {"width", device.status->width},
                        {"width_flag", device.status->width_flag}});
    if (device.capability)
      capability.push_back(
          {{"speed", device.capability->speed}, {"width", device.capability->width}});
    if (!device.address.empty()) devices.push_back(device.address);
  }
  return {{"lnksta", status}, {"lnkcap", capability}, {"devices", devices}};
}

Json acs_json(const LspciLinks& facts) {
  int lines = 0, complete = 0, redirects = 0, source = 0;
  for (const auto& device : facts.devices) {
    if (!device.acs) continue;
    ++lines;
    if (!device.acs->complete) continue;
    ++complete;
    redirects += device.acs->redirects();
    source += device.acs->is_on("SrcValid");
  }
  return {{"acsctl_lines", lines},
          {"complete_lines", complete},
          {"redirect_on", redirects},
          {"srcvalid_on", source},
          {"truncated", complete < lines},
          {"verdict", redirects > 0 ? "acs redirect active" : "no redirect active"}};
}

Json tree_json(const LspciTree& tree) {
  Json bridges = Json::array();
  for (const auto& bridge : tree.bridges) bridges.push_back({bridge.address, bridge.buses});
  return {{"roots", tree.roots},
          {"bridges", bridges},
          {"gpu_lines", tree.gpu_lines},
          {"truncated", tree.truncated}};
}

Json log_json(const NcclLog& log) {
  Json json = Json::object();
  json["ranks"] = log.ranks ? Json(*log.ranks) : Json(nullptr);
  if (!log.version.empty()) json["nccl_version"] = log.version;
  if (log.channels) json["channels"] = *log.channels;
  for (const auto& [channel, ring] : log.rings) json["rings"][std::to_string(channel)] = ring;
  if (!log.transport_lines.empty()) json["transport_lines"] = log.transport_lines;
  for (const auto& [gpu, masks] : log.affinity_masks)
    json["affinity_masks"][std::to_string(gpu)] = masks;
  if (!log.environment.empty()) json["environment"] = log.environment;
  json["warnings"] = log.warnings.size();
  json["truncated"] = log.truncated;
  return json;
}

Json values_json(const PairMatrix& matrix) {
  Json rows = Json::array();
  for (const auto& row : matrix.values) {
    Json cells = Json::array();
    for (const auto& cell : row) cells.push_back(cell ? Json(*cell) : Json(nullptr));
    rows.push_back(std::move(cells));
  }
  return rows;
}

Json peer_bandwidth_json(const PeerBandwidthTest& test) {
  Json json = {{"gpus", test.listed_devices},
               {"listed_devices", test.listed_devices},
               {"can_access_lines", test.can_access_lines},
               {"cannot_access_lines", test.cannot_access_lines},
               {"matrices", Json::array()},
               {"truncated", test.truncated}};
  for (const auto& matrix : test.matrices) {
    json["gpus"] = std::max(json["gpus"].get<int>(), matrix.columns);
    Json each = {{"title", matrix.title ? Json(*matrix.title) : Json(nullptr)},
                 {"cols", matrix.columns},
                 {"values", values_json(matrix)}};
    if (!matrix.complete()) each["row_ids"] = matrix.row_ids, each["complete"] = false;
    if (matrix.partial_rows > 0) each["partial_rows"] = matrix.partial_rows;
    json["matrices"].push_back(std::move(each));
  }
  return json;
}

Json nvbandwidth_json(const NvBandwidth& facts) {
  Json json = {{"gpus", 0}, {"tests", Json::array()}, {"truncated", facts.truncated}};
  for (const auto& test : facts.tests) {
    json["gpus"] = std::max(json["gpus"].get<int>(), test.columns);
    json["tests"].push_back({{"test", test.title.value_or("")},
                             {"rows", test.values.size()},
                             {"values", values_json(test)},
                             {"sum", test.sum ? Json(*test.sum) : Json(nullptr)}});
  }
  return json;
}

Json timing_json(const CollectiveTiming& timing) {
  Json json = {{"time_us", timing.time_us}, {"algbw", timing.algbw}, {"busbw", timing.busbw}};
  if (!timing.check.empty()) json["check"] = timing.check;
  return json;
}

Json row_json(const CollectiveRow& row) {
  Json json = {{"size", row.size}};
  if (row.count) json["count"] = *row.count;
  if (row.out_of_place) json["out_of_place"] = timing_json(*row.out_of_place);
  if (row.in_place) json["in_place"] = timing_json(*row.in_place);
  return json;
}

Json payload_json(const CollectiveRows& facts) {
  Json rows = Json::array();
  for (const auto& row : facts.rows)
    rows.push_back({{"size", row.size},
                    {"busbw", row.out_of_place->busbw},
                    {"algbw", row.out_of_place->algbw}});
  return rows;
}

Json collective_json(const CollectiveRows& facts) {
  Json json = Json::object();
  json["ranks"] = facts.ranks ? Json(*facts.ranks) : Json(nullptr);
  json["collective"] = facts.collective ? Json(*facts.collective) : Json(nullptr);
  if (facts.payload_table) {
    json["rows"] = payload_json(facts);
    return json;
  }
  json["fields_per_row"] = facts.rows.front().fields;
  json["complete_rows"] = facts.rows.size();
  json["type"] = facts.rows.front().type.empty() ? Json(nullptr) : Json(facts.rows.front().type);
  json["first_size"] = facts.rows.front().size;
  json["last"] = row_json(facts.rows.back());
  const CollectiveRow* best = nullptr;
  for (const auto& row : facts.rows)
    if (row.out_of_place &&
        (best == nullptr || row.out_of_place->busbw > best->out_of_place->busbw))
      best = &row;
  if (best != nullptr) {
    json["max_busbw_out_of_place"] = best->out_of_place->busbw;
    json["max_busbw_at_size"] = best->size;
  }
  json["listed_ranks"] = facts.listed_ranks;
  if (facts.threads && facts.gpus && facts.min_bytes && facts.max_bytes)
    json["parameters"] = {{"nthread", *facts.threads},
                          {"ngpus", *facts.gpus},
                          {"min", *facts.min_bytes},
                          {"max", *facts.max_bytes}};
  if (facts.average_busbw) json["avg_busbw"] = *facts.average_busbw;
  if (facts.out_of_bounds) json["out_of_bounds"] = *facts.out_of_bounds;
  json["truncated"] = facts.truncated;
  json["has_incomplete_rows"] = facts.has_incomplete_rows;
  if (facts.runs_interleaved) json["two_runs_interleaved"] = true;
  return json;
}

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

  void add(const PeerBandwidthTest& test) {
    add_kind("p2pbw");
    merge(peer_bandwidth_json(test));
  }

  void add(const NvBandwidth& facts) {
    add_kind("nvbandwidth");
    merge(nvbandwidth_json(facts));
  }

  void add(const CollectiveRows& facts) {
    has_rows_ = true;
    add_kind(facts.payload_table ? "other-bench" : facts.rccl ? "rccl-tests" : "nccl-tests");
    merge(collective_json(facts));
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
  const auto is_main = [](const Reading& reading) {
    return std::holds_alternative<LinkMatrix>(reading.facts) ||
           std::holds_alternative<CollectiveRows>(reading.facts);
  };
  Writer writer;
  for (const bool main : {true, false})
    for (const auto& reading : readings)
      if (is_main(reading) == main)
        std::visit([&](const auto& facts) { writer.add(facts); }, reading.facts);
  return writer.finish();
}

}  // namespace ringside
