// SPDX-License-Identifier: MIT
/// The plans of a communicator of processes: an algorithm's plan, lowered to what its hosts allow.
///
/// Between hosts everything is a message. Inside one it depends on whose memory the callers'
/// buffers are in: *shared* (our allocator's), then every rank reads and writes them; or private,
/// then they are reached by copies of the kernel's (*single*) or through scratch (*staged*), which
/// `lower` inserts. What all ranks agree on is the plan before that, so ranks whose buffers differ
/// in this make the same call.
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
#include "ringside/collectives/plan_cache.hpp"

namespace ringside::mpi {

/// How the ranks of a host reach each other's input and output.
enum class Reach : std::size_t { shared, single, staged };
inline constexpr std::size_t reaches = 3;

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

  [[nodiscard]] std::size_t bytes() const {
    return program.bytes() + roles.capacity() * sizeof(Role);
  }
};

/// What a rank keeps of a call in order to make it again (as host::Prepared).
struct Prepared {
  host::Signature signature;
  std::uint64_t digest = 0;
  std::optional<host::SmallMessage> small;
  /// [reach][placement]; null: not for such a call.
  std::array<std::array<std::unique_ptr<const Bound>, 2>, reaches> programs;
  Reach with_private = Reach::staged;  ///< if any rank's buffers are
  std::size_t scratch_bytes = 0;       ///< of the longest program

  [[nodiscard]] const Bound& program(Placement placement, bool all_shared) const {
    const auto reach = static_cast<std::size_t>(all_shared ? Reach::shared : with_private);
    return *programs[reach][placement == Placement::out_of_place ? 0 : 1];
  }
  [[nodiscard]] std::size_t bytes() const;
};

class Plans {
 public:
  explicit Plans(const Board& board);

  /// `most_inline`: the longest message, in bytes, that travels in an entry. `shared`: this rank's
  /// buffers are. Throws as host::prepare.
  [[nodiscard]] Prepared prepare(const Call& call, std::size_t most_inline, bool shared,
                                 const SpecFor& spec_for);

 private:
  [[nodiscard]] Reach reach_of_private() const;
  [[nodiscard]] std::unique_ptr<const Bound> bind(Reach reach, const std::string& spec,
                                                  const Request& request,
                                                  std::span<const std::size_t> blocks,
                                                  const FoldShape& values);

  int rank_, ranks_;
  bool one_host_;
  bool single_copies_;
  Team::Copies copies_;
  PlanCache base_;
  std::array<std::unique_ptr<PlanCache>, reaches> lowered_;
};

}  // namespace ringside::mpi
