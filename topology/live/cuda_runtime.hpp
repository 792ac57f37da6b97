// SPDX-License-Identifier: MIT
/// What the CUDA runtime says of this machine's GPUs: its numbers for them, and which reach which.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ringside/topology/graph.hpp"
#include "ringside/topology/readers/finding.hpp"

namespace ringside {

struct CudaDevices {
  std::vector<PciAddress> addresses;  ///< device i at i
  struct Pair {
    int device = 0, peer = 0;
    bool can_access = false;  ///< cudaDeviceCanAccessPeer
  };
  std::vector<Pair> pairs;  ///< every ordered one
};

/// The first of the libraries that can be opened is asked. No context is made on any device.
/// Nothing where there is none or it does not answer, with a finding that says so.
[[nodiscard]] std::optional<CudaDevices> read_cuda_runtime(std::span<const std::string> libraries,
                                                           std::vector<Finding>& findings);

/// Peer access, and CUDA's number as the detail "cuda_device", for GPUs that the topology has.
void add_cuda_devices(const CudaDevices& devices, Topology& topology,
                      std::vector<Finding>& findings);

}  // namespace ringside
