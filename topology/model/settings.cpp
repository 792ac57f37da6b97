// SPDX-License-Identifier: MIT
/// `--set`: figures and links by name.
#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/topology/model/link_rates.hpp"
#include "ringside/topology/model/named_links.hpp"
#include "ringside/topology/model/what_if.hpp"

namespace ringside {
namespace {

constexpr const char* given = "given on the command line";

/// A width that the model may not have a figure of its own for.
bool is_pcie_width(std::string_view name) {
  constexpr std::string_view start = "pcie", middle = ".x", end = ".bandwidth";
  if (!name.starts_with(start) || !name.ends_with(end)) return false;
  name = name.substr(start.size(), name.size() - start.size() - end.size());
  const auto at = name.find(middle);
  if (at == std::string_view::npos) return false;
  const auto width = parse_int(name.substr(at + middle.size()), 1, 32);
  return parse_int(name.substr(0, at), 1, 7) && width && (*width & (*width - 1)) == 0;
}

[[noreturn]] void fail_unknown(const MachineDescription& machine, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& figure : machine.model.figures) names.push_back(figure.name);
  for (auto& link : link_names(machine.topology)) names.push_back(std::move(link));
  const std::vector<std::string_view> views(names.begin(), names.end());
  throw Error(ErrorCode::bad_input,
              fmt::format("{} is neither a figure of the link model {} nor a link of the "
                          "machine{}",
                          quote(name), quote(machine.model.name), did_you_mean(name, views)));
}

}  // namespace

MachineDescription with_figure(MachineDescription machine, std::string_view setting) {
  const auto equals = setting.find('=');
  const auto value =
      equals == std::string_view::npos ? std::nullopt : parse_number(setting.substr(equals + 1));
  if (!value || *value < 0)
    throw Error(ErrorCode::bad_input, fmt::format("expected NAME=NUMBER, a number that is not "
                                                  "negative, not {}",
                                                  quote(setting)));
  const std::string name(setting.substr(0, equals));
  if (const Figure* figure = machine.model.find(name)) {
    Figure changed = *figure;
    changed.value = *value;
    changed.confidence = Confidence::stated;
    changed.source = given;
    machine.model.set(std::move(changed));
    return machine;
  }
  if (is_pcie_width(name)) {
    machine.model.set({.name = name,
                       .value = *value,
                       .unit = "GB/s",
                       .confidence = Confidence::stated,
                       .source = given});
    return machine;
  }
  const auto links = links_named(machine.topology, name);
  if (links.empty()) fail_unknown(machine, name);
  if (*value == 0)
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: a link's bandwidth is more than 0; link:{}=off takes it out",
                            quote(setting), name));
  for (const LinkId link : links)
    machine.topology.link(link).bandwidth =
        stated_bandwidth_for(machine.topology, machine.model, link, *value);
  return machine;
}

}  // namespace ringside
