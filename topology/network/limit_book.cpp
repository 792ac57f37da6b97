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

void LimitBook::set_limit(PathId path, ResourceId limit, double now) {
  Path& limited = paths_[static_cast<std::size_t>(path)];
  bring_up(limited, now);
  const auto uses = std::span(resources_).subspan(limited.first, limited.count);
  limited.limit = static_cast<std::size_t>(std::ranges::find(uses, limit) - uses.begin());
}

int LimitBook::open(PathId path, double now) {
  Path& limited = paths_[static_cast<std::size_t>(path)];
  bring_up(limited, now);
  if (free_.empty()) {
    free_.push_back(static_cast<int>(notes_.size()));
    notes_.emplace_back();
  }
  const int note = free_.back();
  free_.pop_back();
  const auto sums = std::span(sums_).subspan(limited.first, limited.count);
  notes_[static_cast<std::size_t>(note)].assign(sums.begin(), sums.end());
  return note;
}

void LimitBook::close(PathId path, int note, double now, std::vector<Limit>& limits) {
  Path& limited = paths_[static_cast<std::size_t>(path)];
  bring_up(limited, now);
  const std::vector<double>& before = notes_[static_cast<std::size_t>(note)];
  for (std::size_t i = 0; i < limited.count; ++i) {
    const double seconds = sums_[limited.first + i] - before[i];
    if (seconds > 0) limits.push_back({resources_[limited.first + i], seconds});
  }
  free_.push_back(note);
}

}  // namespace ringside::network
