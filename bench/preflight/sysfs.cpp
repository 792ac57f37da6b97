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

}  // namespace

void add_sysfs_facts(DeviceFacts& device, const std::string& folder) {
  const auto file = [&](std::string_view name) {
    return folder + "/" + to_lower(device.pci_bus_id) + "/" + std::string(name);
  };
  device.numa_node = number_in(file("numa_node"), 0, most_nodes);
  device.link_speed = text_in(file("current_link_speed"));
  device.link_speed_most = text_in(file("max_link_speed"));
  device.link_width = number_in(file("current_link_width"), 1, most_lanes);
  device.link_width_most = number_in(file("max_link_width"), 1, most_lanes);
}

}  // namespace ringside::bench::preflight
