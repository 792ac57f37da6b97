// SPDX-License-Identifier: MIT
/// What a world's ranks run on. Ranks are threads in every backend so far, and meet as the host's
/// do; a backend makes their ends of the communicator. Internal.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "ringside/collectives/call.hpp"
#include "ringside/collectives/executors/host/shared.hpp"

namespace ringside {

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  /// Makes the end of a rank; called on the rank's own thread.
  using MakeEnd = std::function<std::unique_ptr<Communicator::Implementation>(int rank)>;

  /// For a new run of all ranks, which meet in `meeting`. What it returns outlives the run.
  [[nodiscard]] virtual MakeEnd begin(std::shared_ptr<host::Shared> meeting) = 0;
};

/// Ranks that read and write each other's buffers.
[[nodiscard]] std::unique_ptr<Backend> make_host_backend();

namespace cuda {
/// Rank r on GPU devices[r]. Throws Error(unsupported) without a usable GPU and for a device that
/// does not exist, Error(device) if one cannot be set up.
[[nodiscard]] std::unique_ptr<Backend> make_backend(const std::vector<int>& devices);
}  // namespace cuda

namespace nccl {
/// NCCL's collectives, rank r on GPU devices[r]. Throws Error(unsupported) if NCCL is not there, is
/// too old, or has no usable GPU.
[[nodiscard]] std::unique_ptr<Backend> make_backend(const std::vector<int>& devices);
}  // namespace nccl

}  // namespace ringside
