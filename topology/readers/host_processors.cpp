// SPDX-License-Identifier: MIT
/// `lscpu`, /proc/cpuinfo, /proc/PID/status, `taskset -cp`.
#include <algorithm>
#include <array>

#include "ringside/base/text.hpp"
#include "ringside/topology/readers/host_facts.hpp"

namespace ringside {
namespace {

constexpr std::array<std::string_view, 6> lscpu_keys = {
    "Vendor ID", "Model name", "Socket(s)", "NUMA node(s)", "CPU(s)", "Core(s) per socket"};

/// "NUMA node0 CPU(s)"
bool is_node_list(std::string_view key) {
  return key.starts_with("NUMA node") && key.ends_with(" CPU(s)") && key != "NUMA node CPU(s)";
}

}  // namespace

void read_processors(const Text& text, std::size_t at, std::vector<HostFact>& facts) {
  const std::string_view line = text.lines[at].text;
  const int number = text.lines[at].number;
  const auto add = [&](HostFactKind kind, std::string_view key, std::string_view value) {
    facts.push_back({kind, std::string(key), std::string(value), number});
  };
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const auto key = trim(line.substr(0, colon));
  auto value = trim(line.substr(colon + 1));
  while (value.starts_with(':')) value = trim(value.substr(1));
  if (value.empty()) return;
  if (std::ranges::find(lscpu_keys, key) != lscpu_keys.end() || is_node_list(key))
    add(HostFactKind::processor, key, value);
  else if (key == "model name")  // /proc/cpuinfo has it for each processor
    add(HostFactKind::processor, "Model name", value);
  else if (key == "Hypervisor vendor")
    add(HostFactKind::hypervisor, "flag", value);
  else if (key == "Flags" || key == "flags") {
    const auto words = split_blanks(value);
    if (std::ranges::find(words, "hypervisor") != words.end())
      add(HostFactKind::hypervisor, "flag", "hypervisor");
  } else if (key == "Cpus_allowed_list" || key.ends_with("current affinity list"))
    add(HostFactKind::allowed_cpus, "list", value);
}

}  // namespace ringside
