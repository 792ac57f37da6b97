// SPDX-License-Identifier: MIT
#include "ringside/bench/preflight/sysfs.hpp"

#include <string_view>

#include "ringside/base/error.hpp"
#include "ringside/base/file.hpp"
#include "ringside/base/text.hpp"

namespace ringside::bench::preflight {
namespace {

constexpr int most_nodes = 1 << 20, most_lanes = 64;

/// These facts are good to have, not needed.
std::optional<std::string> text_in(const std::string& path) {
  try {
    const std::string text(trim(read_file(path)));
    if (text.empty() || text.starts_with("Unknown")) return std::nullopt;
    return text;
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Of the range, or nothing: a node of -1 means that nobody knows.
std::optional<int> number_in(const std::string& path, int least, int most) {
  const auto text = text_in(path);
  const auto number = text ? parse_int(*text, least, most) : std::nullopt;
  if (!number) return std::nullopt;
  return static_cast<int>(*number);
}

std::string file_of(const std::string& folder, const std::string& pci_bus_id,
                    std::string_view name) {
  return folder + "/" + to_lower(pci_bus_id) + "/" + std::string(name);
}

/// `which`: current or max
Link link_named(const std::string& which, const std::string& pci_bus_id,
                const std::string& folder) {
  return {.speed = text_in(file_of(folder, pci_bus_id, which + "_link_speed")),
          .width = number_in(file_of(folder, pci_bus_id, which + "_link_width"), 1, most_lanes)};
}

}  // namespace

Link read_link(const std::string& pci_bus_id, const std::string& folder) {
  return link_named("current", pci_bus_id, folder);
}

void add_sysfs_facts(DeviceFacts& device, const std::string& folder) {
  device.numa_node = number_in(file_of(folder, device.pci_bus_id, "numa_node"), 0, most_nodes);
  device.link = read_link(device.pci_bus_id, folder);
  device.link_most = link_named("max", device.pci_bus_id, folder);
}

}  // namespace ringside::bench::preflight
