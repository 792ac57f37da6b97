// SPDX-License-Identifier: MIT
/// Progressive filling that starts from the rates before the change.
///
/// A level rises from 0, and with it the rates of the *rising* paths; all other paths keep the
/// rates they had. Resources wait in a queue by the level at which something happens to them:
/// - a resource with rising paths is full. Paths on it that had more than the level would be
///   treated better than these: they join the rising ones. When there are none left, its rising
///   paths have found their bottleneck and keep the level as their rate.
/// - the level reaches the rate of paths of which the resource was the bottleneck, and it is no
///   longer full: they join the rising ones.
/// A path that joins at some level had a rate at or above it. So no resource gets full below the
/// level any more and one pass is enough.
///
/// Rounding must not undo this: two resources that are full at levels which differ by hardly more
/// than what counts as the same would send their paths up in turn, for ever. So the level never
/// falls, and what is fixed in a pass stays so:
/// - push_down() raises paths with more than the highest level of the pass only. Those that this
///   pass has fixed have no more than that.
/// - A resource that has fixed paths in this pass counts as full, so relieve() raises none of them.
/// A path is thus raised at most once in a pass. A visit to a resource raises paths, or ends its
/// doubt, or fixes all paths that rise on it, and only raising paths brings doubt and rising paths
/// back. So there are no more visits than doubts, paths and their uses together, and the pass ends.
#include "ringside/topology/network/sharing.hpp"

#include <algorithm>
#include <cmath>

namespace ringside::network {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
/// Rates that are computed in different orders differ by rounding, a few 1e-16 per step. Those that
/// differ by no more than this (relative) are the same.
constexpr double same = 1e-11;
/// A resource is full when all but this part of its capacity is used.
constexpr double slack = 1e-9;
/// Resources with so few paths are summed up whenever a rate comes from them.
constexpr std::size_t small = 16;

}  // namespace

Sharing::Sharing(std::span<const Resource> resources, bool watches_all)
    : given_(resources), watches_all_(watches_all) {
  resources_.resize(resources.size());
  for (std::size_t i = 0; i < resources.size(); ++i) resources_[i].capacity = resources[i].capacity;
}

void Sharing::add_path(std::span<const Use> uses) {
  Path path;
  path.first = static_cast<int>(uses_.size());
  const auto limited = [this](const Use& use) {
    return std::isfinite(given_[at(use.resource)].capacity);
  };
  const auto count = [&] { return static_cast<unsigned short>(uses_.size() - at(path.first)); };
  for (const Use& use : uses)
    if (limited(use)) uses_.push_back({use.resource, -1, use.weight});
  path.limited = count();
  for (const Use& use : uses)
    if (!limited(use)) uses_.push_back({use.resource, -1, use.weight});
  path.unlimited = static_cast<unsigned short>(count() - path.limited);
  path.watched = watches_all_ || std::ranges::any_of(uses, [this](const Use& use) {
                   return !given_[at(use.resource)].efficiency.empty();
                 });
  paths_.push_back(path);
}

/// Of limited resources.
std::span<Sharing::PathUse> Sharing::uses(const Path& path) {
  return std::span(uses_).subspan(at(path.first), path.limited);
}

bool Sharing::full(ResourceId resource) const {
  const ResourceState& state = resources_[at(resource)];
  return state.rated > 0 && state.load >= state.capacity * (1 - slack);
}

void Sharing::touch(ResourceId id, ResourceState& resource) {
  if (std::exchange(resource.touched, true)) return;
  touched_.push_back(id);
}

void Sharing::move(ResourceId id, ResourceState& resource) {
  if (!std::exchange(resource.moved, true)) moved_.push_back(id);
}

void Sharing::list(PathId id, Path& path) {
  if (!std::exchange(path.listed, true)) listed_.push_back(id);
}

