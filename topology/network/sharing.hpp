// SPDX-License-Identifier: MIT
/// Who gets how much of what, at one moment: the max-min fair rates of flows on paths, kept up to
/// date while flows come and go.
///
/// Flows of one path have one rate, so what is shared between is paths, with a number of flows
/// each. A rate is right when its path has a *bottleneck*: a resource that is full and on which no
/// path has a higher rate. That this holds for all paths defines max-min fair rates (Bertsekas and
/// Gallager, Data Networks, 6.5.2), and it is what makes repairing them local: after a change
/// only paths are raised again that have lost their bottleneck or stand in the way of others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "ringside/topology/network/flow_engine.hpp"
#include "ringside/topology/network/indexed_heap.hpp"

namespace ringside::network {

class Sharing {
 public:
  /// `watches_all`: touched() and flows() are wanted.
  explicit Sharing(std::span<const Resource> resources, bool watches_all = true);

  /// Paths are numbered from 0. `uses`: every resource at most once.
  void add_path(std::span<const Use> uses);

  /// `count` more flows on the path (fewer, when negative).
  void change(PathId path, int count);

  /// Works out the rates after all changes since the last time. Returns the paths that were
  /// changed and those that have got another bottleneck, each once, in no particular order.
  [[nodiscard]] std::span<const PathId> settle();

  /// Of each flow, bytes per second; infinite where no resource of the path is limited; 0 without
  /// flows.
  [[nodiscard]] double rate(PathId path) const { return paths_[at(path)].rate; }
  /// What limits the path; -1: nothing. All paths that it limits have the rate level(it).
  [[nodiscard]] ResourceId bottleneck(PathId path) const { return paths_[at(path)].bottleneck; }

  /// Whether anything limits the path at all.
  [[nodiscard]] bool limits(PathId path) const { return paths_[at(path)].limited > 0; }

  [[nodiscard]] double level(ResourceId resource) const { return resources_[at(resource)].level; }

  /// How many flows are on it.
  [[nodiscard]] int flows(ResourceId resource) const { return resources_[at(resource)].flows; }
  /// Whether its capacity is used up. Then, and only then, it is a bottleneck of some flow.
  [[nodiscard]] bool full(ResourceId resource) const;
  /// The resources of which the last settle() has changed the level or the paths that they limit.
  /// Those that limit no path any more need not be there.
  [[nodiscard]] std::span<const ResourceId> moved() const { return moved_; }
  /// The resources of which flows or load have changed since the last but one settle().
  [[nodiscard]] std::span<const ResourceId> touched() const { return touched_; }

 private:
  enum class State : unsigned char {
    idle,     // no flows
    waiting,  // changed: in no load, not yet raised
    rising,   // being raised
    rated,    // has its rate; part of the load
  };

  struct PathUse {
    ResourceId resource;
    int place;  // in the resource's list
    double weight;
  };

  struct Path {
    double rate = 0;
    int flows = 0;    // wanted
    int counted = 0;  // in the loads
    ResourceId bottleneck = -1;
    int first = 0;                              // of its uses: those of limited resources, then
    unsigned short limited = 0, unlimited = 0;  // those of others
    State state = State::idle;
    bool entered = false;  // is in the lists of its resources
    bool watched = false;  // the flows of its resources are counted
    bool changed = false, listed = false;
  };

  struct Entry {
    PathId path;
    int use;
  };

  struct alignas(64) ResourceState {
    double capacity;    // with as many flows as there are now
    double load = 0;    // of rated paths
    double rising = 0;  // what raising all rising paths by 1 takes
    double level = 0;   // rate of the paths that it limits
    double queued = std::numeric_limits<double>::infinity();  // its key in the queue
    int flows = 0;
    int rated = 0;         // paths
    int rising_paths = 0;  // paths
    int limited = 0;       // paths of which it is the bottleneck
    int edits_left = 0;    // of the load before it is summed up again
    bool touched = false, moved = false;
    bool doubtful = false;      // is a bottleneck, but may have ceased to be full
    std::int64_t fixed_in = 0;  // the last pass in which paths have found it to be their bottleneck
    std::vector<Entry> entries;
  };

  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  std::span<PathUse> uses(const Path& path);
  void touch(ResourceId id, ResourceState& resource);
  void list(PathId id, Path& path);
  void move(ResourceId id, ResourceState& resource);
  void enter(PathId id, int number, ResourceState& resource);
  void leave(const PathUse& use, ResourceState& resource);
  static void take_load(const Path& path, const PathUse& use, ResourceState& resource);
  void count_edit(ResourceState& resource);
  void sum_up(ResourceState& resource);
  void withdraw(Path& path);
  bool place(PathId id, Path& path);
  void doubt(ResourceState& resource);
  void raise(PathId id);
  void raise_all();
  [[nodiscard]] static double key(const ResourceState& resource);
  void queue(ResourceId id, ResourceState& resource);
  void visit(ResourceId id, ResourceState& resource);
  void relieve(ResourceId id, ResourceState& resource);
  [[nodiscard]] bool push_down(ResourceState& resource, double level);
  void fix(ResourceId id, ResourceState& resource, double level);

  std::span<const Resource> given_;
  bool watches_all_;
  std::vector<ResourceState> resources_;
  std::vector<Path> paths_;
  std::vector<PathUse> uses_;
  std::vector<PathId> changed_, listed_, waiting_;
  std::vector<ResourceId> touched_, moved_;
  bool settled_ = true;

  IndexedHeap<std::pair<double, ResourceId>> queue_;  // by level; never two alike
  HeapPlaces queue_places_;
  int rising_paths_ = 0, doubtful_ = 0;
  std::int64_t pass_ = 0;               // of raise_all()
  double highest_ = 0;                  // level at which this pass has fixed paths
  std::vector<PathId> above_, rising_;  // of the resource that is looked at
};

}  // namespace ringside::network
