// SPDX-License-Identifier: MIT
#include "ringside/topology/live/sysfs.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "ringside/base/text.hpp"
#include "ringside/topology/build/from_xml.hpp"

namespace ringside {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_functions = 100'000;
constexpr int most_depth = 64;

/// A small file's text; nothing where it is missing or cannot be read, as many in sysfs.
std::optional<std::string> contents(const fs::path& file) {
  std::ifstream stream(file);
  if (!stream) return std::nullopt;
  std::string text(256, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(stream.gcount(), 0)));
  if (text.empty()) return std::nullopt;
  return std::string(trim(text));
}

std::optional<int> number_in(const fs::path& file, std::int64_t least, std::int64_t most) {
  const auto text = contents(file);
  const auto number = text ? parse_int(*text, least, most) : std::nullopt;
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

std::optional<int> generation_in(const fs::path& file) {
  const auto text = contents(file);
  return text ? pcie_generation(*text) : std::nullopt;
}

std::uint32_t hex_in(const fs::path& file) {
  const auto text = contents(file).value_or("");
  std::uint32_t value = 0;
  if (text.starts_with("0x"))
    std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
  return value;
}

/// Whether a port's access control services send requests between peers to the root: the control
/// register of extended capability 0x0d (PCI Express base specification, 7.7.11). Only root may
/// read that far.
std::optional<bool> acs_redirect(const fs::path& config) {
  std::ifstream stream(config, std::ios::binary);
  std::array<unsigned char, 4096> space{};
  stream.read(reinterpret_cast<char*>(space.data()), space.size());
  const auto size = static_cast<std::size_t>(std::max<std::streamsize>(stream.gcount(), 0));
  const auto word = [&](std::size_t at) {
    return static_cast<std::uint32_t>(space[at] | space[at + 1] << 8 | space[at + 2] << 16) |
           static_cast<std::uint32_t>(space[at + 3]) << 24;
  };
  std::size_t at = 0x100;
  for (int hops = 0; at >= 0x100 && at + 8 <= size && hops < 64; ++hops) {
    const std::uint32_t header = word(at);
    constexpr std::uint32_t acs = 0x000d, redirect_bits = 0x1c;  // request, completion, upstream
    if ((header & 0xffff) == acs) return (word(at + 4) >> 16 & redirect_bits) != 0;
    at = header >> 20;
  }
  return std::nullopt;
}

/// The name of the first entry of a folder: "net/eth0" -> "eth0".
std::optional<std::string> entry_of(const fs::path& folder) {
  std::error_code error;
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder, error))
    names.push_back(entry.path().filename().string());
  if (names.empty()) return std::nullopt;
  return *std::ranges::min_element(names);
}

class SysfsReader {
 public:
  explicit SysfsReader(PciMachine& machine) : machine_(machine) {}

  void read_host_bridge(const fs::path& folder) {
    host_bridge_ = folder.filename().string();
    read_children(folder, std::nullopt, 0);
  }

 private:
  void read_children(const fs::path& folder, const std::optional<PciAddress>& parent, int depth) {
    if (depth > most_depth) return;
    std::error_code error;
    std::vector<fs::path> children;
    for (const auto& entry : fs::directory_iterator(folder, error))
      if (parse_pci_address(entry.path().filename().string()) && !entry.is_symlink())
        children.push_back(entry.path());
    std::ranges::sort(children);
    for (const auto& child : children) {
      if (machine_.functions.size() >= most_functions) return;
      const auto address = *parse_pci_address(child.filename().string());
      read_function(child, address, parent);
      read_children(child, address, depth + 1);
    }
  }

  void read_function(const fs::path& folder, const PciAddress& address,
                     const std::optional<PciAddress>& parent) {
    PciFunction function;
    function.address = address;
    function.parent = parent;
    function.host_bridge = host_bridge_;
    function.class_code = hex_in(folder / "class");
    function.vendor = contents(folder / "vendor").value_or("");
    function.device = contents(folder / "device").value_or("");
    function.numa = number_in(folder / "numa_node", 0, 1'000'000);  // -1: not told
    function.most_generation = generation_in(folder / "max_link_speed");
    function.most_width = number_in(folder / "max_link_width", 1, 64);
    function.width = number_in(folder / "current_link_width", 1, 64);
    // An idle GPU slows its link down: what it can do is more telling than what it does now.
    function.generation = function.most_generation;
    if ((function.class_code >> 8) == 0x0604) {
      function.generation = generation_in(folder / "current_link_speed");
      function.acs_redirect = acs_redirect(folder / "config");
    }
    if ((function.class_code >> 16) == 0x02) read_network(folder, function);
    machine_.functions.push_back(std::move(function));
  }

  static void read_network(const fs::path& folder, PciFunction& function) {
    const auto interface = entry_of(folder / "net");
    if (interface) {
      function.megabits_per_second =
          number_in(folder / "net" / *interface / "speed", 1, 10'000'000);
      function.name = interface;
    }
    if (const auto device = entry_of(folder / "infiniband")) function.name = device;
  }

  PciMachine& machine_;
  std::string host_bridge_;
};

void read_processors(const fs::path& nodes, PciMachine& machine) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(nodes, error)) {
    const auto name = entry.path().filename().string();
    if (!name.starts_with("node")) continue;
    const auto id = parse_int(std::string_view(name).substr(4), 0, 1'000'000);
    const auto list = contents(entry.path() / "cpulist");
    if (id && list) machine.processors[static_cast<int>(*id)] = *list;
  }
}

void report(const PciMachine& machine, std::vector<Finding>& findings) {
  const auto note = [&](const char* text) { findings.push_back({Severity::note, 0, text}); };
  if (machine.functions.empty()) {
    note("the kernel shows no PCI devices (/sys/devices/pci*)");
    return;
  }
  const auto is_port = [](const PciFunction& each) { return (each.class_code >> 8) == 0x0604; };
  const bool ports = std::ranges::any_of(machine.functions, is_port);
  const bool acs = std::ranges::any_of(
      machine.functions, [](const PciFunction& each) { return each.acs_redirect.has_value(); });
  if (ports && !acs)
    note("whether ports redirect peer traffic (ACS) could not be read: only root may");
}

}  // namespace

PciMachine read_sysfs(const std::string& root, std::vector<Finding>& findings) {
  PciMachine machine;
  const fs::path sys = fs::path(root.empty() ? "/" : root) / "sys/devices";
  std::error_code error;
  std::vector<fs::path> bridges;
  for (const auto& entry : fs::directory_iterator(sys, error))
    if (entry.path().filename().string().starts_with("pci") && entry.is_directory(error))
      bridges.push_back(entry.path());
  std::ranges::sort(bridges);
  SysfsReader reader(machine);
  for (const auto& bridge : bridges) reader.read_host_bridge(bridge);
  read_processors(sys / "system/node", machine);
  report(machine, findings);
  return machine;
}

}  // namespace ringside
