// SPDX-License-Identifier: MIT
#include "ringside/trainer/backend.hpp"

#include <array>
#include <numeric>

namespace ringside::trainer {
namespace {

constexpr auto names = std::to_array<std::string_view>({"host", "cuda", "nccl", "mpi"});

}  // namespace

std::string_view to_string(BackendKind kind) { return names[static_cast<std::size_t>(kind)]; }

std::optional<BackendKind> parse_backend(std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<BackendKind>(i);
  return std::nullopt;
}

std::vector<int> devices_of(const BackendSettings& backend, int ranks) {
  if (!runs_on_gpus(backend.kind)) return {};
  std::vector<int> all = backend.devices;
  if (all.empty()) {
    all.resize(static_cast<std::size_t>(gpu_count()));
    std::iota(all.begin(), all.end(), 0);
  }
  std::vector<int> devices(static_cast<std::size_t>(ranks));
  for (std::size_t rank = 0; rank < devices.size(); ++rank) devices[rank] = all[rank % all.size()];
  return devices;
}

World make_world(const BackendSettings& backend, int ranks) {
  switch (backend.kind) {
    case BackendKind::cuda:
      return World::cuda(devices_of(backend, ranks));
    case BackendKind::nccl:
      return World::nccl(devices_of(backend, ranks));
    case BackendKind::mpi:
      return World::mpi();
    case BackendKind::host:
      break;
  }
  return World::threads(ranks);
}

}  // namespace ringside::trainer
