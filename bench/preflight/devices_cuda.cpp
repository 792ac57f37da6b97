// SPDX-License-Identifier: MIT
/// The devices by the CUDA runtime: their facts, access between them, and which step is what.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "ringside/base/text.hpp"
#include "ringside/base/threads.hpp"
#include "ringside/bench/preflight/devices.hpp"
#include "ringside/bench/preflight/sysfs.hpp"
#include "ringside/bench/preflight/transfer.hpp"
#include "ringside/collectives/executors/cuda/runtime.hpp"

namespace ringside::bench::preflight {
namespace {

using cuda::check;

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute", device);
  return value;
}

std::string pci_bus_id(int device) {
  char id[32] = {};
  check(cudaDeviceGetPCIBusId(id, sizeof id, device), "cudaDeviceGetPCIBusId", device);
  return to_lower(id);
}

DeviceFacts device_facts(int device) {
  DeviceFacts facts;
  facts.device = device;
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties", device);
  facts.name = properties.name;
  facts.compute_major = properties.major;
  facts.compute_minor = properties.minor;
  facts.memory_bytes = properties.totalGlobalMem;
  facts.copy_engines = attribute(cudaDevAttrAsyncEngineCount, device);
  facts.pci_bus_id = pci_bus_id(device);
  add_sysfs_facts(facts);
  return facts;
}

bool may_access(int device, int peer) {
  int possible = 0;
  check(cudaDeviceCanAccessPeer(&possible, device, peer), "cudaDeviceCanAccessPeer", device);
  return possible != 0;
}

std::optional<int> peer_attribute(cudaDeviceP2PAttr which, int device, int peer) {
  int value = 0;
  if (cudaDeviceGetP2PAttribute(&value, which, device, peer) == cudaSuccess) return value;
  (void)cudaGetLastError();
  return std::nullopt;
}

PeerFacts peer_facts(int device, int peer) {
  return {
      .device = device,
      .peer = peer,
      .can_access = may_access(device, peer),
      .performance_rank = peer_attribute(cudaDevP2PAttrPerformanceRank, device, peer),
      .access_supported = peer_attribute(cudaDevP2PAttrAccessSupported, device, peer),
      .native_atomic_supported = peer_attribute(cudaDevP2PAttrNativeAtomicSupported, device, peer),
      .array_access_supported =
          peer_attribute(cudaDevP2PAttrCudaArrayAccessSupported, device, peer)};
}

/// "0-3,8" of 0, 1, 2, 3, 8.
std::string ranges(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!text.empty()) text += ",";
    text +=
        last == i ? std::to_string(numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[last]);
    i = last + 1;
  }
  return text;
}

/// Who has access to whom now; changed only where a step wants it otherwise.
class PeerAccess {
 public:
  void set(const Step& step) {
    for (const auto& [a, b] : step.flows) {
      if (a == b || a == host || b == host) continue;
      set(a, b, step.peer_access);
      set(b, a, step.peer_access);
    }
  }

 private:
  void set(int device, int peer, bool wanted) {
    bool& enabled = enabled_[{device, peer}];
    if (enabled == wanted || (wanted && !may_access(device, peer))) return;
    const cuda::DeviceGuard guard(device);
    if (wanted)
      check(cudaDeviceEnablePeerAccess(peer, 0), "cudaDeviceEnablePeerAccess", device);
    else
      check(cudaDeviceDisablePeerAccess(peer), "cudaDeviceDisablePeerAccess", device);
    enabled = wanted;
  }

  std::map<std::pair<int, int>, bool> enabled_;
};

/// Bytes that a step may take of each device: no more than 80 % of what is free there.
std::uint64_t affordable_bytes(const Step& step) {
  std::map<int, std::uint64_t> ends;
  for (const auto& [source, destination] : step.flows)
    for (const int device : {source, destination})
      if (device != host) ++ends[device];
  std::uint64_t most = step.bytes;
  for (const auto& [device, count] : ends) {
    const cuda::DeviceGuard guard(device);
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo", device);
    const std::uint64_t each = free / 10 * 8 / count;
    most = std::min<std::uint64_t>(most, each < 2 * guard_bytes ? 0 : each - 2 * guard_bytes);
  }
  return most / sizeof(std::uint64_t) * sizeof(std::uint64_t);
}

/// A link that is not used runs slower: only under load does its speed tell what is wrong with it.
Outcome timed_with_link(const Step& step, std::uint64_t bytes) {
  const auto& [source, destination] = step.flows.front();
  if (step.method != Method::host_copy || step.flows.size() > 1)
    return time_transfers(step, bytes, nullptr);
  const auto id = pci_bus_id(std::max(source, destination));
  Link link;
  auto outcome = time_transfers(step, bytes, [&] {
    // The copies begin some 1 ms after they were issued and take 4 ms at least.
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    link = read_link(id);
  });
  outcome.link = link;
  return outcome;
}

}  // namespace

struct Devices::Parts {
  PeerAccess access;
};

Devices::Devices() : parts_(std::make_unique<Parts>()) {}
Devices::~Devices() = default;

Facts Devices::facts() {
  Facts facts;
  const int count = cuda::device_count();
  int version = 0;
  check(cudaDriverGetVersion(&version), "cudaDriverGetVersion", 0);
  facts.driver_version = version;
  check(cudaRuntimeGetVersion(&version), "cudaRuntimeGetVersion", 0);
  facts.runtime_version = version;
  facts.allowed_cpus = ranges(allowed_cpus());
  for (int device = 0; device < count; ++device) facts.devices.push_back(device_facts(device));
  for (int device = 0; device < count; ++device)
    for (int peer = 0; peer < count; ++peer)
      if (device != peer) facts.peers.push_back(peer_facts(device, peer));
  return facts;
}

void Devices::open(int device) {
  // It stays the current device: to go back to one that is not open would open that one.
  check(cudaSetDevice(device), "cudaSetDevice", device);
  check(cudaFree(nullptr), "making its context", device);
}

Outcome Devices::run(const Step& step) {
  parts_->access.set(step);
  const auto bytes = affordable_bytes(step);
  constexpr std::uint64_t least_bandwidth_bytes = std::uint64_t{1} << 20;
  const bool shrinks = step.quantity == Quantity::bandwidth;
  if (bytes < (shrinks ? std::min(least_bandwidth_bytes, step.bytes) : step.bytes)) {
    Outcome outcome;
    outcome.ending = Ending::no_memory;
    outcome.text = "too little device memory is free";
    return outcome;
  }
  switch (step.quantity) {
    case Quantity::check:
      return check_transfers(step);
    case Quantity::latency:
      return time_chain(step);
    case Quantity::bandwidth:
      return timed_with_link(step, bytes);
  }
  return {};
}

}  // namespace ringside::bench::preflight
