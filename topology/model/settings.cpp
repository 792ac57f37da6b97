// SPDX-License-Identifier: MIT
/// `--set`: figures and links by name.
#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

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

constexpr double least_bandwidth = 1e-3, most_bandwidth = 1e5;  // GB/s

/// What a figure can be, and that in words.
struct Range {
  double least = 0, most = 0;
  bool whole = false;
  std::string_view words;
};

Range range_of(const Figure& figure) {
  constexpr double most_time = 1e6;
  if (figure.unit == "GB/s")
    return {least_bandwidth, most_bandwidth, false, "a bandwidth is from 0.001 to 100000 GB/s"};
  if (figure.unit == "us") return {0, most_time, false, "a time is from 0 to 1000000 us"};
  if (figure.name == "copies.by_engine" || figure.name == "pcie.peer_access")
    return {0, 1, true, "it is 0 (no) or 1 (yes)"};
  if (figure.name.starts_with("pcie_generation."))
    return {1, most_pcie_generation, true, "PCIe generations go from 1 to 6"};
  if (figure.name.ends_with(".collapse_from"))
    return {1, 64, true, "a number of GPUs is whole, from 1 to 64"};
  return {1e-3, 1, false, "a part of the whole is from 0.001 to 1"};
}

void check_range(std::string_view setting, const Figure& figure, double value) {
  const Range range = range_of(figure);
  if (value < range.least || value > range.most || (range.whole && value != std::floor(value)))
    throw Error(ErrorCode::bad_input, fmt::format("{}: {}", quote(setting), range.words));
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
    check_range(setting, *figure, *value);
    Figure changed = *figure;
    changed.value = *value;
    changed.confidence = Confidence::stated;
    changed.source = given;
    machine.model.set(std::move(changed));
    return machine;
  }
  if (is_pcie_width(name)) {
    Figure width{.name = name,
                 .value = *value,
                 .unit = "GB/s",
                 .confidence = Confidence::stated,
                 .source = given};
    check_range(setting, width, *value);
    machine.model.set(std::move(width));
    return machine;
  }
  const auto links = links_named(machine.topology, name);
  if (links.empty()) fail_unknown(machine, name);
  if (*value == 0)
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: a link's bandwidth is more than 0; link:{}=off takes it out",
                            quote(setting), name));
  if (*value < least_bandwidth || *value > most_bandwidth)
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: a link's bandwidth is from 0.001 to 100000 GB/s", quote(setting)));
  for (const LinkId link : links)
    machine.topology.link(link).bandwidth =
        stated_bandwidth_for(machine.topology, machine.model, link, *value);
  return machine;
}

}  // namespace ringside