void Sharing::change(PathId path, int count) {
  if (std::exchange(settled_, false)) {
    for (const ResourceId touched : touched_) resources_[at(touched)].touched = false;
    touched_.clear();
  }
  Path& changed = paths_[at(path)];
  changed.flows += count;
  if (changed.watched)
    for (const PathUse& use :
         std::span(uses_).subspan(at(changed.first), at(changed.limited + changed.unlimited))) {
      ResourceState& resource = resources_[at(use.resource)];
      resource.flows += count;
      touch(use.resource, resource);
    }
  if (!std::exchange(changed.changed, true)) changed_.push_back(path);
}

// ---- loads ------------------------------------------------------------------------------------

void Sharing::sum_up(ResourceState& resource) {
  resource.load = 0;
  resource.rising = 0;
  resource.edits_left = 64 + 2 * static_cast<int>(resource.entries.size());
  for (const Entry& entry : resource.entries) {
    const Path& path = paths_[at(entry.path)];
    const double weight = uses_[at(entry.use)].weight;
    if (path.state == State::rated)
      resource.load += path.counted * weight * path.rate;
    else if (path.state == State::rising)
      resource.rising += path.flows * weight;
  }
}

/// Sums that are changed again and again gather rounding errors.
void Sharing::count_edit(ResourceState& resource) {
  if (--resource.edits_left < 0) sum_up(resource);
}

void Sharing::take_load(const Path& path, const PathUse& use, ResourceState& resource) {
  resource.load = --resource.rated == 0 ? 0 : resource.load - path.counted * use.weight * path.rate;
  --resource.edits_left;
}

void Sharing::enter(PathId id, int number, ResourceState& resource) {
  uses_[at(number)].place = static_cast<int>(resource.entries.size());
  resource.entries.push_back({id, number});
}

void Sharing::leave(const PathUse& use, ResourceState& resource) {
  const Entry last = resource.entries.back();
  resource.entries.pop_back();
  if (at(use.place) == resource.entries.size()) return;
  resource.entries[at(use.place)] = last;
  uses_[at(last.use)].place = use.place;
}

// ---- after a change ---------------------------------------------------------------------------

std::span<const PathId> Sharing::settle() {
  for (const PathId id : listed_) paths_[at(id)].listed = false;
  listed_.clear();
  for (const ResourceId id : moved_) resources_[at(id)].moved = false;
  moved_.clear();
  settled_ = true;

  for (const ResourceId id : touched_) {
    ResourceState& resource = resources_[at(id)];
    const Resource& given = given_[at(id)];
    if (given.efficiency.empty() || resource.flows == 0) continue;
    resource.capacity = given.capacity *
                        given.efficiency[std::min(at(resource.flows), given.efficiency.size()) - 1];
  }

  for (const PathId id : changed_) {
    Path& path = paths_[at(id)];
    path.changed = false;
    list(id, path);
    if (path.flows == path.counted) continue;  // one ended, another began
    if (path.limited == 0) {                   // nothing to share
      path.counted = path.flows;
      path.rate = path.flows > 0 ? infinite : 0;
      continue;
    }
    if (path.state == State::rated) withdraw(path);
    if (path.flows > 0) waiting_.push_back(id);
  }
  changed_.clear();

  for (const ResourceId id : touched_) doubt(resources_[at(id)]);
  std::erase_if(waiting_, [this](PathId id) { return place(id, paths_[at(id)]); });
  raise_all();
  return listed_;
}

/// A changed path loses its rate, and its place where it has no flows left.
void Sharing::withdraw(Path& path) {
  --resources_[at(path.bottleneck)].limited;
  for (const PathUse& use : uses(path)) {
    ResourceState& resource = resources_[at(use.resource)];
    take_load(path, use, resource);
    if (resource.limited > 0) touch(use.resource, resource);
    if (path.flows == 0) leave(use, resource);
  }
  path.counted = 0;
  path.rate = 0;
  path.bottleneck = -1;
  path.entered = path.flows > 0;
  path.state = path.flows > 0 ? State::waiting : State::idle;
}

