// SPDX-License-Identifier: MIT
/// What the ranks of a communicator let each other see, in memory that those of a host share: who
/// has entered which call with what, how far each stream has come, and whether the communicator has
/// failed. The same as host::Shared, for processes: plain data, no addresses but offsets.
///
/// Every rank has a block of its own. A host's first rank (its *leader*) also has the host's block:
/// the failure, and a copy of the entries of ranks on other hosts, which it keeps up to date.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/executors/host/program.hpp"
#include "ringside/collectives/executors/host/shared.hpp"
#include "ringside/collectives/executors/host/signature.hpp"
#include "ringside/collectives/executors/mpi/gpu/exports.hpp"
#include "ringside/collectives/executors/mpi/team.hpp"
#include "ringside/collectives/lower.hpp"

namespace ringside::mpi {

/// Messages up to this long can travel in an entry.
inline constexpr std::size_t message_capacity = 65536 - 16;

/// Lanes of a rank, those of sends and receives counted.
inline constexpr int most_streams = most_lanes * lanes_with_messages;

/// What memory a rank's input and output are.
enum class Memory : std::uint64_t {
  apart,       ///< of its process alone
  shared,      ///< in its segment
  gpu,         ///< memory that its GPU alone reaches
  shared_gpu,  ///< memory of its GPU that others open
  none,        ///< it has no data in the call
};
inline constexpr std::size_t memories = 5;

[[nodiscard]] inline bool is_gpus(Memory memory) {
  return memory == Memory::gpu || memory == Memory::shared_gpu;
}

/// Where a rank's buffers are.
struct Where {
  /// Offsets in its segment, or addresses in its process. Its scratch is always in its segment.
  std::uint64_t input = 0, output = 0, scratch = 0;
  Memory memory = Memory::apart;
  /// Of a rank with a GPU, as far as it has them, by the numbers of its base addresses: memory that
  /// others open.
  std::array<ExportedPlace, host::bases_per_rank> exported = {};
};

/// What a rank publishes when it enters a call; as host::Entry.
struct alignas(host::line) Entry {
  std::atomic<std::uint64_t> call{0};  ///< stored last, with release
  std::uint64_t digest = 0;            ///< of the signature
  union {
    Where where = {};
    std::byte message[message_capacity];
  };
  host::Signature signature;  ///< its spec is `spec`
  std::array<char, 256> spec = {};
  std::uint64_t message_bytes = 0;  ///< of the message, if one travels in the entry

  void set_signature(const host::SignedCall& signed_call, std::size_t its_message_bytes);
};
static_assert(offsetof(Entry, message) == 16);

/// The first cause of a failure.
struct FailureRecord {
  std::atomic<bool> claimed{false};
  std::atomic<bool> set{false};
  int code = 0;
  int rank = -1, peer = -1, step = -1;
  std::array<char, 512> words = {};

  /// False if there was one already.
  bool store(const Error& cause);
  /// Of a record that is set.
  [[nodiscard]] Error cause() const;
};

/// With which algorithm that is not ours a rank is planning; "": none.
class PlanningNote {
 public:
  void set(const std::string& algorithm);
  [[nodiscard]] std::string get() const;

 private:
  std::atomic<std::size_t> length_{0};  ///< stored last
  std::array<std::atomic<char>, 256> words_ = {};
};

struct RankBlock {
  std::array<Entry, 2> entries;
  std::array<host::Progress, most_streams> progress;
  host::Busy busy;
  std::atomic<bool> gone{false};  ///< its body has returned or thrown
  PlanningNote planning;
};

/// Followed by two entries for every rank of the communicator.
struct alignas(host::line) HostBlock {
  FailureRecord failure;
};

/// Where a rank's blocks are in its segment.
struct BlockOffsets {
  std::uint64_t rank_block = 0;
  std::uint64_t host_block = 0;  ///< of leaders
  /// A flag of the team's: the rank will not look at the others' blocks any more.
  std::uint64_t closed = 0;
};

class Board {
 public:
  /// Makes the blocks of this process. `members`: the world's ranks, in the communicator's order,
  /// this process's among them.
  Board(std::shared_ptr<Team> team, std::vector<int> members);
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  /// To be given to all ranks, and what they gave to be taken, before anything else.
  [[nodiscard]] BlockOffsets offsets() const;
  void connect(const std::vector<BlockOffsets>& of_all);

