// SPDX-License-Identifier: MIT
#include "ringside/collectives/outside.hpp"

#include <fmt/format.h>

#include <cctype>
#include <set>

#include "ringside/base/text.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/algorithms/builtin.hpp"
#include "ringside/collectives/plugin/plan_file.hpp"
#include "ringside/collectives/spec.hpp"

namespace ringside {
namespace {

const std::set<std::string>& our_names() {
  static const std::set<std::string>& names = *[] {
    auto* const all = new std::set<std::string>;  // as long as an algorithm may be at work
    for (const auto& info : builtin_algorithms()) all->insert(info.name);
    return all;
  }();
  return names;
}

/// Whether the name stands in the spec, not as a part of a longer one.
bool has_name(std::string_view spec, std::string_view name) {
  const auto continues = [&](std::size_t at) {
    return at < spec.size() &&
           (std::isalnum(static_cast<unsigned char>(spec[at])) != 0 || spec[at] == '_');
  };
  for (auto at = spec.find(name); at != std::string_view::npos; at = spec.find(name, at + 1))
    if ((at == 0 || !continues(at - 1)) && !continues(at + name.size())) return true;
  return false;
}

}  // namespace

std::optional<std::string> outside_algorithm_in(std::string_view spec) {
  if (is_plan_file(spec)) return std::nullopt;
  for (const AlgorithmInfo& info : registered_algorithms())
    if (!our_names().contains(info.name) && has_name(spec, info.name))
      return info.origin.empty()
                 ? info.name
                 : fmt::format("{} (plug-in {})", info.name, quote(info.origin, longest_path));
  return std::nullopt;
}

}  // namespace ringside
