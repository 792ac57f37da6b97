// SPDX-License-Identifier: MIT
/// `lspci -vvv`: LnkCap, LnkSta and ACSCtl of every device.
#include <algorithm>
#include <array>
#include <charconv>
#include <functional>

#include "ringside/base/text.hpp"
#include "ringside/topology/graph.hpp"
#include "ringside/topology/readers/lspci.hpp"
#include "ringside/topology/readers/reading.hpp"

namespace ringside {
namespace {

constexpr std::array<std::string_view, 7> acs_bits = {
    "SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl", "DirectTrans"};

/// What stands behind "Speed " up to a comma or blank, and the flag in brackets behind it.
std::pair<std::string, std::string> value_of(std::string_view text, std::string_view key) {
  const auto at = text.find(key);
  if (at == std::string_view::npos) return {};
  auto rest = text.substr(at + key.size());
  const auto end = std::min(rest.find_first_of(", \t"), rest.size());
  const std::string value(rest.substr(0, end));
  rest = trim(rest.substr(end));
  if (!rest.starts_with('(')) return {value, ""};
  return {value, std::string(rest.substr(1, rest.find(')') - 1))};
}

/// "00, secondary=01, subordinate=03, sec-latency=0": hexadecimal.
std::optional<LspciDevice::Buses> read_buses(std::string_view text) {
  const auto number = [&](std::string_view key) {
    int value = -1;
    if (const auto digits = behind(text, key))
      std::from_chars(digits->data(), digits->data() + std::min<std::size_t>(digits->size(), 2),
                      value, 16);
    return value;
  };
  const LspciDevice::Buses buses{.secondary = number("secondary="),
                                 .subordinate = number("subordinate=")};
  if (buses.secondary < 1 || buses.subordinate < buses.secondary) return std::nullopt;
  return buses;
}

AcsControl read_acs(std::string_view text) {
  AcsControl acs;
  for (const auto word : split_blanks(text)) {
    if (word.size() < 2 || (word.back() != '+' && word.back() != '-')) continue;
    const auto name = word.substr(0, word.size() - 1);
    if (std::ranges::find(acs_bits, name) != acs_bits.end())
      acs.bits[std::string(name)] = word.back() == '+';
  }
  acs.complete = acs.bits.size() == acs_bits.size();
  return acs;
}

class LinksReader {
 public:
  std::vector<Reading> read(const Text& text) {
    for (const auto& line : text.lines) look_at(line);
    const auto is_bare = [](const LspciDevice& device) {
      return !device.capability && !device.status && !device.acs;
    };
    for (const auto& device : links_.devices)
      if (is_bare(device) && is_named_controller(device)) links_.listed.push_back(device);
    std::erase_if(links_.devices, is_bare);
    std::vector<Reading> readings;
    if (!links_.devices.empty() || !links_.listed.empty())
      readings.push_back(Reading{.reader = links_.devices.empty() ? "lspci" : "lspci -vvv",
                                 .source = {},
                                 .first_line = first_line_,
                                 .last_line = last_line_,
                                 .facts = std::move(links_),
                                 .findings = std::move(findings_)});
    return readings;
  }

 private:
  void look_at(const TextLine& line) {
    if (start_device(line)) {
      if (!is_named_controller(links_.devices.back())) return;
      if (first_line_ == 0) first_line_ = line.number;
      last_line_ = std::max(last_line_, line.number);
      return;
    }
    if (const auto capability = behind(line.text, "LnkCap:")) {
      device([](const LspciDevice& each) { return each.capability.has_value(); }).capability = {
          .speed = value_of(*capability, "Speed ").first,
          .width = value_of(*capability, "Width ").first};
    } else if (const auto status = behind(line.text, "LnkSta:")) {
      const auto [speed, speed_flag] = value_of(*status, "Speed ");
      const auto [width, width_flag] = value_of(*status, "Width ");
      auto& each = device([](const LspciDevice& known) { return known.status.has_value(); });
      each.status = {
          .speed = speed, .speed_flag = speed_flag, .width = width, .width_flag = width_flag};
      each.status_line = line.number;
    } else if (const auto acs = behind(line.text, "ACSCtl:")) {
      auto control = read_acs(*acs);
      if (!control.complete)
        findings_.push_back({Severity::warning, line.number, "this ACSCtl line is cut"});
      auto& each = device([](const LspciDevice& known) { return known.acs.has_value(); });
      each.acs = std::move(control);
      each.acs_line = line.number;
    } else if (const auto buses = behind(line.text, "Bus: primary="); buses && has_address()) {
      links_.devices.back().buses = read_buses(*buses);
      return;
    } else if (const auto node = behind(line.text, "NUMA node:"); node && has_address()) {
      if (const auto number = parse_int(trim(*node), 0, 1'000'000))
        links_.devices.back().numa = static_cast<int>(*number);
      return;
    } else {
      return;
    }
    if (first_line_ == 0) first_line_ = line.number;
    last_line_ = line.number;
  }

  [[nodiscard]] bool has_address() const {
    return !links_.devices.empty() && !links_.devices.back().address.empty();
  }

  /// "3D controller: NVIDIA ...": the class names of pci.ids for what a topology is made of.
  static bool is_named_controller(const LspciDevice& device) {
    static constexpr std::array<std::string_view, 7> classes = {
        "VGA compatible controller", "3D controller",         "Display controller",
        "Processing accelerators",   "Infiniband controller", "Ethernet controller",
        "Network controller"};
    return std::ranges::any_of(classes, [&](std::string_view name) {
      return device.description.starts_with(name) && device.description.size() > name.size() &&
             device.description.find(':') != std::string::npos;
    });
  }

  /// "31:00.0" or "0000:31:00.0 3D controller: ...".
  bool start_device(const TextLine& heading) {
    const auto line = trim(heading.text);
    const auto words = split_blanks(line);
    if (words.empty() || !parse_pci_address(words.front())) return false;
    auto& device = links_.devices.emplace_back();
    device.line = heading.number;
    device.address = words.front();
    device.description = trim(line.substr(words.front().size()));
    return true;
  }

  /// The device in hand, or a nameless one when what it is asked for is already known of that.
  template <class Has>
  LspciDevice& device(Has has) {
    if (links_.devices.empty() || has(links_.devices.back())) links_.devices.emplace_back();
    return links_.devices.back();
  }

  LspciLinks links_;
  std::vector<Finding> findings_;
  int first_line_ = 0, last_line_ = 0;
};

}  // namespace

std::vector<const LspciDevice*> bridges_above(const LspciLinks& links, const LspciDevice& device) {
  std::vector<const LspciDevice*> above;
  const auto place = parse_pci_address(device.address);
  if (!place) return above;
  for (const auto& bridge : links.devices) {
    const auto address = parse_pci_address(bridge.address);
    if (bridge.buses && address && address->domain == place->domain &&
        bridge.buses->secondary <= place->bus && place->bus <= bridge.buses->subordinate)
      above.push_back(&bridge);
  }
  std::ranges::stable_sort(above, std::greater{},
                           [](const LspciDevice* bridge) { return bridge->buses->secondary; });
  return above;
}

std::vector<Reading> read_lspci_links(const Text& text) { return LinksReader().read(text); }

}  // namespace ringside
