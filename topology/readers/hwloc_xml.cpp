// SPDX-License-Identifier: MIT
#include "ringside/topology/readers/hwloc_xml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <pugixml.hpp>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/topology/readers/reading.hpp"
#include "ringside/topology/readers/xml_guard.hpp"

namespace ringside {
namespace {

// A machine of 512 threads has 2,000 objects.
constexpr XmlLimits limits = {.depth = 64, .elements = 200'000};

std::uint32_t hex(std::string_view text) {
  std::uint32_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return value;
}

/// "0x0000000f,0xffff0000" (most significant word first) -> "16-35"; "" for what is no mask.
std::string cores_of(std::string_view mask) {
  std::vector<int> cores;
  const auto words = split(mask, ',');
  for (std::size_t i = 0; i < words.size(); ++i) {
    auto word = words[words.size() - 1 - i];
    if (word.starts_with("0x")) word.remove_prefix(2);
    const std::uint32_t bits = hex(word);
    for (int bit = 0; bit < 32; ++bit)
      if ((bits >> bit & 1) != 0) cores.push_back(static_cast<int>(i) * 32 + bit);
  }
  std::string list;
  for (std::size_t first = 0; first < cores.size();) {
    std::size_t last = first;
    while (last + 1 < cores.size() && cores[last + 1] == cores[last] + 1) ++last;
    list += fmt::format("{}{}", list.empty() ? "" : ",", cores[first]);
    if (last > first) list += fmt::format("-{}", cores[last]);
    first = last + 1;
  }
  return list;
}

/// hwloc tells GB/s of the whole link as it is now: lanes times the generation's rate.
void read_speed(double gigabytes, PciFunction& function) {
  if (gigabytes > 0 && gigabytes < 1e4) function.bandwidth = gigabytes;
  struct Rate {
    int generation;
    double lane;  // GB/s, after 8b/10b or 128b/130b coding
  };
  for (const Rate rate :
       {Rate{1, 0.25}, {2, 0.5}, {3, 0.984615}, {4, 1.969231}, {5, 3.938462}, {6, 7.876923}})
    for (const int lanes : {16, 8, 4, 2, 1}) {
      if (std::abs(gigabytes - rate.lane * lanes) > 0.01 * gigabytes) continue;
      // The same figure may be a wide slow link or a narrow fast one: then neither is known.
      if (function.generation) {
        function.generation.reset();
        function.width.reset();
        return;
      }
      function.generation = rate.generation;
      function.width = lanes;
    }
}

class HwlocReader {
 public:
  PciMachine read(const pugi::xml_node& topology) {
    for (const auto& object : topology.children("object")) {
      visit(object, {}, "", std::nullopt);
      note_memory(object, {});
    }
    return std::move(machine_);
  }

 private:
  void visit(const pugi::xml_node& object, const std::optional<PciAddress>& parent,
             const std::string& host_bridge, std::optional<int> numa) {
    const std::string_view type = object.attribute("type").value();
    std::optional<PciAddress> above = parent;
    std::string bridge = host_bridge;
    if (const auto local = numa_below(object)) numa = local;
    if (type == "NUMANode") note_processors(object);
    const bool from_host =
        std::string_view(object.attribute("bridge_type").value()).starts_with("0-");
    if (type == "Bridge" && from_host) {
      bridge = object.attribute("bridge_pci").value();
      above.reset();
    } else if (type == "Bridge" || type == "PCIDev") {
      if (const auto address = add(object, parent, bridge, numa)) above = address;
    } else if (type == "OSDev" && parent) {
      name_device(object, *parent);
    }
    for (const auto& child : object.children("object")) visit(child, above, bridge, numa);
  }

  /// The NUMA node that is an object's own memory, where there is just one.
  static std::optional<int> numa_below(const pugi::xml_node& object) {
    std::optional<int> only;
    for (const auto& child : object.children("object")) {
      if (std::string_view(child.attribute("type").value()) != "NUMANode") continue;
      if (only) return std::nullopt;
      only = child.attribute("os_index").as_int(0);
    }
    return only;
  }

  void note_processors(const pugi::xml_node& numa) {
    const std::string mask = numa.attribute("cpuset").value();
    if (!mask.empty() && mask.size() < 1000)
      machine_.processors[numa.attribute("os_index").as_int(0)] = cores_of(mask);
  }

  /// Of each NUMA node: its package, its memory, and the caches that it shares with the object
  /// whose memory it is.
  void note_memory(const pugi::xml_node& object, const pugi::xml_node& package_above) {
    const auto type_of = [](const pugi::xml_node& node) {
      return std::string_view(node.attribute("type").value());
    };
    const pugi::xml_node package = type_of(object) == "Package" ? object : package_above;
    for (const auto& child : object.children("object")) {
      note_memory(child, package);
      if (type_of(child) != "NUMANode") continue;
      auto& details = machine_.numa_details[child.attribute("os_index").as_int(0)];
      const auto bytes = child.attribute("local_memory").as_ullong(0);
      if (bytes > 0) details["memory_bytes"] = std::to_string(bytes);
      if (const auto cache = last_caches(object); cache > 0)
        details["l3_bytes"] = std::to_string(cache);
      if (!package) continue;
      details["package"] = package.attribute("os_index").value();
      const auto model = package.find_child_by_attribute("info", "name", "CPUModel");
      if (model) details["processor"] = model.attribute("value").value();
    }
  }

  /// Bytes of all third-level caches in an object, itself among them.
  static unsigned long long last_caches(const pugi::xml_node& object) {
    if (std::string_view(object.attribute("type").value()) == "L3Cache")
      return object.attribute("cache_size").as_ullong(0);
    unsigned long long bytes = 0;
    for (const auto& child : object.children("object")) bytes += last_caches(child);
    return bytes;
  }

  std::optional<PciAddress> add(const pugi::xml_node& object,
                                const std::optional<PciAddress>& parent, const std::string& bridge,
                                std::optional<int> numa) {
    const auto address = parse_pci_address(object.attribute("pci_busid").value());
    if (!address) return std::nullopt;
    PciFunction function;
    function.address = *address;
    function.parent = parent;
    function.host_bridge = bridge;
    function.numa = numa;
    // "0302 [10de:20b0] [10de:134f] a1"
    const std::string_view type = object.attribute("pci_type").value();
    function.class_code = hex(type.substr(0, type.find(' '))) << 8;
    const auto bracket = type.find('[');
    if (bracket != std::string_view::npos && type.size() >= bracket + 10) {
      function.vendor = fmt::format("0x{:04x}", hex(type.substr(bracket + 1, 4)));
      function.device = fmt::format("0x{:04x}", hex(type.substr(bracket + 6, 4)));
    }
    read_speed(object.attribute("pci_link_speed").as_double(0), function);
    machine_.functions.push_back(std::move(function));
    return address;
  }

  void name_device(const pugi::xml_node& object, const PciAddress& address) {
    const std::string name = object.attribute("name").value();
    const int kind = object.attribute("osdev_type").as_int(-1);
    constexpr int network = 2, fabric = 3;  // hwloc's numbers
    if (machine_.functions.empty() || !(machine_.functions.back().address == address)) return;
    auto& function = machine_.functions.back();
    if (kind == fabric || (kind == network && !function.name)) function.name = name;
  }

  PciMachine machine_;
};

}  // namespace

std::vector<Reading> read_hwloc_xml(const Text& text) {
  std::string xml;
  int first_line = 0, last_line = 0;
  for (const auto& line : text.lines) {
    const bool starts = line.text.find("<topology") != std::string::npos;
    if (first_line == 0 && !starts) continue;
    if (first_line == 0) first_line = line.number;
    last_line = line.number;
    xml += line.text + "\n";
    if (line.text.find("</topology>") != std::string::npos) break;
  }
  if (first_line == 0 || xml.find("<object") == std::string::npos) return {};
  if (const auto objection = object_to_xml(xml, limits, true); !objection.reason.empty())
    throw Error(ErrorCode::bad_input, fmt::format("hwloc's XML: {}", objection.reason));
  pugi::xml_document document;
  const auto parsed =
      document.load_buffer(xml.data(), xml.size(), pugi::parse_default, pugi::encoding_utf8);
  const auto root = document.child("topology");
  if (!root) return {};
  std::vector<Finding> findings;
  if (!parsed)
    findings.push_back(
        {Severity::warning, last_line, "the file is cut or broken: what was whole was read"});
  auto machine = HwlocReader().read(root);
  if (std::ranges::any_of(machine.functions,
                          [](const PciFunction& each) { return each.bandwidth.has_value(); }))
    findings.push_back(
        {Severity::note, first_line,
         "hwloc tells links as they were when it looked: an idle GPU's is slower than "
         "it can be"});
  std::vector<Reading> readings;
  readings.push_back(Reading{.reader = "hwloc XML",
                             .source = {},
                             .first_line = first_line,
                             .last_line = last_line,
                             .facts = HwlocMachine{std::move(machine)},
                             .findings = std::move(findings)});
  return readings;
}

}  // namespace ringside
