// SPDX-License-Identifier: MIT
/// Start, reset and the control interface; devices, lanes and streams.
#include "ringside/tests/fakecuda/runtime.hpp"
#include "ringside/tests/fakecuda/configuration.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace ringside::tests::fakecuda {
namespace {

/// Exit code of a process with reports that nobody took.
constexpr int exit_with_reports = 99;

std::vector<std::string>& entry_names() {
  static auto* names = new std::vector<std::string>;
  return *names;
}

std::mutex& entry_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

const char* kind_name(ReportKind kind) {
  switch (kind) {
    case ReportKind::race:
      return "race";
    case ReportKind::pending_free:
      return "released too early";
    case ReportKind::illegal_access:
      return "illegal access";
    case ReportKind::misuse:
      return "misuse";
  }
  return "";
}

void report_at_exit() {
  Runtime& runtime = Runtime::get();
  const Runtime::Lock lock(runtime.mutex);
  if (leaks_wanted())
    for (const std::string& leak : runtime.list_leaks())
      std::fprintf(stderr, "fakecuda: still alive: %s\n", leak.c_str());
  const std::vector<Report> reports = runtime.checker.unclaimed();
  for (const Report& report : reports)
    std::fprintf(stderr, "fakecuda: %s: %s\n", kind_name(report.kind), report.text.c_str());
  if (reports.empty()) return;
  std::fflush(nullptr);
  _exit(exit_with_reports);
}

}  // namespace

Entry::Entry(const char* name) {
  const std::lock_guard lock(entry_mutex());
  number = entry_names().size();
  entry_names().emplace_back(name);
}

Runtime& Runtime::get() {
  static auto* runtime = new Runtime;
  return *runtime;
}

Runtime::Runtime()
    : scheduler_([this](Lane& lane, const Operation& operation, Lock& lock) {
        perform(lane, operation, lock);
      }) {
  try {
    start(environment());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fakecuda: %s\n", error.what());
    std::_Exit(2);
  }
  std::atexit(report_at_exit);
}

Configuration Runtime::environment() const { return configuration_of_environment(); }

void Runtime::start(const Configuration& wanted) {
  hardware_faults = parse_faults(wanted.faults);
  for (int from = 0; from < wanted.devices; ++from)
    for (int to = 0; to < wanted.devices; ++to) (void)may_reach(wanted, from, to);
  scheduler_.reset(wanted.scheduler);
  configuration = wanted;
  ++generation_;

  captures.clear();
  streams.clear();
  events.clear();
  graphs.clear();
  executables.clear();
  user_objects.clear();
  still_retained_.clear();
  per_thread_streams_.clear();
  memory.clear();
  checker.reset(wanted.check);
  counts = {};
  calls_by_entry_.clear();
  dropped_wait_ = failed_call_ = faulty_operation_ = spoiled_copy_ = 0;
  failed_entry_.reset();
  host_time = 0;
  streams_made_ = 0;
  retired_.clear();
  lanes_.clear();
  create_lane(host, 0, false);  // the host's place in vector clocks

  devices.clear();
  devices.resize(static_cast<std::size_t>(wanted.devices));
  for (int i = 0; i < wanted.devices; ++i) {
    devices[i].peer_access.resize(devices.size());
    Stream& stream = devices[i].legacy;
    stream.device = i;
    stream.legacy = true;
    stream.lane = &create_lane(i, 0, false);
  }
}

void Runtime::reset(const Configuration& wanted) {
  const Lock lock(mutex);
  start(wanted);
}

std::vector<Report> Runtime::reports() const {
  const Lock lock(mutex);
  return checker.reports();
}

std::vector<Report> Runtime::take_reports() {
  const Lock lock(mutex);
  return checker.take();
}

std::vector<std::string> Runtime::leaks() const {
  const Lock lock(mutex);
  return list_leaks();
}

std::vector<std::string> Runtime::list_leaks() const {
  std::vector<std::string> lines = memory.list();
  streams.for_each([&](const Stream& stream) {
    lines.push_back("stream " + std::to_string(stream.number) + " of device " +
                    std::to_string(stream.device));
  });
  events.for_each([&](const Event& event) {
    lines.push_back("event of device " + std::to_string(event.device));
  });
  graphs.for_each([&](const Graph& graph) {
    if (!graph.under_capture)
      lines.push_back("graph of " + std::to_string(graph.nodes.size()) + " nodes");
  });
  executables.for_each([&](const ExecutableGraph& graph) {
    lines.push_back("executable graph of " + std::to_string(graph.nodes.size()) + " nodes");
  });
  user_objects.for_each([&](const UserObject&) { lines.emplace_back("user object"); });
  return lines;
}

Counters Runtime::counters() const {
  const Lock lock(mutex);
  Counters all = counts;
  const std::lock_guard names_lock(entry_mutex());
  for (std::size_t i = 0; i < calls_by_entry_.size(); ++i)
    if (calls_by_entry_[i] > 0) all.by_name.emplace_back(entry_names()[i], calls_by_entry_[i]);
  return all;
}

void Runtime::drop_wait(std::uint64_t n) {
  const Lock lock(mutex);
  dropped_wait_ = n;
}