  [[nodiscard]] Team& team() const { return *team_; }
  [[nodiscard]] const std::shared_ptr<Team>& shared_team() const { return team_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return static_cast<int>(members_.size()); }
  /// The world's ranks, by rank.
  [[nodiscard]] const std::vector<int>& members() const { return members_; }
  /// The world's rank of a rank.
  [[nodiscard]] int member(int rank) const { return members_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] bool is_near(int rank) const { return team_->is_near(member(rank)); }
  /// Ranks on this host, ascending; the first is the leader.
  [[nodiscard]] const std::vector<int>& near() const { return near_; }
  [[nodiscard]] bool leads() const { return near_.front() == rank_; }
  /// Those on the other hosts, host by host.
  [[nodiscard]] const std::vector<std::vector<int>>& far_hosts() const { return far_hosts_; }
  [[nodiscard]] bool one_host() const { return far_hosts_.empty(); }

  [[nodiscard]] Entry& entry(int rank, std::uint64_t call) const {
    return (*entries_[static_cast<std::size_t>(rank)])[call & 1];
  }
  /// Of near ranks.
  [[nodiscard]] RankBlock& block(int rank) const {
    return *blocks_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] std::atomic<std::uint64_t>& progress(int rank, int stream) const {
    return block(rank).progress[static_cast<std::size_t>(stream)].done;
  }
  [[nodiscard]] FailureRecord& failure() const { return host_block_->failure; }

  /// Scratch of this rank for a call, at least so long; to be asked for before it enters.
  [[nodiscard]] std::byte* scratch(std::uint64_t call, std::size_t bytes) {
    return scratch_.reserve(
        call, bytes, [&](std::size_t size) { return Arena::allocate(team_->arena(), size); });
  }
  /// The same in memory of its GPU, and in memory of the host that GPUs reach.
  [[nodiscard]] std::byte* gpu_scratch(std::uint64_t call, std::size_t bytes,
                                       const std::shared_ptr<Exports>& exports) {
    return gpu_scratch_.reserve(call, bytes,
                                [&](std::size_t size) { return Exports::allocate(exports, size); });
  }
  [[nodiscard]] std::byte* pinned_scratch(std::uint64_t call, std::size_t bytes,
                                          const std::shared_ptr<Exports>& exports) {
    return pinned_scratch_.reserve(
        call, bytes, [&](std::size_t size) { return Exports::allocate_at_host(exports, size); });
  }
  /// The offset of an address in this rank's segment.
  [[nodiscard]] std::uint64_t offset_of(const void* address) const;
  /// Where an offset in a near rank's segment is for this process.
  [[nodiscard]] std::byte* address(int rank, std::uint64_t offset) const {
    return team_->segment(member(rank)).data() + offset;
  }

 private:
  /// Memory for every other call.
  class Scratch {
   public:
    /// At least so long; made by `allocate` if it is too short as it is.
    template <class Allocate>
    std::byte* reserve(std::uint64_t call, std::size_t bytes, Allocate&& allocate) {
      auto& memory = memory_[call & 1];
      auto& length = bytes_[call & 1];
      if (length < bytes) {
        length = 0;
        memory.reset();
        memory = allocate(bytes);
        length = bytes;
      }
      return memory.get();
    }
    void move_to(std::vector<std::shared_ptr<std::byte>>& all) {
      for (auto& memory : memory_) all.push_back(std::move(memory));
    }

   private:
    std::array<std::shared_ptr<std::byte>, 2> memory_;
    std::array<std::size_t, 2> bytes_ = {};
  };
  [[nodiscard]] static std::size_t host_block_bytes(int ranks) {
    return sizeof(HostBlock) + static_cast<std::size_t>(ranks) * sizeof(std::array<Entry, 2>);
  }

  std::shared_ptr<Team> team_;
  std::vector<int> members_;
  int rank_ = 0;
  std::vector<int> near_;
  std::vector<std::vector<int>> far_hosts_;
  std::uint64_t own_closed_;
  std::vector<std::atomic<bool>*> closed_;  // of near ranks
  std::shared_ptr<std::byte> own_block_, own_host_block_;
  Scratch scratch_, gpu_scratch_, pinned_scratch_;
  std::vector<RankBlock*> blocks_;              // null: far
  std::vector<std::array<Entry, 2>*> entries_;  // of far ranks: in the host's block
  HostBlock* host_block_ = nullptr;
};

/// What later calls throw on a communicator that has failed, and for one that has not: nothing.
[[nodiscard]] Error failed_before(const Board& board);
void throw_if_failed(const Board& board);

}  // namespace ringside::mpi
