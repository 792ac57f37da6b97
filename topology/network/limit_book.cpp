// SPDX-License-Identifier: MIT
/// Sums of seconds per path and resource.
#include "ringside/topology/network/limit_book.hpp"

#include <algorithm>

namespace ringside::network {

void LimitBook::add_path(std::span<const Use> uses) {
  paths_.push_back({sums_.size(), uses.size(), uses.size(), 0});
  for (const Use& use : uses) resources_.push_back(use.resource);
  sums_.resize(resources_.size(), 0);
}

void LimitBook::bring_up(Path& path, double now) {
  if (path.limit != path.count) sums_[path.first + path.limit] += now - path.since;
  path.since = now;
}

void LimitBook::set_limit(PathId id, ResourceId limit, double now) {
  Path& path = paths_[static_cast<std::size_t>(id)];
  bring_up(path, now);
  const auto uses = std::span(resources_).subspan(path.first, path.count);
  path.limit = static_cast<std::size_t>(std::ranges::find(uses, limit) - uses.begin());
}

int LimitBook::open(PathId id, double now) {
  Path& path = paths_[static_cast<std::size_t>(id)];
  bring_up(path, now);
  if (free_.empty()) {
    free_.push_back(static_cast<int>(notes_.size()));
    notes_.emplace_back();
  }
  const int note = free_.back();
  free_.pop_back();
  const auto sums = std::span(sums_).subspan(path.first, path.count);
  notes_[static_cast<std::size_t>(note)].assign(sums.begin(), sums.end());
  return note;
}

void LimitBook::close(PathId id, int note, double now, std::vector<Limit>& limits) {
  Path& path = paths_[static_cast<std::size_t>(id)];
  bring_up(path, now);
  const std::vector<double>& before = notes_[static_cast<std::size_t>(note)];
  for (std::size_t i = 0; i < path.count; ++i) {
    const double seconds = sums_[path.first + i] - before[i];
    if (seconds > 0) limits.push_back({resources_[path.first + i], seconds});
  }
  free_.push_back(note);
}

}  // namespace ringside::network