void Runtime::fail_call(std::uint64_t n, int code) {
  const Lock lock(mutex);
  failed_call_ = n;
  call_error_ = static_cast<cudaError_t>(code);
}

std::string Runtime::failed_call() const {
  const Lock lock(mutex);
  const std::lock_guard names_lock(entry_mutex());
  return failed_entry_ ? entry_names()[*failed_entry_] : std::string();
}

void Runtime::fault_operation(std::uint64_t n, int code) {
  const Lock lock(mutex);
  faulty_operation_ = n;
  operation_error_ = static_cast<cudaError_t>(code);
}

void Runtime::spoil_peer_copy(std::uint64_t n) {
  const Lock lock(mutex);
  spoiled_copy_ = n;
}

void Runtime::release_hangs() {
  const Lock lock(mutex);
  scheduler_.release_hangs(cudaSuccess);
  wake();
}

void Runtime::host_access(const void* address, std::size_t bytes, bool writes) {
  const Lock lock(mutex);
  host_access_now(address, bytes, writes, writes ? "host write" : "host read");
}

ThreadState& Runtime::thread() {
  thread_local ThreadState state;
  if (state.generation != generation_) {
    state = {};
    state.generation = generation_;
  }
  return state;
}

cudaError_t Runtime::begin_call(const Entry& entry) {
  release_of_finished_graphs();
  if (calls_by_entry_.size() <= entry.number) calls_by_entry_.resize(entry.number + 1);
  ++calls_by_entry_[entry.number];
  if (++counts.calls == failed_call_) {
    failed_entry_ = entry.number;
    return call_error_;
  }
  return devices.empty() ? cudaErrorNoDevice : cudaSuccess;
}

cudaError_t Runtime::misuse(cudaError_t error, const std::string& text) {
  Report report;
  report.kind = ReportKind::misuse;
  report.text = text + ": " + cudaGetErrorName(error);
  checker.report(std::move(report));
  return error;
}

Lane& Runtime::create_lane(int device, std::uint64_t label, bool in_graph) {
  const auto reusable = std::find_if(retired_.begin(), retired_.end(), [this](const Lane* lane) {
    return lane->empty() && !lane->running && lane->issued <= checker.host_clock()[lane->id];
  });
  Lane* lane = nullptr;
  if (reusable != retired_.end()) {
    lane = *reusable;
    retired_.erase(reusable);
    lane->clock.clear();
    lane->host_seen = 0;
    lane->time = 0;
  } else {
    lanes_.push_back(std::make_unique<Lane>());
    lane = lanes_.back().get();
    lane->id = lanes_.size() - 1;
  }
  lane->device = device;
  lane->label = label;
  lane->in_graph = in_graph;
  scheduler_.add_lane(*lane);
  return *lane;
}

Stream& Runtime::create_stream(int device, unsigned flags, int priority) {
  auto stream = std::make_unique<Stream>();
  stream->number = ++streams_made_;
  stream->device = device;
  stream->flags = flags;
  stream->priority = priority;
  stream->lane = &create_lane(device, stream->number, false);
  return streams.add(std::move(stream));
}

void Runtime::destroy_stream(Stream& stream) {
  retire_lane(*stream.lane);
  streams.remove(stream.handle);
}

cudaError_t Runtime::find_stream(cudaStream_t handle, Stream*& stream) {
  ThreadState& state = thread();
  if (handle == nullptr || handle == cudaStreamLegacy) {
    stream = &devices[state.device].legacy;
  } else if (handle == cudaStreamPerThread) {
    state.streams.resize(devices.size());
    Stream*& own = state.streams[state.device];
    if (own == nullptr) {
      per_thread_streams_.push_back(std::make_unique<Stream>());
      own = per_thread_streams_.back().get();
      own->number = ++streams_made_;
      own->device = state.device;
      own->lane = &create_lane(state.device, own->number, false);
    }
    stream = own;
  } else {
    stream = streams.find(handle);
    if (stream == nullptr)
      return misuse(cudaErrorInvalidResourceHandle, "a stream that does not exist (any more)");
  }
  return fault_of(stream->device);
}

cudaError_t Runtime::find_event(cudaEvent_t handle, Event*& event) {
  event = events.find(handle);
  if (event == nullptr)
    return misuse(cudaErrorInvalidResourceHandle, "an event that does not exist (any more)");
  return fault_of(event->device);
}

void Runtime::reset_device(int device) {
  std::vector<Stream*> dead_streams;
  streams.for_each([&](Stream& stream) {
    if (stream.device == device) dead_streams.push_back(&stream);
  });
  for (Stream* stream : dead_streams) destroy_stream(*stream);
  std::vector<cudaEvent_t> dead_events;
  events.for_each([&](Event& event) {
    if (event.device == device) dead_events.push_back(event.handle);
  });
  for (cudaEvent_t event : dead_events) events.remove(event);
  memory.release_device(device);
  for (Device& other : devices) other.peer_access[device] = false;
  devices[device].peer_access.assign(devices.size(), false);
  devices[device].fault = cudaSuccess;
  checker.device_reset(device);
}

}  // namespace ringside::tests::fakecuda

extern "C" ringside::tests::fakecuda::ControlInterface* fakecuda_control() {
  return &ringside::tests::fakecuda::Runtime::get();
}
