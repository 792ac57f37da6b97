// SPDX-License-Identifier: MIT
/// What the virtual devices run: work, and lanes (streams, branches of a graph) that it stands in.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ringside/tests/fakecuda/host_kernel.hpp"
#include "ringside/tests/fakecuda/vector_clock.hpp"

namespace ringside::tests::fakecuda {

/// A device, or the host as owner of memory.
inline constexpr int host = -1;

enum class WorkKind { copy, set, kernel, host_function };

/// What an operation does. The same work runs many times when it is a node of a graph.
struct Work {
  WorkKind kind = WorkKind::copy;
  int device = 0;                ///< that runs it
  std::vector<Access> accesses;  ///< what it touches

  std::byte* destination = nullptr;   ///< copy, set
  const std::byte* source = nullptr;  ///< copy; may lie in `staged`
  std::size_t bytes = 0;
  int destination_device = host, source_device = host;
  bool peer_access = false;       ///< copy between devices: direct, not staged
  std::vector<std::byte> staged;  ///< copy from pageable memory: taken when it was issued
  int value = 0;                  ///< set

  const HostKernel* kernel = nullptr;
  dim3 grid, block;
  std::vector<std::byte> parameter;

  cudaHostFn_t function = nullptr;
  void* data = nullptr;
};

struct Lane;

/// The `index`-th operation of a lane.
struct Moment {
  const Lane* lane = nullptr;
  std::uint32_t index = 0;
  [[nodiscard]] inline bool passed() const;
};

struct Operation {
  std::uint32_t index = 0;           ///< within its lane, from 1
  std::uint64_t issue = 0;           ///< among all, from 1; 0: only waits
  std::shared_ptr<const Work> work;  ///< none: only waits
  std::vector<Moment> after;         ///< what it waits for besides its lane's earlier operations
  cudaError_t fault = cudaSuccess;   ///< it fails with
  bool hangs = false;                ///< it never runs

  [[nodiscard]] bool ready() const {
    if (hangs) return false;
    for (const Moment& moment : after)
      if (!moment.passed()) return false;
    return true;
  }
};

/// A sequence of operations that run one after another. Lanes are never destroyed before a reset,
/// and their counters only grow, so a Moment stays valid.
struct Lane {
  std::size_t id = 0;  ///< its place in vector clocks
  std::uint64_t label = 0;
  bool in_graph = false;
  int device = 0;
  std::uint32_t issued = 0, completed = 0;
  std::vector<Operation> queue;  ///< from `head` on
  std::size_t head = 0;
  bool running = false;  ///< its first operation is a host function that runs now
  bool listed = false;   ///< known to the scheduler as having something to do

  VectorClock clock;            ///< what is ordered before its next operation
  std::uint64_t host_seen = 0;  ///< version of the host's clock joined last
  double time = 0;              ///< virtual time when its last operation ends, in microseconds
  std::uint64_t priority = 0;   ///< for the scheduler

  [[nodiscard]] bool empty() const { return head == queue.size(); }
  [[nodiscard]] Moment now() const { return {this, issued}; }
  [[nodiscard]] bool runnable() const { return !running && !empty() && queue[head].ready(); }
};

inline bool Moment::passed() const { return lane->completed >= index; }

}  // namespace ringside::tests::fakecuda
