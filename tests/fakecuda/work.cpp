// SPDX-License-Identifier: MIT
/// Work on memory, and hardware that spoils it.
#include "ringside/tests/fakecuda/work.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "ringside/tests/fakecuda/runtime.hpp"

namespace ringside::tests::fakecuda {
namespace {

const char* name_of(WorkKind kind) {
  switch (kind) {
    case WorkKind::copy:
      return "copy";
    case WorkKind::set:
      return "set";
    case WorkKind::kernel:
      return "kernel";
    case WorkKind::host_function:
      return "host function";
  }
  return "";
}

/// How far a planted `offset` moves what is stored, in bytes.
constexpr std::size_t fault_offset = 256;

/// What is wrong with a spoiled byte.
constexpr std::byte flipped{0x10};

/// Latencies in microseconds and bandwidths in bytes a microsecond: the order of magnitude of a
/// PCIe machine, chosen so that ratios between paths look right. Nothing may be concluded from
/// them.
constexpr double kernel_latency = 3, copy_latency = 2, peer_latency = 4;
constexpr double device_bandwidth = 1.5e6, peer_bandwidth = 25e3, staged_bandwidth = 10e3,
                 host_bandwidth = 20e3;

/// Stored bytes that a fault between two devices spoils.
struct Spoiled {
  Access access;
  const Allocation* allocation;
  const HardwareFault* fault;
  std::vector<std::byte> before;
};

const HardwareFault* planted(Runtime& runtime, FaultKind kind, int from, int to, bool direct) {
  if (from == to || from == host || to == host) return nullptr;
  for (const HardwareFault& fault : runtime.hardware_faults)
    if (fault.kind == kind && fault.from == from && fault.to == to && (direct || fault.staged))
      return &fault;
  return nullptr;
}

/// The device that data come from when this work stores.
int sender(const Work& work) {
  return work.kind == WorkKind::copy ? work.source_device : work.device;
}

bool goes_between_devices(const Work& work) {
  return work.kind == WorkKind::copy && work.source_device != host &&
         work.destination_device != host && work.source_device != work.destination_device &&
         work.bytes > 0;
}

bool direct(const Work& work) { return work.kind != WorkKind::copy || work.peer_access; }

std::vector<Spoiled> spoiled_stores(Runtime& runtime, const Work& work) {
  std::vector<Spoiled> all;
  for (const Access& access : work.accesses) {
    if (!access.writes || access.bytes == 0) continue;
    const Allocation* allocation = runtime.memory.find(access.address);
    if (allocation == nullptr || !allocation->on_device()) continue;
    for (const FaultKind kind : {FaultKind::lost, FaultKind::offset, FaultKind::corrupt}) {
      const HardwareFault* fault =
          planted(runtime, kind, sender(work), allocation->device, direct(work));
      if (fault == nullptr) continue;
      const auto* bytes = static_cast<const std::byte*>(access.address);
      all.push_back({access, allocation, fault, {bytes, bytes + access.bytes}});
    }
  }
  return all;
}

void spoil(const Spoiled& spoiled) {
  auto* bytes = static_cast<std::byte*>(const_cast<void*>(spoiled.access.address));
  const std::size_t count = spoiled.access.bytes;
  switch (spoiled.fault->kind) {
    case FaultKind::lost:
      std::memcpy(bytes, spoiled.before.data(), count);
      break;
    case FaultKind::offset: {
      const std::vector<std::byte> stored(bytes, bytes + count);
      std::memcpy(bytes, spoiled.before.data(), count);
      const auto room = spoiled.allocation->end() - reinterpret_cast<std::uintptr_t>(bytes);
      if (room > fault_offset)
        std::memcpy(bytes + fault_offset, stored.data(), std::min(count, room - fault_offset));
      break;
    }
    case FaultKind::corrupt:
      bytes[count / 2] ^= flipped;
      break;
    case FaultKind::hang:
    case FaultKind::slow:
      break;
  }
}

void perform_work(const Work& work) {
  switch (work.kind) {
    case WorkKind::copy:
      std::memmove(work.destination, work.source, work.bytes);
      break;
    case WorkKind::set:
      std::memset(work.destination, work.value, work.bytes);
      break;
    case WorkKind::kernel:
      work.kernel->run(work.parameter.data(), work.grid, work.block);
      break;
    case WorkKind::host_function:
      break;
  }
}

}  // namespace

Actor actor_of(const Lane& lane, const Operation& operation) {
  const Work& work = *operation.work;
  Actor actor;
  actor.kind = name_of(work.kind);
  if (work.kernel != nullptr) actor.kernel = work.kernel->name;
  actor.device = work.device;
  actor.stream = lane.label;
  actor.in_graph = lane.in_graph;
  actor.issue = operation.issue;
  return actor;
}

void run_work(Runtime& runtime, const Work& work) {
  std::vector<Access> unpoisoned = work.accesses;
  std::vector<Spoiled> spoiled;
  if (!runtime.hardware_faults.empty()) {
    for (const Access& access : work.accesses)
      if (const Allocation* allocation = runtime.memory.find(access.address))
        unpoisoned.push_back({allocation->base, allocation->bytes, false});
  }
  const Unpoisoned lifted(runtime.memory, unpoisoned);
  if (!runtime.hardware_faults.empty()) spoiled = spoiled_stores(runtime, work);
  perform_work(work);
  for (const Spoiled& each : spoiled) spoil(each);
  if (goes_between_devices(work) && runtime.peer_copy_spoiled())
    work.destination[work.bytes / 2] ^= flipped;
}

double cost(Runtime& runtime, const Work& work) {
  double bandwidth = device_bandwidth;
  switch (work.kind) {
    case WorkKind::host_function:
      return kernel_latency;
    case WorkKind::set:
      return copy_latency + static_cast<double>(work.bytes) / device_bandwidth;
    case WorkKind::copy:
      if (work.source_device == host || work.destination_device == host)
        bandwidth = host_bandwidth;
      else if (work.source_device != work.destination_device)
        bandwidth = work.peer_access ? peer_bandwidth : staged_bandwidth;
      return (bandwidth == device_bandwidth ? copy_latency : peer_latency) +
             static_cast<double>(work.bytes) / bandwidth;
    case WorkKind::kernel:
      break;
  }
  double time = kernel_latency;
  for (const Access& access : work.accesses) {
    const Allocation* allocation = runtime.memory.find(access.address);
    const bool own =
        allocation == nullptr || (allocation->on_device() && allocation->device == work.device);
    const double path = own                       ? device_bandwidth
                        : allocation->on_device() ? peer_bandwidth
                                                  : host_bandwidth;
    time += static_cast<double>(access.bytes) / path;
  }
  return time;
}

const HardwareFault* fault_on(Runtime& runtime, const Work& work, FaultKind kind) {
  if (runtime.hardware_faults.empty()) return nullptr;
  if (work.kind == WorkKind::copy)
    return planted(runtime, kind, work.source_device, work.destination_device, work.peer_access);
  for (const Access& access : work.accesses) {
    const Allocation* allocation = access.writes ? runtime.memory.find(access.address) : nullptr;
    if (allocation == nullptr || !allocation->on_device()) continue;
    if (const auto* fault = planted(runtime, kind, work.device, allocation->device, true))
      return fault;
  }
  return nullptr;
}

cudaError_t illegal_access(Runtime& runtime, const Lane& lane, const Operation& operation) {
  const Work& work = *operation.work;
  for (const Access& access : work.accesses) {
    if (access.bytes == 0) continue;
    const Allocation* allocation = runtime.memory.find(access.address);
    const auto begin = reinterpret_cast<std::uintptr_t>(access.address);
    std::string what;
    if (allocation == nullptr)
      what = "memory that no device knows (released, or of the host)";
    else if (begin + access.bytes > allocation->end())
      what = "memory behind the end of an allocation of " + std::to_string(allocation->bytes) +
             " bytes";
    else if (work.kind == WorkKind::kernel && allocation->on_device() &&
             allocation->device != work.device &&
             !runtime.devices[work.device].peer_access[allocation->device])
      what = "memory of device " + std::to_string(allocation->device) + " without peer access";
    else
      continue;
    Report report;
    report.kind = ReportKind::illegal_access;
    report.later = describe(actor_of(lane, operation), begin, begin + access.bytes, access.writes);
    std::ostringstream text;
    text << describe(report.later) << (access.writes ? " writes " : " reads ") << access.bytes
         << " bytes at " << access.address << ": " << what;
    report.text = text.str();
    runtime.checker.report(std::move(report));
    return cudaErrorIllegalAddress;
  }
  return cudaSuccess;
}

}  // namespace ringside::tests::fakecuda
