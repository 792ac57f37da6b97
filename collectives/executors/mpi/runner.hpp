// SPDX-License-Identifier: MIT
/// A rank's part of a plan, run on the caller's thread: all its lanes side by side, those of sends
/// and receives among them.
///
/// A lane of ops runs them one after another, each when its waits are reached. A lane of messages
/// begins them in order, as early as their waits allow, and counts them done in the same order. So
/// no message waits for one listed later, and nothing can deadlock.
///
/// On GPUs a lane of ops is a stream, too: an op is launched when its waits are reached, and
/// counted when it is complete; a lane's next one follows then. So what others see to be done is
/// done, and no stream of one process ever waits for one of another.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "ringside/collectives/executors/host/checks.hpp"
#include "ringside/collectives/executors/mpi/board.hpp"
#include "ringside/collectives/executors/mpi/exchange.hpp"
#include "ringside/collectives/executors/mpi/gpu/gpus.hpp"
#include "ringside/collectives/executors/mpi/gpu/staged_messages.hpp"
#include "ringside/collectives/executors/mpi/plans.hpp"

namespace ringside::mpi {

/// Whom a rank waits for, and with what op (of the plan).
struct Obstacle {
  int peer = 0;
  int op = 0;
};

class Runner {
 public:
  Runner(Board& board, Tags tags, const Gpus& gpus);

  /// A rank's own memory in a call.
  struct Memories {
    const std::byte* input = nullptr;
    std::byte* output = nullptr;
    std::byte* gpu_scratch = nullptr;
    std::byte* pinned_scratch = nullptr;
  };
  /// Begins with a program in the call of that number. The entries of near ranks must be there.
  void begin(const Bound& bound, std::uint64_t call, const Memories& own);
  /// With checksums: sums the rank's input, before the call in which the steps are counted. Then
  /// steps may throw Error(corrupted).
  void sum_inputs(std::uint64_t call);
  /// When nobody writes the rank's output any more. Throws Error(corrupted).
  void compare_outputs() const { checker().compare_outputs(); }
  /// Does what can be done; true if that was anything. Throws Error(io) if the kernel refuses a
  /// copy or the MPI a message, Error(device) if the GPU fails.
  bool advance();
  /// Whether all steps are done.
  [[nodiscard]] bool is_over() const { return unfinished_ == 0; }
  /// The first that is not reached of what the rank waits for, to leave, when all steps are done.
  [[nodiscard]] const host::BoundWait* leave_obstacle() const;
  /// What the rank waits for: another rank of this host, or the other end of a message.
  [[nodiscard]] std::optional<Obstacle> obstacle() const;
  /// Gives up on all messages under way, and waits a while for what the GPU is at.
  void drop();

 private:
  struct Flight {
    Ticket ticket;
    std::uint32_t step = 0;
  };
  struct Lane {
    std::uint32_t next = 0;  // steps that were begun
    std::uint32_t done = 0;
    std::deque<Flight> flights;
  };
  [[nodiscard]] bool reached(const host::BoundWait& wait) const;
  [[nodiscard]] const host::BoundWait* first_unreached(const host::Step& step) const;
  void set_bases(const Memories& own);
  void set_gpu_bases(const Memories& own);
  [[nodiscard]] bool on_gpu() const { return bound_->kernels != nullptr; }
  [[nodiscard]] StagedMessages& staged(std::size_t lane);
  [[nodiscard]] bool has_room(std::size_t lane);
  /// The step of the first message of a lane that is not over.
  [[nodiscard]] std::optional<std::uint32_t> first_flight(std::size_t lane) const;
  void launch(const host::Step& step, std::size_t lane);
  /// Whether the GPU is at an op of a lane.
  [[nodiscard]] bool is_launched(std::size_t lane) const {
    return lane < static_cast<std::size_t>(bound_->lanes) && lanes_[lane].next > lanes_[lane].done;
  }
  bool advance_ops(std::size_t lane);
  bool advance_messages(std::size_t lane);
  void execute(const host::Step& step, std::size_t lane);
  void execute(const host::Step& step);
  void copy(const host::Step& step, const Role& role);
  [[nodiscard]] host::Checker checker() const {
    return {bound_->program, board_.rank(), bases_.data(), call_};
  }
  /// Begins the message with the sum of what a step's run sends or receives.
  [[nodiscard]] Ticket move_sum(const host::Step& step, std::uint32_t run, bool sends, int peer,
                                int tag);
  /// Compares what has come of a lane's messages up to a step.
  void compare_landed(std::size_t lane, std::uint32_t done);
  void begin_messages(const host::Step& step, std::size_t lane);
  void set_done(std::size_t lane, std::uint32_t done);
  [[nodiscard]] Obstacle described(const host::BoundWait& wait) const;

  Board& board_;
  Transport& transport_;
  Tags tags_;
  const Bound* bound_ = nullptr;
  std::uint64_t call_ = 0;
  std::size_t unfinished_ = 0;  // lanes
  std::vector<Lane> lanes_;
  std::vector<std::byte*> bases_;  // by host::base_index; of private memory: its owner's address
  std::vector<bool> has_shared_;   // by rank: its buffers are mapped here
  std::vector<const std::byte*> sources_;
  std::vector<std::byte*> destinations_;

  const Gpus& gpus_;
  std::unique_ptr<GpuLanes> gpu_lanes_;                  // null: not needed so far
  std::vector<std::unique_ptr<StagedMessages>> staged_;  // by lane
};

}  // namespace ringside::mpi
