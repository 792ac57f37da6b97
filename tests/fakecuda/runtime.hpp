// SPDX-License-Identifier: MIT
/// The state of the double and what all entry points are made of. One mutex guards everything; a
/// host thread that waits runs operations itself, and sleeps only when nothing can run.
#pragma once

#include <cuda_runtime_api.h>

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ringside/tests/fakecuda/checker.hpp"
#include "ringside/tests/fakecuda/control.hpp"
#include "ringside/tests/fakecuda/faults.hpp"
#include "ringside/tests/fakecuda/handles.hpp"
#include "ringside/tests/fakecuda/kernels.hpp"
#include "ringside/tests/fakecuda/memory.hpp"
#include "ringside/tests/fakecuda/objects.hpp"
#include "ringside/tests/fakecuda/scheduler.hpp"

namespace ringside::tests::fakecuda {

/// An entry point, known by its name; make it once (static).
struct Entry {
  explicit Entry(const char* name);
  std::size_t number;
};

/// What the runtime keeps for each host thread.
struct ThreadState {
  std::uint64_t generation = 0;  ///< of the reset that it is valid for
  int device = 0;
  cudaError_t error = cudaSuccess;
  cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;
  std::vector<Stream*> streams;  ///< cudaStreamPerThread, by device
  struct Configuration {
    dim3 grid, block;
    std::size_t shared;
    cudaStream_t stream;
  };
  std::vector<Configuration> configurations;  ///< pushed by <<<>>>
};

class Runtime final : public ControlInterface {
 public:
  using Lock = Scheduler::Lock;

  /// The only one; made at the first call, never destroyed.
  static Runtime& get();

  mutable std::mutex mutex;

  // --- state, guarded by the mutex ---
  Configuration configuration;
  std::vector<HardwareFault> hardware_faults;
  std::vector<Device> devices;
  HandleTable<Stream, cudaStream_t, 1> streams;
  HandleTable<Event, cudaEvent_t, 2> events;
  HandleTable<Graph, cudaGraph_t, 3> graphs;
  HandleTable<ExecutableGraph, cudaGraphExec_t, 4> executables;
  HandleTable<UserObject, cudaUserObject_t, 5> user_objects;
  std::vector<std::shared_ptr<Capture>> captures;  ///< under way
  Memory memory;
  Kernels kernels;
  Checker checker;
  Counters counts;
  double host_time = 0;  ///< virtual, in microseconds: when what the host last waited for was over

  // --- the frame of a call ---
  /// The state of the calling thread.
  ThreadState& thread();
  /// Counts the call; an error that it must return without doing anything.
  cudaError_t begin_call(const Entry& entry);

  // --- objects ---
  /// The stream of a handle (also of the three special ones) for the calling thread; an error
  /// instead where there is none, or its device has failed.
  cudaError_t find_stream(cudaStream_t handle, Stream*& stream);
  cudaError_t find_event(cudaEvent_t handle, Event*& event);
  Stream& create_stream(int device, unsigned flags, int priority);
  void destroy_stream(Stream& stream);
  Lane& create_lane(int device, std::uint64_t label, bool in_graph);
  void retire_lane(Lane& lane) { retired_.push_back(&lane); }
  [[nodiscard]] cudaError_t fault_of(int device) const { return devices[device].fault; }
  /// A call that a program should never make: reported, and refused with `error`.
  cudaError_t misuse(cudaError_t error, const std::string& text);

