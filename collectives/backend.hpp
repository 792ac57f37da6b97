// SPDX-License-Identifier: MIT
/// What a world's ranks run on. Where ranks are threads they meet as the host's do, and a backend
/// makes their ends of the communicator; where they are processes there is one here. Internal.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ringside/collectives/call.hpp"
#include "ringside/collectives/executors/host/shared.hpp"

namespace ringside {

/// What an exception says of itself.
[[nodiscard]] std::string words_of(const std::exception_ptr& exception);

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

namespace mpi {
/// The processes that mpirun started, this one among them.
class Processes {
 public:
  Processes() = default;
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
  virtual ~Processes() = default;
  [[nodiscard]] virtual int size() const = 0;
  [[nodiscard]] virtual int rank() const = 0;
  /// As World::run; `body` also finishes the communicator.
  virtual void run(const std::function<void(Communicator&)>& body) = 0;
};

/// Made by all of them together. Throws as World::mpi.
[[nodiscard]] std::unique_ptr<Processes> make_processes(std::optional<int> device);
}  // namespace mpi

}  // namespace ringside
