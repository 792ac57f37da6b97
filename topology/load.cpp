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

std::optional<Topology> preset_named(const std::string& input) {
  std::error_code ignored;
  return std::filesystem::exists(input, ignored) ? std::nullopt : make_preset(input);
}

/// A file that is not there may be a preset's name misspelt.
[[noreturn]] void fail_to_find(const std::string& input) {
  std::vector<std::string_view> names;
  for (const auto& preset : presets()) names.push_back(preset.name);
  throw Error(ErrorCode::bad_input, fmt::format("{} is neither a file nor a preset{}", quote(input),
                                                did_you_mean(input, names)));
}

std::vector<Reading> read_input(const std::string& input) {
  std::error_code ignored;
  if (input != "-" && !std::filesystem::exists(input, ignored)) fail_to_find(input);
  return read_text(read_file(input, TextLimits{}.bytes), input == "-" ? "standard input" : input);
}

}  // namespace

LoadedTopology load_topology(std::span<const std::string> inputs) {
  LoadedTopology loaded;
  for (const auto& input : inputs) {
    if (auto topology = preset_named(input)) {
      if (inputs.size() > 1)
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("the preset {} is a whole machine: it takes no other inputs", input));
      loaded.built = BuiltTopology{.topology = std::move(*topology), .findings = {}};
      return loaded;
    }
    std::ranges::move(read_input(input), std::back_inserter(loaded.readings));
  }
  if (tells_links(loaded.readings)) loaded.built = build_topology(loaded.readings);
  std::vector<Finding> findings;
  loaded.measured =
      measurements_of(loaded.readings, loaded.built ? &loaded.built->topology : nullptr, findings);
  if (loaded.built) std::ranges::move(findings, std::back_inserter(loaded.built->findings));
  return loaded;
}

}  // namespace ringside