  // --- operations ---
  /// Puts work into a stream, or into the graph that it is being captured for.
  cudaError_t issue(Stream& stream, std::shared_ptr<const Work> work);
  /// Makes what comes next in the stream wait for a moment whose past `clock` is.
  void wait_in_stream(Stream& stream, const Moment& moment, const VectorClock& clock, double time);
  /// What the stream has been given so far, the legacy stream's rules applied.
  Moment moment_of(Stream& stream);
  void launch(ExecutableGraph& graph, Stream& stream);
  /// A launch of it that is under way goes on, and what it keeps alive is kept until it is over.
  void destroy(ExecutableGraph& graph);
  /// Blocks the calling thread until an event, stream, ... is over, and lets the host know its
  /// past.
  void wait(const Moment& moment, const VectorClock& clock, double time, Lock& lock);
  /// Lets some operations run; whether the moment has passed (then the host knows its past).
  bool query(const Moment& moment, const VectorClock& clock, double time, Lock& lock);
  /// The same of all that a stream has been given so far.
  bool query(Stream& stream, Lock& lock);
  /// Waits for all streams of a device.
  void synchronize_device(int device, Lock& lock);
  void let_run(Lock& lock) { scheduler_.let_run(lock); }
  /// The host touches memory now.
  void host_access_now(const void* address, std::size_t bytes, bool writes, const char* kind);
  /// Releases memory as soon as nothing pending touches it.
  void release_memory(Allocation& allocation, const char* kind, Lock& lock);
  /// Forgets everything of a device.
  void reset_device(int device);

  // --- ControlInterface ---
  void reset(const Configuration& configuration) override;
  [[nodiscard]] Configuration environment() const override;
  [[nodiscard]] std::vector<Report> reports() const override;
  std::vector<Report> take_reports() override;
  [[nodiscard]] std::vector<std::string> leaks() const override;
  [[nodiscard]] Counters counters() const override;
  void drop_wait(std::uint64_t n) override;
  void fail_call(std::uint64_t n, int code) override;
  [[nodiscard]] std::string failed_call() const override;
  void fault_operation(std::uint64_t n, int code) override;
  void spoil_peer_copy(std::uint64_t n) override;
  void release_hangs() override;
  void host_access(const void* address, std::size_t bytes, bool writes) override;

  /// The same, under the lock.
  [[nodiscard]] std::vector<std::string> list_leaks() const;
  /// Whether this cudaStreamWaitEvent is the one to drop.
  bool wait_dropped() { return ++counts.waits == dropped_wait_; }
  /// Whether this copy between devices is the one to spoil.
  bool peer_copy_spoiled() { return spoiled_copy_ > 0 && --spoiled_copy_ == 0; }

 private:
  Runtime();
  void start(const Configuration& configuration);
  /// Joins lane and host, applies the legacy stream's rules; what the next operation must wait for.
  std::vector<Moment> prepare(Stream& stream);
  void join_host(Lane& lane);
  /// Enqueues in a lane. `clock` and `time`: before the operation; both are advanced.
  Moment enqueue(Lane& lane, std::shared_ptr<const Work> work, std::vector<Moment> after,
                 VectorClock& clock, double& time);
  void check_accesses(const Lane& lane, const Operation& operation, const VectorClock& clock);
  void perform(Lane& lane, const Operation& operation, Lock& lock);
  void host_learns(const VectorClock& clock, double time);
  void release_of_finished_graphs();
  [[nodiscard]] bool touched_by_pending(const Allocation& allocation) const;
  void wake() {
    if (waiting_ > 0) changed_.notify_all();
  }

  Scheduler scheduler_;
  std::vector<std::unique_ptr<Lane>> lanes_;  ///< by id; the first stands for the host
  std::vector<Lane*> retired_;
  /// What a destroyed graph keeps alive until its last launch is over.
  struct StillRetained {
    Moment end;
    VectorClock clock;
    double time;
    std::vector<cudaUserObject_t> objects;
  };
  std::vector<StillRetained> still_retained_;
  std::condition_variable changed_;
  int waiting_ = 0;
  std::uint64_t generation_ = 0;
  std::uint64_t streams_made_ = 0;
  std::optional<std::size_t> failed_entry_;  ///< the function that was made to fail
  std::uint64_t dropped_wait_ = 0, failed_call_ = 0, faulty_operation_ = 0, spoiled_copy_ = 0;
  cudaError_t call_error_ = cudaSuccess, operation_error_ = cudaSuccess;
  std::vector<std::uint64_t> calls_by_entry_;
  std::vector<std::unique_ptr<Stream>> per_thread_streams_;
};

}  // namespace ringside::tests::fakecuda
