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
  bool has_matrix_ = false;
  Json json_ = Json::object();
};

}  // namespace

Json facts_json(std::span<const Reading> readings) {
  Writer writer;
  // Matrices first: what else is in the file stands beside them.
  for (const auto& reading : readings)
    if (const auto* matrix = std::get_if<LinkMatrix>(&reading.facts)) writer.add(*matrix);
  for (const auto& reading : readings)
    if (!std::holds_alternative<LinkMatrix>(reading.facts))
      std::visit(
          [&](const auto& facts) {
            if constexpr (!std::is_same_v<std::decay_t<decltype(facts)>, LinkMatrix>)
              writer.add(facts);
          },
          reading.facts);
  return writer.finish();
}

}  // namespace ringside
