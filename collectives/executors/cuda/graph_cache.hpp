// SPDX-License-Identifier: MIT
/// Which calls are graphs: those that were made often enough with the same buffers, and most
/// recently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <span>
#include <unordered_map>
#include <vector>

#include "ringside/collectives/executors/cuda/operands.hpp"
#include "ringside/collectives/executors/cuda/runtime.hpp"

namespace ringside::cuda {

/// Used by one thread at a time.
class GraphCache {
 public:
  /// Makes the graph of a call. May throw.
  using Make = std::function<GraphExec()>;

  /// A call becomes a graph when it is made for the `calls_before`-th time (0: never), if it is
  /// among the `most` that are made most often. A graph takes some ten KiB per operation.
  GraphCache(std::int64_t calls_before, std::size_t most = 128)
      : calls_before_(calls_before), most_(most) {}

  /// The graph of a call, or null. Takes note of the call.
  [[nodiscard]] cudaGraphExec_t get(std::uint64_t program, std::span<const RankCall> ranks,
                                    const Make& make);
  [[nodiscard]] std::size_t size() const { return graphs_.size(); }

 private:
  using Key = std::vector<std::uint64_t>;  // program, addresses
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  /// A call that may become a graph. Those with equal hashes count as one: it costs a graph at
  /// most.
  struct Made {
    std::int64_t times = 0;
    std::uint64_t last = 0;
  };
  struct Entry {
    Key key;
    GraphExec graph;
    std::uint64_t last = 0;
  };

  [[nodiscard]] bool has_room_for(std::uint64_t last_made) const;
  void forget_the_oldest();

  std::int64_t calls_before_;
  std::size_t most_;
  std::uint64_t calls_ = 0;
  std::unordered_map<std::size_t, Made> made_;  // by hash; without those that are graphs
  std::list<Entry> recent_;                     // the last used first
  std::unordered_map<Key, std::list<Entry>::iterator, Hash> graphs_;
};

}  // namespace ringside::cuda
