// SPDX-License-Identifier: MIT
/// From calls to operations: what each must wait for, what happened before it, when it would run;
/// and how the host waits.
#include <algorithm>

#include "ringside/tests/fakecuda/capture.hpp"
#include "ringside/tests/fakecuda/graph_build.hpp"
#include "ringside/tests/fakecuda/runtime.hpp"
#include "ringside/tests/fakecuda/work.hpp"

namespace ringside::tests::fakecuda {
namespace {

void keep_unpassed(std::vector<Moment>& moments) {
  moments.erase(std::remove_if(moments.begin(), moments.end(),
                               [](const Moment& moment) { return moment.passed(); }),
                moments.end());
}

}  // namespace

void Runtime::join_host(Lane& lane) {
  lane.time = std::max(lane.time, host_time);
  if (lane.host_seen == checker.host_version()) return;
  lane.host_seen = checker.host_version();
  lane.clock.join(checker.host_clock());
}

std::vector<Moment> Runtime::prepare(Stream& stream) {
  Lane& lane = *stream.lane;
  join_host(lane);
  std::vector<Moment> after;
  const auto follow = [&](const Lane& other) {
    if (other.issued == 0) return;
    lane.clock.join(other.clock);
    lane.time = std::max(lane.time, other.time);
    if (!other.now().passed()) after.push_back(other.now());
  };
  if (stream.legacy) {
    const auto join = [&](const Stream& other) {
      if (other.blocking() && other.device == stream.device) follow(*other.lane);
    };
    streams.for_each(join);
    for (const auto& other : per_thread_streams_) join(*other);
  } else if (stream.blocking()) {
    follow(*devices[stream.device].legacy.lane);
  }
  return after;
}

void Runtime::check_accesses(const Lane& lane, const Operation& operation,
                             const VectorClock& clock) {
  const Work& work = *operation.work;
  const Actor actor = actor_of(lane, operation);
  for (const Access& access : work.accesses) {
    if (access.bytes == 0) continue;
    Allocation* allocation = memory.find(access.address);
    if (allocation == nullptr) continue;
    checker.access(*allocation, access, actor, lane.id, operation.index, clock);
  }
}

Moment Runtime::enqueue(Lane& lane, std::shared_ptr<const Work> work, std::vector<Moment> after,
                        VectorClock& clock, double& time) {
  keep_unpassed(after);
  if (work == nullptr && after.empty()) {
    clock.set(lane.id, lane.issued);
    return lane.now();
  }
  Operation operation;
  operation.index = ++lane.issued;
  operation.work = std::move(work);
  operation.after = std::move(after);
  clock.set(lane.id,
            operation.index);  // before its accesses are checked: it does not race with itself
  if (operation.work != nullptr) {
    operation.issue = ++counts.operations;
    const Work& what = *operation.work;
    counts.kernels += what.kind == WorkKind::kernel ? 1 : 0;
    counts.copies += what.kind == WorkKind::copy ? 1 : 0;
    if (operation.issue == faulty_operation_) operation.fault = operation_error_;
    operation.hangs = fault_on(*this, what, FaultKind::hang) != nullptr;
    if (operation.fault == cudaSuccess) operation.fault = illegal_access(*this, lane, operation);
    if (operation.fault == cudaSuccess) check_accesses(lane, operation, clock);
    const HardwareFault* slow = fault_on(*this, what, FaultKind::slow);
    time += cost(*this, what) * (slow == nullptr ? 1 : slow->factor);
  }
  const Moment moment = lane.now();
  scheduler_.enqueue(lane, std::move(operation));
  wake();
  return moment;
}

cudaError_t Runtime::issue(Stream& stream, std::shared_ptr<const Work> work) {
  if (stream.capturing()) return capture_work(stream, std::move(work));
  if (stream.legacy && legacy_blocked(*this, stream)) return cudaErrorStreamCaptureImplicit;
  Lane& lane = *stream.lane;
  std::vector<Moment> after = prepare(stream);
  enqueue(lane, std::move(work), std::move(after), lane.clock, lane.time);
  return cudaSuccess;
}

void Runtime::wait_in_stream(Stream& stream, const Moment& moment, const VectorClock& clock,
                             double time) {
  Lane& lane = *stream.lane;
  std::vector<Moment> after = prepare(stream);
  lane.clock.join(clock);
  lane.time = std::max(lane.time, time);
  after.push_back(moment);
  enqueue(lane, nullptr, std::move(after), lane.clock, lane.time);
}

Moment Runtime::moment_of(Stream& stream) {
  Lane& lane = *stream.lane;
  return enqueue(lane, nullptr, prepare(stream), lane.clock, lane.time);
}

void Runtime::launch(ExecutableGraph& graph, Stream& stream) {
  ++counts.graph_launches;
  Lane& lane = *stream.lane;
  std::vector<Moment> before = prepare(stream);
  before.push_back(lane.now());
  if (graph.end.lane != nullptr)
    before.push_back(graph.end);  // launches of one graph do not overlap
  lane.clock.join(graph.end_clock);
  lane.time = std::max(lane.time, graph.end_time);
  keep_unpassed(before);

  const std::size_t nodes = graph.nodes.size();
  graph.clocks.resize(nodes);
  graph.times.resize(nodes);
  graph.moments.resize(nodes);
  for (std::size_t i = 0; i < nodes; ++i) {
    const Node& node = graph.nodes[i];
    Lane& branch = *graph.lanes[node.branch];
    std::vector<Moment> after;
    graph.clocks[i] = lane.clock;
    graph.times[i] = lane.time;
    if (node.after.empty()) after = before;
    for (const std::uint32_t earlier : node.after) {
      graph.clocks[i].join(graph.clocks[earlier]);
      graph.times[i] = std::max(graph.times[i], graph.times[earlier]);
      if (graph.nodes[earlier].branch != node.branch) after.push_back(graph.moments[earlier]);
    }
    graph.moments[i] =
        enqueue(branch, node.work, std::move(after), graph.clocks[i], graph.times[i]);
    branch.clock = graph.clocks[i];
    branch.time = graph.times[i];
  }

  std::vector<Moment> last = before;
  for (const std::uint32_t i : graph.last) {
    last.push_back(graph.moments[i]);
    lane.clock.join(graph.clocks[i]);
    lane.time = std::max(lane.time, graph.times[i]);
  }
  graph.end = enqueue(lane, nullptr, std::move(last), lane.clock, lane.time);
  graph.end_clock = lane.clock;
  graph.end_time = lane.time;
}

void Runtime::destroy(ExecutableGraph& graph) {
  for (Lane* lane : graph.lanes) retire_lane(*lane);
  if (graph.end.lane == nullptr)
    release(*this, graph.retained);
  else if (!graph.retained.empty())
    still_retained_.push_back({graph.end, graph.end_clock, graph.end_time, graph.retained});
  executables.remove(graph.handle);
  release_of_finished_graphs();
}

void Runtime::release_of_finished_graphs() {
  std::erase_if(still_retained_, [this](const auto& kept) {
    if (!kept.end.passed()) return false;
    host_learns(kept.clock, kept.time);  // by the destructors
    release(*this, kept.objects);
    return true;
  });
}

void Runtime::host_learns(const VectorClock& clock, double time) {
  checker.host_learns(clock);
  host_time = std::max(host_time, time);
}

void Runtime::wait(const Moment& moment, const VectorClock& clock, double time, Lock& lock) {
  while (!moment.passed()) {
    if (scheduler_.step(lock)) {
      wake();
      continue;
    }
    ++waiting_;
    changed_.wait(lock);
    --waiting_;
  }
  host_learns(clock, time);
}

bool Runtime::query(const Moment& moment, const VectorClock& clock, double time, Lock& lock) {
  if (!moment.passed() && scheduler_.step(lock)) wake();
  if (!moment.passed()) return false;
  host_learns(clock, time);
  return true;
}

bool Runtime::query(Stream& stream, Lock& lock) {
  // No operation is put into the stream: a program may ask any number of times.
  std::vector<Moment> given = prepare(stream);
  given.push_back(stream.lane->now());
  const VectorClock clock = stream.lane->clock;
  const double time = stream.lane->time;
  keep_unpassed(given);
  if (!given.empty() && scheduler_.step(lock)) wake();
  keep_unpassed(given);
  if (!given.empty()) return false;
  host_learns(clock, time);
  return true;
}

void Runtime::synchronize_device(int device, Lock& lock) {
  struct Past {
    Moment moment;
    VectorClock clock;
    double time;
  };
  std::vector<Past> all;
  for (const auto& lane : lanes_)
    if (lane->device == device && lane->issued > 0)
      all.push_back({lane->now(), lane->clock, lane->time});
  for (const Past& past : all) wait(past.moment, past.clock, past.time, lock);
}

void Runtime::host_access_now(const void* address, std::size_t bytes, bool writes,
                              const char* kind) {
  Allocation* allocation = bytes == 0 ? nullptr : memory.find(address);
  if (allocation != nullptr) checker.host_access(*allocation, {address, bytes, writes}, kind);
}

bool Runtime::touched_by_pending(const Allocation& allocation) const {
  bool touched = false;
  scheduler_.for_each_pending([&](const Lane&, const Operation& operation) {
    if (operation.work == nullptr) return;
    for (const Access& access : operation.work->accesses) {
      const auto begin = reinterpret_cast<std::uintptr_t>(access.address);
      touched |= begin < allocation.end() && allocation.begin() < begin + access.bytes;
    }
  });
  return touched;
}

void Runtime::release_memory(Allocation& allocation, const char* kind, Lock& lock) {
  checker.release(allocation, kind);
  bool keep = false;
  while (!keep && touched_by_pending(allocation)) keep = !scheduler_.step(lock);
  memory.release(allocation, keep);
}

void Runtime::perform(Lane& lane, const Operation& operation, Lock& lock) {
  const int device = operation.work == nullptr ? lane.device : operation.work->device;
  cudaError_t& device_fault = devices[device].fault;
  if (device_fault != cudaSuccess) return;  // nothing runs on a device that has failed
  if (operation.fault != cudaSuccess) {
    device_fault = operation.fault;
    checker.device_failed(device);
    return;
  }
  if (operation.work == nullptr) return;
  if (operation.work->kind == WorkKind::host_function) {
    lock.unlock();
    operation.work->function(operation.work->data);
    lock.lock();
    return;
  }
  run_work(*this, *operation.work);
}

}  // namespace ringside::tests::fakecuda
