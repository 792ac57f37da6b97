// SPDX-License-Identifier: MIT
/// What hosts tell each other about calls: the entries of their ranks, failures, who has gone.
///
/// *Entries*: when all ranks of a host have entered a call, its leader sends their entries in one
/// message to every other leader, which puts them on its board. So every rank finds all entries in
/// memory, whatever hosts there are, and compares them as on one host. *Notices* go from any rank
/// to any other on another host, and are looked for only by ranks that wait for long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/base/error.hpp"
#include "ringside/collectives/executors/mpi/board.hpp"

namespace ringside::mpi {

/// Tags of the messages of a communicator: its number, and what they are.
class Tags {
 public:
  /// Throws Error(unsupported) if the MPI has no tags for so many communicators.
  Tags(int context, int greatest_tag);
  [[nodiscard]] int entries() const { return first_; }
  [[nodiscard]] int notices() const { return first_ + 1; }
  [[nodiscard]] int envelopes() const { return first_ + 2; }
  [[nodiscard]] int answers() const { return first_ + 3; }
  [[nodiscard]] int data() const { return first_ + 4; }
  /// Of what a plan sends in this lane (of the plan before it was lowered).
  [[nodiscard]] int lane(int lane) const { return first_ + first_lane + lane; }

 private:
  static constexpr int first_lane = 8;
  static constexpr int count = first_lane + most_lanes;
  int first_;
};

class Exchange {
 public:
  /// `most_inline`: the longest message in an entry, the same for all ranks.
  Exchange(Board& board, Tags tags, std::size_t most_inline);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// Of a leader that has entered a call: moves the entries of its host and those of the others on.
  /// True when nothing is left to be done.
  [[nodiscard]] bool move_entries(std::uint64_t call);

  /// Tells all ranks on other hosts.
  void send_failure(const Error& cause);
  /// This rank makes no call after `last_call`.
  void send_gone(std::uint64_t last_call);
  /// Asks a rank on another host whether it is waiting, too.
  void ask(int rank);
  /// Looks at the notices that have come: a failure goes on the board, questions are answered.
  void read_notices();
  /// Whether a rank makes no such call any more, as far as it is known.
  [[nodiscard]] bool has_gone(int rank, std::uint64_t call) const {
    return last_calls_[static_cast<std::size_t>(rank)] < call;
  }
  /// Whether a rank that was asked has answered.
  [[nodiscard]] bool has_answered(int rank) const {
    return answered_[static_cast<std::size_t>(rank)];
  }

 private:
  enum class Kind : std::uint32_t { failure, gone, question, answer };
  struct Notice;
  struct EntryHead;
  struct FarHost {
    int leader = 0;
    std::vector<std::byte> buffer;
    Ticket ticket;
    std::uint64_t received = 0;  // the call whose entries have come last
  };
  struct Sent {
    std::vector<std::byte> bytes;
    std::vector<Ticket> tickets;
  };
  /// Once all ranks of this host have entered; false before.
  bool send_entries(std::uint64_t call);
  void pack(std::uint64_t call, std::vector<std::byte>& bytes) const;
  void unpack(const FarHost& host, const std::vector<int>& ranks, std::uint64_t call);
  [[nodiscard]] std::size_t most_bytes(std::size_t ranks) const;
  void post_receive(FarHost& host, std::size_t ranks);
  void send_notice(const Notice& notice, int rank);
  void send_to_all(const Notice& notice);
  void forget_sent_notices();

  Board& board_;
  Transport& transport_;
  Tags tags_;
  std::size_t most_inline_;
  std::vector<FarHost> hosts_;  // of a leader
  std::uint64_t sent_ = 0;      // the call whose entries were sent last
  Sent bundle_;
  std::mutex mutex_;  // of what follows: any thread may abort
  std::list<Sent> notices_;
  std::vector<std::uint64_t> last_calls_;  // by rank; greatest: not known
  std::vector<bool> answered_;
};

}  // namespace ringside::mpi
