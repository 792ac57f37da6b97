// SPDX-License-Identifier: MIT
/// The ranks that work together, and how they are started.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "ringside/collectives/communicator.hpp"

namespace ringside {

/// All ranks of a job. Each is a thread of this process, or (mpi) each is a process.
class World {
 public:
  /// `ranks` threads of this process (1 to 256; they may outnumber the cores).
  [[nodiscard]] static World threads(int ranks);

  /// A rank for every entry, on the GPU of that number: {0, 1} are two ranks on two GPUs, {0, 0}
  /// two on one. Buffers are memory of the rank's GPU, which is its thread's current one while the
  /// body runs. Memory of pools (cudaMallocAsync) and of the virtual-memory functions is not
  /// reached by other GPUs without more ado: it is for ranks whose GPU is the only one of the
  /// world, or needs their access set by its owner (cudaMemPoolSetAccess, cuMemSetAccess). Throws
  /// Error(timeout) if a GPU hangs at the memory of another; Error(unsupported), with the reason,
  /// without a usable GPU or in a build without CUDA, and Error(invalid_argument) for a GPU that
  /// does not exist.
  [[nodiscard]] static World cuda(const std::vector<int>& devices);

  /// The same with NCCL's collectives, to compare with; its library is opened now. Values, and the
  /// order of additions, are NCCL's; calls that name an algorithm of ours, and buffers that are not
  /// aligned to their elements, are refused. Throws Error(unsupported) if NCCL is not there, is too
  /// old, finds no usable GPU, or takes one rank a GPU and is given more; Error(device) if it fails
  /// to start otherwise.
  [[nodiscard]] static World nccl(const std::vector<int>& devices);

  /// The ranks are the processes that mpirun (of Open MPI or MPICH) started, this one among them;
  /// on as many hosts as it put them. To be made by all of them, once at a time; the first one
  /// initialises MPI, unless the program has, and what was initialised here ends with the process.
  /// Of a host, ranks share memory; between hosts they exchange MPI messages.
  ///
  /// `device`: the rank is on that GPU of its machine (ranks may share one), which becomes the
  /// calling thread's current one in `run`. Then its buffers are memory of that GPU, or the host's;
  /// all ranks of a call must have the same kind, unless the call is a small one. GPUs of a host
  /// reach memory of Communicator::shared_memory directly, other memory by copies; where they
  /// cannot, and between hosts, data go through the host. A call with a stream waits for what is in
  /// the stream, and every call is complete when it returns.
  ///
  /// Throws Error(unsupported) in a build without MPI, or without the GPU that is asked for,
  /// Error(io) if memory cannot be shared or MPI refuses.
  [[nodiscard]] static World mpi(std::optional<int> device = std::nullopt);

  World(World&&) noexcept;
  World& operator=(World&&) noexcept;
  ~World();

  /// Ranks of all processes together.
  [[nodiscard]] int size() const;
  /// How many of its ranks are of this process: all, or (mpi) one.
  [[nodiscard]] int ranks_here() const;
  /// The first of those: 0, or (mpi) the only one.
  [[nodiscard]] int first_rank_here() const;

  /// Runs `body` once per rank, each on a thread of its own, and returns when all have. (mpi: for
  /// the rank of this process, on the calling thread, and returns when that has.) May be called
  /// again, one call at a time; a new run begins with a new communicator. If bodies throw,
  /// all communicators that the rank belongs to (by `split`) are aborted, so that nobody waits for
  /// it, and the exception that came first is rethrown. Handles and communicators that the body
  /// itself holds wait, as always, when the exception destroys them. A body that returns with a
  /// group open counts as one that throws Error(invalid_argument): the group's calls do not run.
  void run(const std::function<void(Communicator&)>& body);

 private:
  class Implementation;
  explicit World(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace ringside
