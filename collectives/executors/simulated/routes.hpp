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
    // Ranks and where their memory is say it all, and a stream mostly does the same over again.
    key_.clear();
    key_.push_back(op.rank);
    key_.push_back(static_cast<int>(op.sources.size()));
    for (const auto locations : {op.sources, op.destinations})
      for (const Location& location : locations)
        key_.push_back(location.rank * 2 + (at_host(location, slots) ? 1 : 0));
    Last& last = last_[stream];
    if (last.route == nullptr || last.key != key_) last = {key_, &find()};
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
