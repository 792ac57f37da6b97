// SPDX-License-Identifier: MIT
/// What gradients travel on: threads of this process, MPI processes, or GPUs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/collectives/world.hpp"

namespace ringside::trainer {

enum class BackendKind {
  host,  ///< ranks read each other's memory
  cuda,  ///< our plans, on GPUs
  nccl,  ///< NCCL's collectives
  mpi,   ///< ranks are the processes that mpirun started
};

[[nodiscard]] constexpr bool runs_on_gpus(BackendKind kind) {
  return kind == BackendKind::cuda || kind == BackendKind::nccl;
}

[[nodiscard]] std::string_view to_string(BackendKind kind);
[[nodiscard]] std::optional<BackendKind> parse_backend(std::string_view name);

struct BackendSettings {
  BackendKind kind = BackendKind::host;
  /// GPUs; ranks go round them. Empty: all there are.
  std::vector<int> devices;
};

/// The GPU of each rank; none at the host. Throws Error(unsupported) without a GPU.
[[nodiscard]] std::vector<int> devices_of(const BackendSettings& backend, int ranks);

/// With `mpi` the number of ranks is mpirun's. Throws Error(unsupported) for what is not there, and
/// what World does.
[[nodiscard]] World make_world(const BackendSettings& backend, int ranks);

/// The calls of `inner`, a communicator of GPUs, for data at the host: they are copied to the
/// rank's GPU and results back. So models that are computed at the host learn over GPUs, and what
/// that costs shows in the times of communication. No split. Must not outlive `inner`.
[[nodiscard]] Communicator staged(Communicator& inner, int device);

/// How many GPUs there are. Throws Error(unsupported), with the reason, if none.
[[nodiscard]] int gpu_count();

}  // namespace ringside::trainer
