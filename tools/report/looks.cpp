// SPDX-License-Identifier: MIT
#include "ringside/tools/report/looks.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace ringside::report {
namespace {

/// Those that are often in one chart are far apart in colour.
constexpr auto known = std::to_array<std::pair<std::string_view, Look>>({
    {"ring", {0, 0}},
    {"two_shot", {1, 1}},
    {"one_shot", {2, 2}},
    {"halving_doubling", {3, 3}},
    {"chain", {4, 0}},
    {"recursive_doubling", {5, 1}},
    {"hierarchical", {6, 2}},
    {"naive", {7, 3}},
    {"binomial", {2, 4}},
    {"double_tree", {3, 0}},
    {"bidirectional_ring", {0, 3}},
    {"neighbour_push", {1, 4}},
    {"linear", {5, 2}},
    {"direct", {6, 1}},
    {"bruck", {4, 3}},
    {"auto", {7, 0}},
    {"openmpi", {4, 5}},
    {"openmpi-tuned", {5, 5}},
    {"openmpi-nocma", {1, 5}},
    {"mpich", {6, 5}},
    {"gloo", {3, 5}},
    {"nccl", {2, 5}},
});

std::string_view base_of(std::string_view label) { return label.substr(0, label.find(':')); }

}  // namespace

Look Looks::of(const std::string& label) {
  if (const auto found = given_.find(label); found != given_.end()) return found->second;
  const auto* listed =
      std::ranges::find(known, base_of(label), [](const auto& entry) { return entry.first; });
  Look look = listed != known.end() ? listed->second : Look{unknown_++ % palette_size, 6};
  const auto taken = [&] {
    return std::ranges::any_of(given_, [&](const auto& other) { return other.second == look; });
  };
  // A bare name has what is reserved for it, whatever came before.
  const bool bare = listed != known.end() && label == base_of(label);
  if (listed != known.end() && !bare) look.marker = (look.marker + 6) % marker_count;
  for (int tries = 0; !bare && taken() && tries < marker_count; ++tries)
    look.marker = (look.marker + 1) % marker_count;
  return given_.emplace(label, look).first->second;
}

}  // namespace ringside::report