/// Gives a waiting path its rate where that changes nobody else's. False: left as it is.
bool Sharing::place(PathId id, Path& path) {
  double rate = infinite;
  ResourceId bottleneck = -1;
  for (const PathUse& use : uses(path)) {
    const ResourceState& resource = resources_[at(use.resource)];
    if (resource.limited > 0) return false;
    const double possible = (resource.capacity - resource.load) / (path.flows * use.weight);
    if (possible < rate) {
      rate = possible;
      bottleneck = use.resource;
    }
  }
  ResourceState& resource = resources_[at(bottleneck)];
  if (resource.rated > 0)
    for (const Entry& entry : resource.entries)
      if (entry.path != id && paths_[at(entry.path)].rate > rate * (1 + same)) return false;

  path.rate = rate;
  path.bottleneck = bottleneck;
  path.counted = path.flows;
  path.state = State::rated;
  resource.level = rate;
  resource.limited = 1;
  move(bottleneck, resource);
  const bool entered = std::exchange(path.entered, true);
  for (int i = path.first; i < path.first + path.limited; ++i) {
    const PathUse& use = uses_[at(i)];
    ResourceState& used = resources_[at(use.resource)];
    used.load += path.flows * use.weight * rate;
    ++used.rated;
    if (!entered) enter(id, i, used);
    count_edit(used);
  }
  return true;
}

// ---- progressive filling ----------------------------------------------------------------------

/// A bottleneck of which the load or the capacity has changed may have ceased to be one.
void Sharing::doubt(ResourceState& resource) {
  if (resource.limited > 0 && !std::exchange(resource.doubtful, true)) ++doubtful_;
}

/// From which level on a resource has to be looked at.
double Sharing::key(const ResourceState& resource) {
  double key = infinite;
  if (resource.rising_paths > 0) key = (resource.capacity - resource.load) / resource.rising;
  if (resource.doubtful) key = std::min(key, resource.level);
  return key;
}

void Sharing::queue(ResourceId id, ResourceState& resource) {
  const bool early_enough = (resource.rising_paths == 0 || resource.capacity - resource.load >=
                                                               resource.queued * resource.rising) &&
                            (!resource.doubtful || resource.level >= resource.queued);
  if (early_enough) return;
  resource.queued = key(resource);
  queue_.set(id, {resource.queued, id}, queue_places_);
}

/// A path that is waiting, or has a rate and cannot keep it, begins to rise.
void Sharing::raise(PathId id) {
  Path& path = paths_[at(id)];
  const bool rated = path.state == State::rated;
  if (rated) --resources_[at(path.bottleneck)].limited;
  const bool entered = std::exchange(path.entered, true);
  for (int i = path.first; i < path.first + path.limited; ++i) {
    const PathUse& use = uses_[at(i)];
    ResourceState& resource = resources_[at(use.resource)];
    if (!entered) enter(id, i, resource);
    if (rated) take_load(path, use, resource);
    resource.rising += path.flows * use.weight;
    ++resource.rising_paths;
    if (watches_all_) touch(use.resource, resource);
    doubt(resource);
    queue(use.resource, resource);
  }
  path.state = State::rising;
  ++rising_paths_;
}

void Sharing::raise_all() {
  if (waiting_.empty() && doubtful_ == 0) return;
  for (const ResourceId id : touched_)
    if (resources_[at(id)].doubtful) queue(id, resources_[at(id)]);
  for (const PathId id : waiting_) raise(id);
  waiting_.clear();

  ++pass_;
  highest_ = 0;
  while (rising_paths_ > 0 || doubtful_ > 0) {
    const ResourceId id = queue_.top().id;
    ResourceState& resource = resources_[at(id)];
    if (resource.rising_paths == 0) resource.rising = 0;
    const double now = key(resource);
    if (now > resource.queued && now < infinite) {  // its moment has moved on
      resource.queued = now;
      queue_.set(id, {now, id}, queue_places_);
      continue;
    }
    resource.queued = infinite;
    queue_.erase(id, queue_places_);
    if (now < infinite) visit(id, resource);
  }
  while (!queue_.empty()) {
    resources_[at(queue_.last().id)].queued = infinite;
    queue_.erase(queue_.last().id, queue_places_);
  }
}

