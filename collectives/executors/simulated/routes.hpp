// SPDX-License-Identifier: MIT
/// The demands of ops as paths of a flow engine, each worked out once.
#pragma once

#include <cstddef>
#include <deque>
#include <unordered_map>
#include <vector>

#include "ringside/collectives/plan.hpp"
#include "ringside/topology/model/machine.hpp"
#include "ringside/topology/network/flow_engine.hpp"

namespace ringside::simulated {

struct Route {
  PathId path = 0;
  double overhead = 0;  ///< seconds
  double latency = 0;   ///< seconds
  /// Whether the GPU reaches all memory of the op. Else the plan must be lowered, and the rest of
  /// this is void.
  bool reached = true;
};

class Routes {
 public:
  /// `gpus`: of each rank. Machine and engine must outlive it.
  Routes(const Machine& machine, FlowEngine& engine, std::vector<int> gpus, std::size_t streams);

  /// `slots`: of each rank. The reference stays valid.
  template <class SlotsOfRank>
  const Route& of(const Op& op, std::size_t stream, const SlotsOfRank& slots) {
    // A stream mostly does the same over again.
    Last& last = last_[stream];
    if (last.route == nullptr || !each_part(op, slots, Matching{last.key})) {
      key_.clear();
      (void)each_part(op, slots, [&](int part) { return key_.push_back(part), true; });
      last = {key_, &find()};
    }
    return *last.route;
  }

 private:
  struct Hash {
    std::size_t operator()(const std::vector<int>& key) const;
  };
  struct Last {
    std::vector<int> key;
    const Route* route = nullptr;
  };

  /// Compares with a key part by part.
  struct Matching {
    const std::vector<int>& key;
    std::size_t next = 0;
    bool operator()(int part) { return next < key.size() && key[next++] == part; }
  };

  /// Ranks and where their memory is say it all: visits them as numbers, as long as `visit` says
  /// true, and says whether it always has. Keys of different lengths differ in their first parts.
  template <class SlotsOfRank, class Visit>
  static bool each_part(const Op& op, const SlotsOfRank& slots, Visit visit) {
    if (!visit(op.rank) || !visit(static_cast<int>(op.sources.size())) ||
        !visit(static_cast<int>(op.destinations.size())))
      return false;
    for (const auto locations : {op.sources, op.destinations})
      for (const Location& location : locations)
        if (!visit(location.rank * 2 + (at_host(location, slots) ? 1 : 0))) return false;
    return true;
  }

  template <class SlotsOfRank>
  static bool at_host(const Location& location, const SlotsOfRank& slots) {
    return location.buffer == Buffer::scratch &&
           slots(location.rank)[static_cast<std::size_t>(location.slot)].place ==
               ScratchSlot::Place::host;
  }
  const Route& find();
  [[nodiscard]] Route work_out();
  [[nodiscard]] bool reaches(int gpu, const Place& place) const;
  [[nodiscard]] Place place(int number) const {
    return {gpus_[static_cast<std::size_t>(number / 2)], number % 2 != 0};
  }

  const Machine& machine_;
  FlowEngine& engine_;
  std::vector<int> gpus_;
  std::vector<int> key_;
  std::vector<Last> last_;  // by stream
  std::unordered_map<std::vector<int>, Route, Hash> known_;
};

}  // namespace ringside::simulated
