// SPDX-License-Identifier: MIT
/// What limited flows, and for how long.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ringside/topology/network/flow_engine.hpp"

namespace ringside::network {

/// Flows of one path have the same limit at any time: a path keeps one sum of seconds per resource,
/// a flow what these were when it began.
class LimitBook {
 public:
  void add_path(std::span<const Use> uses);
  /// From `now` on. -1: nothing limits the path.
  void set_limit(PathId path, ResourceId limit, double now);
  /// A flow begins. Returns the number of its note.
  [[nodiscard]] int open(PathId path, double now);
  /// It ends; its note is free again. Appends its limits, in the order of the path's uses.
  void close(PathId path, int note, double now, std::vector<Limit>& limits);

 private:
  struct Path {
    std::size_t first, count;  // its sums
    std::size_t limit;         // which of these goes on; `count`: none
    double since;
  };

  void bring_up(Path& path, double now);

  std::vector<Path> paths_;
  std::vector<ResourceId> resources_;  // by sum
  std::vector<double> sums_;
  std::vector<std::vector<double>> notes_;
  std::vector<int> free_;
};

}  // namespace ringside::network
