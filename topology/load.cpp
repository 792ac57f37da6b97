// SPDX-License-Identifier: MIT
#include "ringside/topology/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "ringside/base/error.hpp"
#include "ringside/base/file.hpp"
#include "ringside/base/text.hpp"
#include "ringside/topology/build/measured.hpp"
#include "ringside/topology/presets/presets.hpp"
#include "ringside/topology/readers/text.hpp"

namespace ringside {
namespace {

/// A file that is not there may be a preset's name misspelt.
[[noreturn]] void fail_to_find(const std::string& input) {
  std::vector<std::string_view> names;
  for (const auto& preset : presets()) names.push_back(preset.name);
  throw Error(ErrorCode::bad_input, fmt::format("{} is neither a file nor a preset{}", quote(input),
                                                did_you_mean(input, names)));
}

}  // namespace

void check_alone(const std::string& preset, std::size_t inputs) {
  if (inputs > 1)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the preset {} is a whole machine: it takes no other inputs", preset));
}

std::optional<Topology> preset_of_input(const std::string& input) {
  std::error_code ignored;
  return std::filesystem::exists(input, ignored) ? std::nullopt : make_preset(input);
}

std::string text_of_input(const std::string& input) {
  std::error_code ignored;
  if (input != "-" && !std::filesystem::exists(input, ignored)) fail_to_find(input);
  return read_file(input, TextLimits{}.bytes);
}

std::string source_name(const std::string& input) {
  return input == "-" ? "standard input" : input;
}

LoadedTopology load_readings(std::vector<Reading> readings) {
  LoadedTopology loaded;
  loaded.readings = std::move(readings);
  if (tells_links(loaded.readings)) loaded.built = build_topology(loaded.readings);
  std::vector<Finding> findings;
  loaded.measured =
      measurements_of(loaded.readings, loaded.built ? &loaded.built->topology : nullptr, findings);
  if (loaded.built) std::ranges::move(findings, std::back_inserter(loaded.built->findings));
  return loaded;
}

LoadedTopology load_topology(std::span<const std::string> inputs) {
  std::vector<Reading> readings;
  for (const auto& input : inputs) {
    if (auto topology = preset_of_input(input)) {
      check_alone(input, inputs.size());
      LoadedTopology loaded;
      loaded.built = BuiltTopology{.topology = std::move(*topology), .findings = {}};
      return loaded;
    }
    std::ranges::move(read_text(text_of_input(input), source_name(input)),
                      std::back_inserter(readings));
  }
  return load_readings(std::move(readings));
}

}  // namespace ringside
