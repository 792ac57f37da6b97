// SPDX-License-Identifier: MIT
/// What the devices of this machine and their driver say about themselves, before anything is
/// measured. Values, and their JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ringside/base/json.hpp"
#include "ringside/base/json_write.hpp"

namespace ringside::bench::preflight {

/// A PCIe link as sysfs shows it; unknown where it says nothing.
struct Link {
  std::optional<std::string> speed;  ///< "16.0 GT/s PCIe"
  std::optional<int> width;          ///< lanes

  bool operator==(const Link&) const = default;
};

struct DeviceFacts {
  int device = 0;
  std::string name;
  std::string pci_bus_id;  ///< "0000:19:00.0"
  int compute_major = 0, compute_minor = 0;
  std::uint64_t memory_bytes = 0;
  int copy_engines = 0;
  // Of sysfs; unknown where it says nothing, or -1 for a node.
  std::optional<int> numa_node;
  Link link;       ///< now, while nothing is copied: it may be slower than it can
  Link link_most;  ///< that the device can
};

/// What the runtime says of an ordered pair: `device` reads and writes memory of `peer`.
struct PeerFacts {
  int device = 0, peer = 0;
  bool can_access = false;  ///< cudaDeviceCanAccessPeer
  // cudaDeviceGetP2PAttribute; unknown where it refuses.
  std::optional<int> performance_rank, access_supported, native_atomic_supported,
      array_access_supported;
};

struct Facts {
  std::optional<int> driver_version, runtime_version;  ///< CUDA's, as 1000 major + 10 minor
  std::string allowed_cpus;                            ///< of this process: "0-63"; empty: unknown
  std::vector<DeviceFacts> devices;                    ///< device i at i
  std::vector<PeerFacts> peers;                        ///< every ordered pair

  [[nodiscard]] int count() const { return static_cast<int>(devices.size()); }
  /// Whether `device` may access memory of `peer`.
  [[nodiscard]] bool can_access(int device, int peer) const;
};

/// Whether a device only exists in a test: nothing measured on it means anything.
[[nodiscard]] bool is_virtual(const Facts& facts);

/// "13.0" of 13000, or "unknown".
[[nodiscard]] std::string cuda_version(std::optional<int> version);

[[nodiscard]] Json to_json(const Facts& facts);
/// Throws Error(bad_input).
[[nodiscard]] Facts facts_from_json(const JsonValue& json);

}  // namespace ringside::bench::preflight
