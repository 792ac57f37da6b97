// SPDX-License-Identifier: MIT
#include "ringside/topology/live/cuda_runtime.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "ringside/topology/build/annotate.hpp"
#include "ringside/topology/live/library.hpp"

namespace ringside {
namespace {

constexpr int success = 0, most_devices = 256;

/// The part of the runtime's interface that is used, as its documentation gives it.
class Runtime {
 public:
  explicit Runtime(const std::string& path) : library_(path) {
    library_.find(count, "cudaGetDeviceCount");
    library_.find(bus_id, "cudaDeviceGetPCIBusId");
    library_.find(can_access, "cudaDeviceCanAccessPeer");
  }

  [[nodiscard]] bool opened() const { return library_.opened(); }
  [[nodiscard]] bool usable() const { return count && bus_id && can_access; }

  int (*count)(int*) = nullptr;
  int (*bus_id)(char*, int, int) = nullptr;
  int (*can_access)(int*, int, int) = nullptr;

 private:
  Library library_;
};

/// Nothing where the runtime refuses.
std::optional<CudaDevices> ask(const Runtime& runtime) {
  int count = 0;
  if (runtime.count(&count) != success) return std::nullopt;
  count = std::clamp(count, 0, most_devices);
  CudaDevices devices;
  for (int device = 0; device < count; ++device) {
    std::array<char, 32> id{};
    if (runtime.bus_id(id.data(), static_cast<int>(id.size()) - 1, device) != success)
      return std::nullopt;
    const auto address = parse_pci_address(id.data());
    if (!address) return std::nullopt;
    devices.addresses.push_back(*address);
  }
  for (int device = 0; device < count; ++device)
    for (int peer = 0; peer < count; ++peer) {
      int can = 0;
      if (device != peer && runtime.can_access(&can, device, peer) == success)
        devices.pairs.push_back({.device = device, .peer = peer, .can_access = can != 0});
    }
  return devices;
}

}  // namespace

std::optional<CudaDevices> read_cuda_runtime(std::span<const std::string> libraries,
                                             std::vector<Finding>& findings) {
  const auto lacks = [&](std::string text) {
    findings.push_back({Severity::note, 0, std::move(text)});
    return std::nullopt;
  };
  for (const auto& library : libraries) {
    const Runtime runtime(library);
    if (!runtime.opened()) continue;
    auto devices = runtime.usable() ? ask(runtime) : std::nullopt;
    if (devices) return devices;
    return lacks(
        fmt::format("{} is there, but no driver answers: peer access is not known", library));
  }
  return lacks(
      fmt::format("no CUDA runtime ({}): peer access is not known", fmt::join(libraries, ", ")));
}

void add_cuda_devices(const CudaDevices& devices, Topology& topology,
                      std::vector<Finding>& findings) {
  std::vector<std::optional<NodeId>> nodes;
  for (std::size_t device = 0; device < devices.addresses.size(); ++device) {
    const auto& address = devices.addresses[device];
    const auto found = topology.find(address);
    const bool is_gpu = found && topology.node(*found).kind == NodeKind::gpu;
    nodes.push_back(is_gpu ? found : std::nullopt);
    if (is_gpu)
      topology.node(*nodes.back()).details["cuda_device"] = std::to_string(device);
    else
      findings.push_back({Severity::warning, 0,
                          fmt::format("CUDA's device {} at {} is not among the kernel's GPUs",
                                      device, to_string(address))});
  }
  for (const auto& pair : devices.pairs) {
    const auto from = nodes.at(static_cast<std::size_t>(pair.device)),
               to = nodes.at(static_cast<std::size_t>(pair.peer));
    // The words are those of `nvidia-smi topo -p2p`.
    if (from && to)
      topology.peer_access.push_back({.from = *from,
                                      .to = *to,
                                      .capability = "",
                                      .status = pair.can_access ? "OK" : peer_access_refused});
  }
}

}  // namespace ringside
