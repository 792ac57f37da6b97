// SPDX-License-Identifier: MIT
/// What readings tell of devices and links, as JSON.
#include "ringside/topology/readers/fact_values.hpp"

#include <algorithm>
#include <functional>
#include <set>

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

}  // namespace

std::string gpu_name(int number) { return "GPU" + std::to_string(number); }

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

}  // namespace ringside