/// The level has come to a resource.
void Sharing::visit(ResourceId id, ResourceState& resource) {
  if (resource.entries.size() <= small) sum_up(resource);
  double level = infinite;
  if (resource.rising_paths > 0) level = (resource.capacity - resource.load) / resource.rising;
  if (resource.doubtful) {
    const bool still_full =
        resource.fixed_in == pass_ ||
        (resource.rising_paths == 0 ? resource.load >= resource.capacity * (1 - same)
                                    : level <= resource.level * (1 + same));
    if (!still_full) return relieve(id, resource);
  }
  level = std::max(level, highest_);  // lower by rounding only
  if (resource.doubtful) {
    // Paths that it limits, old and new, have the very same rate.
    if (resource.rising_paths == 0 || level >= resource.level * (1 - same)) level = resource.level;
  }
  if (resource.rising_paths > 0 && push_down(resource, level)) return queue(id, resource);
  fix(id, resource, level);
}

/// The paths that the resource has limited begin to rise.
void Sharing::relieve(ResourceId id, ResourceState& resource) {
  resource.doubtful = false;
  --doubtful_;
  resource.queued = -infinite;  // once is enough: when all of them rise
  above_.clear();
  for (const Entry& entry : resource.entries) {
    const Path& path = paths_[at(entry.path)];
    if (path.state == State::rated && path.bottleneck == id) {
      above_.push_back(entry.path);
      __builtin_prefetch(&uses_[at(path.first)]);
    }
  }
  for (const PathId other : above_) raise(other);
  resource.queued = infinite;
  queue(id, resource);
}

/// Paths that have more than `level` begin to rise. False: there are none. Also finds those that
/// rise already.
bool Sharing::push_down(ResourceState& resource, double level) {
  const double most = std::max(level, highest_) * (1 + same);
  above_.clear();
  rising_.clear();
  for (const Entry& entry : resource.entries) {
    const Path& path = paths_[at(entry.path)];
    if (path.state == State::rising) {
      rising_.push_back(entry.path);
      __builtin_prefetch(&uses_[at(path.first)]);
    } else if (path.state == State::rated && path.rate > most) {
      above_.push_back(entry.path);
      __builtin_prefetch(&uses_[at(path.first)]);
    }
  }
  for (const PathId other : above_) raise(other);
  return !above_.empty();
}

/// The rising paths of a full resource stay at `level`.
void Sharing::fix(ResourceId id, ResourceState& resource, double level) {
  if (std::exchange(resource.doubtful, false)) --doubtful_;
  if (resource.rising_paths == 0) return;
  resource.level = level;
  resource.fixed_in = pass_;
  highest_ = std::max(highest_, level);
  move(id, resource);
  for (const PathId rising : rising_) {
    Path& path = paths_[at(rising)];
    if (path.bottleneck != id) list(rising, path);
    path.state = State::rated;
    path.rate = level;
    path.bottleneck = id;
    path.counted = path.flows;
    for (const PathUse& use : uses(path)) {
      if (use.resource == id) continue;  // all at once, below
      ResourceState& used = resources_[at(use.resource)];
      --used.rising_paths;
      used.rising -= path.flows * use.weight;
      used.load += path.flows * use.weight * level;
      ++used.rated;
      count_edit(used);
    }
  }
  const auto count = static_cast<int>(rising_.size());
  resource.load += resource.rising * level;
  resource.rising = 0;
  resource.rising_paths = 0;
  resource.rated += count;
  resource.limited += count;
  rising_paths_ -= count;
  count_edit(resource);
}

}  // namespace ringside::network
