// SPDX-License-Identifier: MIT
/// Interning of paths.
#include "ringside/topology/network/path_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "ringside/base/error.hpp"

namespace ringside::network {
namespace {

std::uint64_t hash_of(std::span<const Use> uses) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, by words
  for (const Use& use : uses) {
    hash = (hash ^ static_cast<std::uint64_t>(use.resource)) * 0x100000001b3;
    hash = (hash ^ std::bit_cast<std::uint64_t>(use.weight)) * 0x100000001b3;
  }
  return hash;
}

}  // namespace

std::span<const Use> PathTable::uses(PathId path) const {
  const auto index = static_cast<std::size_t>(path);
  const std::size_t begin = path == 0 ? 0 : ends_[index - 1];
  return std::span(uses_).subspan(begin, ends_[index] - begin);
}

void PathTable::normalise(std::span<const Use> uses) {
  wanted_.assign(uses.begin(), uses.end());
  for (const Use& use : wanted_) {
    if (use.resource < 0 || use.resource >= resources_)
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("a path uses resource {}, but there are {}", use.resource, resources_));
    if (!(use.weight > 0) || !std::isfinite(use.weight))
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("a path uses resource {} with weight {}; weights are above 0",
                              use.resource, use.weight));
  }
  std::stable_sort(wanted_.begin(), wanted_.end(),
                   [](const Use& a, const Use& b) { return a.resource < b.resource; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    if (kept > 0 && wanted_[kept - 1].resource == wanted_[i].resource)
      wanted_[kept - 1].weight += wanted_[i].weight;
    else
      wanted_[kept++] = wanted_[i];
  }
  wanted_.resize(kept);
}

PathId PathTable::add(std::span<const Use> uses) {
  normalise(uses);
  const std::uint64_t hash = hash_of(wanted_);
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto known = first; known != last; ++known)
    if (std::ranges::equal(this->uses(known->second), wanted_)) return known->second;

  const PathId path = size();
  uses_.insert(uses_.end(), wanted_.begin(), wanted_.end());
  ends_.push_back(uses_.size());
  by_hash_.emplace(hash, path);
  return path;
}

}  // namespace ringside::network
