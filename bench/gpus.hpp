// SPDX-License-Identifier: MIT
/// The GPUs that a measurement is asked for, and what is known of them: values, for the request and
/// the report. Needs no CUDA.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ringside::bench {

/// What runs the collectives.
enum class BackendKind : int {
  host,
  cuda,
  nccl,
  mpi,     ///< ours on the processes that mpirun started
  openmpi  ///< the MPI's own, whichever it is, on the same
};

inline constexpr std::array backend_kinds = {BackendKind::host, BackendKind::cuda,
                                             BackendKind::nccl, BackendKind::mpi,
                                             BackendKind::openmpi};

/// "host", "cuda", "nccl", "mpi", "openmpi".
[[nodiscard]] constexpr std::string_view to_string(BackendKind backend) {
  constexpr std::array<std::string_view, backend_kinds.size()> names = {"host", "cuda", "nccl",
                                                                        "mpi", "openmpi"};
  return names[static_cast<std::size_t>(backend)];
}
[[nodiscard]] constexpr bool runs_on_gpus(BackendKind backend) {
  return backend == BackendKind::cuda || backend == BackendKind::nccl;
}
[[nodiscard]] constexpr bool runs_on_processes(BackendKind backend) {
  return backend == BackendKind::mpi || backend == BackendKind::openmpi;
}
[[nodiscard]] std::optional<BackendKind> parse_backend(std::string_view word);

/// How the executor on GPUs is to issue a call: op by op in streams, or as one graph.
inline constexpr std::array<std::string_view, 2> issue_ways = {"streams", "graphs"};
/// Who does a plain copy (the option cuda_copies).
inline constexpr std::array<std::string_view, 3> copy_ways = {"auto", "engine", "kernel"};

struct GpuRequest {
  std::vector<int> devices = {};  ///< rank r runs on devices[r mod their number]
  /// Of `issue_ways` and `copy_ways`: a series for each pair of them. What a program gets that
  /// makes the same call over and over are graphs (the option cuda_graphs).
  std::vector<std::string> issue = {"graphs"};
  std::vector<std::string> copies = {"auto"};
  /// For tests: virtual devices are checked and not timed, instead of refused.
  bool allow_virtual = false;

  /// Of some device.
  [[nodiscard]] int device_of(int rank) const {
    return devices[static_cast<std::size_t>(rank) % devices.size()];
  }
  /// By rank.
  [[nodiscard]] std::vector<int> devices_of(int ranks) const;
};

struct Gpu {
  int number = 0;  ///< the runtime's
  std::string name;
  std::string pci_bus_id;    ///< "0000:07:00.0"
  std::uint64_t memory = 0;  ///< bytes
};

struct Gpus {
  std::vector<Gpu> list;        ///< those that the request names, each once
  std::string driver, runtime;  ///< the versions of CUDA that they are for: "13.0"
  std::string nccl;             ///< "NCCL 2.28.9" where it is measured, else empty
  bool are_virtual = false;     ///< a test double's: nothing was measured

  [[nodiscard]] const Gpu& of(int number) const;
};

/// "2 x NVIDIA H200, driver 13.0, runtime 13.0".
[[nodiscard]] std::string in_words(const Gpus& gpus);

/// "4 ranks on 2 GPUs, ..." where ranks share one; else empty.
[[nodiscard]] std::string sharing_remark(const GpuRequest& request, int ranks);

}  // namespace ringside::bench
