// SPDX-License-Identifier: MIT
/// The plans of a communicator of processes: an algorithm's plan, lowered to what its hosts allow.
///
/// Between hosts everything is a message. Inside one it depends on whose memory the callers'
/// buffers are in: *shared* (our allocator's), then every rank reads and writes them; or private,
/// then they are reached by copies of the kernel's (*single*) or through scratch (*staged*), which
/// `lower` inserts. With memory of GPUs it is the same: what others open is read and written where
/// it lies, the rest goes through scratch, of the GPUs where all pairs reach each other's, else at
/// the host. What all ranks agree on is the plan before that, so ranks whose buffers differ in this
/// make the same call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ringside/collectives/call.hpp"
#include "ringside/collectives/executors/chosen_plans.hpp"
#include "ringside/collectives/executors/host/program.hpp"
#include "ringside/collectives/executors/host/signature.hpp"
#include "ringside/collectives/executors/host/small_message.hpp"
#include "ringside/collectives/executors/mpi/board.hpp"
#include "ringside/collectives/executors/mpi/gpu/gpus.hpp"
#include "ringside/collectives/plan_cache.hpp"

namespace ringside::mpi {

/// How the ranks of a host reach each other's input and output: memory of the host, or of GPUs.
enum class Reach : std::size_t { shared, single, staged, gpu_shared, gpu_staged };
inline constexpr std::size_t reaches = 5;

/// What an op is for the rank that executes it.
struct Role {
  enum class Kind : std::uint8_t {
    fold,     ///< all its memory is mapped here
    fetch,    ///< copies from the private memory of `peer`
    deliver,  ///< copies to it
    send,     ///< its source goes to `peer` as a message
    receive   ///< its destination gets a message of `peer`
  };
  Kind kind = Kind::fold;
  int peer = 0;
};

/// A program and the roles of the plan's ops.
struct Bound {
  host::Program program;
  std::vector<Role> roles;
  int lanes = 1;  ///< of the plan before it was lowered: those after are of messages
  std::size_t element_bytes = 1;
  std::unique_ptr<const GpuKernels> kernels;  ///< by the program's numbers; null: of the host
  bool by_engine = false;            ///< plain copies: not all memory is reached by kernels
  std::vector<std::uint32_t> bases;  ///< that the program uses, of ranks of this host

  [[nodiscard]] std::size_t bytes() const {
    return program.bytes() + roles.capacity() * sizeof(Role) +
           bases.capacity() * sizeof(std::uint32_t);
  }
};

/// What a rank keeps of a call in order to make it again (as host::Prepared).
struct Prepared {
  host::SignedCall signed_call;
  std::optional<host::SmallMessage> small;
  /// [reach][placement]; null: not for such a call.
  std::array<std::array<std::unique_ptr<const Bound>, 2>, reaches> programs;
  Reach with_private = Reach::staged;  ///< if any rank's buffers are
  /// Of the longest program: in the segment, of the GPU, at the host for GPUs.
  std::size_t scratch_bytes = 0, gpu_scratch_bytes = 0, pinned_bytes = 0;

  [[nodiscard]] const Bound& program(Placement placement, Reach reach) const {
    return *programs[static_cast<std::size_t>(reach)][placement == Placement::out_of_place ? 0 : 1];
  }
  [[nodiscard]] std::size_t bytes() const;
};

class Plans {
 public:
  /// Both outlive it.
  Plans(const Board& board, const Gpus& gpus, host::Program::Checksums checksums);

  /// `most_inline`: the longest message, in bytes, that travels in an entry. `memory`: that of this
  /// rank's buffers. Throws as host::prepare.
  [[nodiscard]] Prepared prepare(const Call& call, std::size_t most_inline, Memory memory,
                                 const SpecFor& spec_for, const PlanWait& wait);
  /// Whether all ranks of the communicator have a GPU.
  [[nodiscard]] bool on_gpus() const { return on_gpus_; }

 private:
  [[nodiscard]] Reach reach_of_private() const;
  /// Those that a rank may come to run, given its own memory.
  [[nodiscard]] std::vector<Reach> possible_reaches(Memory memory) const;
  [[nodiscard]] std::unique_ptr<const Bound> bind(Reach reach, const std::string& spec,
                                                  const Request& request,
                                                  std::span<const std::size_t> blocks,
                                                  const FoldShape& values, const PlanWait& wait);

  const Board& board_;
  Gpu* gpu_;  // null: none
  int rank_, ranks_;
  bool on_gpus_;
  bool all_direct_ = false;  // kernels of GPUs of a host reach each other's memory
  bool one_host_;
  bool single_copies_;
  Team::Copies copies_;
  host::Program::Checksums checksums_;
  PlanCache base_;
  std::array<std::unique_ptr<PlanCache>, reaches> lowered_;
};

}  // namespace ringside::mpi
