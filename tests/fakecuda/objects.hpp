// SPDX-License-Identifier: MIT
/// What the runtime's handles stand for: devices, streams, events, captures, graphs.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "ringside/tests/fakecuda/operation.hpp"

namespace ringside::tests::fakecuda {

/// A node of a graph: work, and the earlier nodes that it follows.
struct Node {
  std::shared_ptr<const Work> work;  ///< none: only joins
  std::vector<std::uint32_t> after;
  std::uint32_t branch = 0;  ///< nodes of a branch follow each other
};

struct Graph {
  cudaGraph_t handle = nullptr;
  std::vector<Node> nodes;  ///< in an order that the edges allow
  std::uint32_t branches = 0;
  std::vector<int> branch_devices;
  /// Of graphs made node by node: behind the last node of each branch, and for each node behind the
  /// last of each branch that comes before it.
  std::vector<std::uint32_t> branch_ends;
  std::vector<std::vector<std::uint32_t>> reached;
  bool under_capture = false;  ///< not the caller's yet
  std::vector<cudaUserObject_t> retained;
};

/// Something of the caller's that graphs keep alive.
struct UserObject {
  cudaUserObject_t handle = nullptr;
  void* data = nullptr;
  cudaHostFn_t destroy = nullptr;
  unsigned references = 0;
};

struct ExecutableGraph {
  cudaGraphExec_t handle = nullptr;
  std::vector<Node> nodes;
  std::vector<std::uint32_t> last;  ///< nodes that none follows
  std::vector<Lane*> lanes;         ///< one a branch
  std::vector<VectorClock> clocks;  ///< of the nodes, for the launch at hand
  std::vector<double> times;
  std::vector<Moment> moments;
  std::vector<cudaUserObject_t> retained;
  Moment end;  ///< of the launch before
  VectorClock end_clock;
  double end_time = 0;
};

struct Stream;

/// A capture under way; its streams and events share it.
struct Capture {
  unsigned long long id = 0;
  Graph* graph = nullptr;  ///< while it is active
  Stream* origin = nullptr;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  bool active = true;
  bool invalidated = false;
  std::vector<Stream*> streams;  ///< the origin first
  std::vector<bool> followed;    ///< nodes that another follows
};

struct Stream {
  cudaStream_t handle = nullptr;
  std::uint64_t number = 0;
  int device = 0;
  unsigned flags = 0;
  int priority = 0;
  bool legacy = false;
  Lane* lane = nullptr;

  std::shared_ptr<Capture> capture;
  std::vector<std::uint32_t> captured_after;  ///< nodes that the next one follows
  std::uint32_t branch = 0;
  bool has_branch = false;

  [[nodiscard]] bool blocking() const { return !legacy && (flags & cudaStreamNonBlocking) == 0; }
  [[nodiscard]] bool capturing() const { return capture != nullptr; }
};

struct Event {
  cudaEvent_t handle = nullptr;
  int device = 0;
  unsigned flags = 0;
  bool recorded = false;
  Moment moment;
  VectorClock clock;
  double time = 0;

  std::shared_ptr<Capture> capture;  ///< recorded last in this capture
  std::vector<std::uint32_t> captured_after;

  /// Of no use until it is recorded anew.
  [[nodiscard]] bool of_finished_capture() const { return capture != nullptr && !capture->active; }
};

struct Device {
  cudaError_t fault = cudaSuccess;  ///< sticky
  std::vector<bool> peer_access;    ///< enabled, to the memory of each device
  Stream legacy;
};

}  // namespace ringside::tests::fakecuda
