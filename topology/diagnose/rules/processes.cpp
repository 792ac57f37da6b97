// SPDX-License-Identifier: MIT
#include "ringside/topology/diagnose/rules/processes.hpp"

#include <algorithm>
#include <array>

#include "ringside/base/text.hpp"

namespace ringside {
namespace {

bool draws(const std::string& name) {
  constexpr std::array<std::string_view, 5> desktops = {"Xorg", "gnome-shell", "Xwayland", "kwin",
                                                        "firefox"};
  return std::ranges::any_of(desktops,
                             [&](auto desktop) { return name.find(desktop) != std::string::npos; });
}

}  // namespace

std::vector<GpuProcess> gpu_processes(const Evidence& evidence) {
  constexpr int most_gpus = 1024, most_pid = 1 << 30, most_mib = 1 << 24;
  std::vector<GpuProcess> found;
  for (const auto& facts : evidence.all<HostFacts>())
    for (const auto& fact : facts->facts) {
      if (fact.kind != HostFactKind::process) continue;
      const auto words = split_blanks(fact.value);
      if (words.size() < 3) continue;
      const auto gpu = parse_int(fact.key, 0, most_gpus), pid = parse_int(words[0], 1, most_pid),
                 mib = parse_int(words[1], 0, most_mib);
      if (!gpu || !pid || !mib || draws(std::string(words[2]))) continue;
      found.push_back({static_cast<int>(*gpu), static_cast<int>(*pid), static_cast<int>(*mib),
                       std::string(words[2]),
                       evidence.line(facts.reading->source, fact.line).value_or(ShownLine{})});
    }
  return found;
}

}  // namespace ringside
