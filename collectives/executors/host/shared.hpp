// SPDX-License-Identifier: MIT
/// What the ranks of a host communicator share: who has entered which call with what, how far each
/// stream has come, and whether the communicator has failed.
///
/// Calls are numbered from 1. Everything is monotone and nothing is reset: a stream's progress is
/// (call << 32) + finished steps of that call, modulo 2^64.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/executors/host/job.hpp"
#include "ringside/collectives/executors/host/mailbox.hpp"
#include "ringside/collectives/executors/host/signature.hpp"
#include "ringside/collectives/plan_cache.hpp"

namespace ringside::host {

/// Two lines: adjacent ones are fetched in pairs.
inline constexpr std::size_t line = 128;

/// Where a rank's buffers are.
struct Addresses {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::byte* scratch = nullptr;
};

/// Messages up to this long can travel in the entry itself.
inline constexpr std::size_t message_capacity = 4096 - 16;

/// What a rank publishes when it enters a call. Peers read the first cache line (and the message),
/// unless the digests differ. A message begins in that line: one of 48 bytes needs no other.
struct alignas(line) Entry {
  std::atomic<std::uint64_t> call{0};  ///< stored last, with release
  std::uint64_t digest = 0;            ///< of the signature
  union {
    Addresses addresses = {};
    std::byte message[message_capacity];
  };
  Signature signature;
};
static_assert(offsetof(Entry, message) == 16);

struct alignas(line) Progress {
  std::atomic<std::uint64_t> done{0};
};

[[nodiscard]] constexpr std::uint64_t progress(std::uint64_t call, std::uint32_t steps) {
  return (call << 32) + steps;
}

/// Whether a stream has come as far as `target`. Progress wraps after 2^32 calls (an hour of small
/// ones), so it is the difference that tells.
[[nodiscard]] constexpr bool reached(std::uint64_t done, std::uint64_t target) {
  return static_cast<std::int64_t>(done - target) >= 0;
}

/// The core that a rank was last seen on, or -1. Changes rarely, so reading it costs nothing.
struct alignas(line) Seat {
  std::atomic<int> cpu{-1};
};

/// The call in whose ops a rank is, or 0: while it is, it may touch its peers' buffers.
struct alignas(line) Busy {
  std::atomic<std::uint64_t> call{0};
};

/// A stream without steps falls behind. So every rank moves all its streams up once in so many
/// calls: then no two are half the range of progress apart.
inline constexpr std::uint64_t calls_between_moves = std::uint64_t{1} << 30;

/// For calls of `rank` on a communicator that failed earlier: `failed`, with the cause's words and
/// peer.
[[nodiscard]] Error failed_before(const Error& cause, int rank);
/// The cause of a failure that a caller asked for.
[[nodiscard]] Error aborted(const std::string& why);

/// The first cause of a communicator's failure; later ones are ignored.
class Failure {
 public:
  /// Polled by whoever waits.
  [[nodiscard]] const std::atomic<bool>& flag() const { return failed_; }
  void set(const Error& cause);
  /// For calls under way: the cause itself, as seen by `rank`.
  [[noreturn]] void throw_cause(int rank) const;
  /// For later calls: failed_before. Returns if there is none.
  void throw_if_set(int rank) const;

 private:
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  std::optional<Error> cause_;
};

class Shared {
 public:
  /// Of all ranks of a job of its own.
  Shared(int ranks, PlanCache& plans);
  /// Of these ranks of a job, in this order. To be added to the job.
  Shared(std::vector<int> members, PlanCache& plans, std::shared_ptr<Job> job);

  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] PlanCache& plans() { return plans_; }
  [[nodiscard]] Failure& failure() { return failure_; }
  [[nodiscard]] Job& job() { return *job_; }
  /// The ranks' numbers in the job.
  [[nodiscard]] const std::vector<int>& members() const { return members_; }
  /// The messages sent to a rank and not yet taken.
  [[nodiscard]] Mailbox& mailbox(int rank) { return mailboxes_[static_cast<std::size_t>(rank)]; }

  /// What these ranks of this communicator share as a communicator of their own. The first of them
  /// to ask makes it, the others get the same; `split`: a number that all of them give, and for no
  /// other split.
  [[nodiscard]] std::shared_ptr<Shared> child(std::uint64_t split, const std::vector<int>& ranks);

  /// Where a rank publishes its entry of a call. Two suffice: who enters call i has left i - 1,
  /// which all had entered, so all have left i - 2.
  [[nodiscard]] Entry& entry(int rank, std::uint64_t call) {
    return entries_[static_cast<std::size_t>(rank)][call & 1];
  }

  /// Progress of every stream; made for the most lanes that a plan may have.
  [[nodiscard]] Progress& progress_of(int rank, int lane) {
    return progress_[static_cast<std::size_t>(rank) * most_lanes + static_cast<std::size_t>(lane)];
  }

  [[nodiscard]] std::atomic<std::uint64_t>& busy(int rank) {
    return busy_[static_cast<std::size_t>(rank)].call;
  }

  [[nodiscard]] std::atomic<int>& cpu_of(int rank) {
    return seats_[static_cast<std::size_t>(rank)].cpu;
  }

  /// Moves all streams of a rank up to the beginning of a call; to be called by that rank, before
  /// it enters.
  void move_up(int rank, std::uint64_t call);

  /// Scratch of a rank for a call, at least `bytes` long; to be asked for by that rank, before it
  /// enters. It is kept here because peers may still read it when the rank has left its last call.
  /// Two arenas suffice, as two entries do. Throws Error(io) without memory.
  [[nodiscard]] std::byte* scratch(int rank, std::uint64_t call, std::size_t bytes);

  /// A rank whose body has ended will never enter anything again.
  void set_gone(int rank) { gone_[static_cast<std::size_t>(rank)].store(true); }
  [[nodiscard]] bool gone(int rank) const { return gone_[static_cast<std::size_t>(rank)].load(); }

  /// The algorithm that is not ours with which a rank is planning; "": none.
  void set_planning(int rank, const std::string& algorithm);
  [[nodiscard]] std::string planning(int rank) const;

 private:
  struct Child {
    std::shared_ptr<Shared> shared;
    std::size_t fetched = 0;  // by how many of its ranks
  };

  int ranks_;
  PlanCache& plans_;
  std::shared_ptr<Job> job_;
  std::vector<int> members_;
  Failure failure_;
  std::vector<Mailbox> mailboxes_;
  std::mutex children_mutex_;
  std::map<std::pair<std::uint64_t, int>, Child> children_;  // by (split, first rank)
  std::vector<std::array<Entry, 2>> entries_;
  std::vector<Progress> progress_;
  std::vector<Busy> busy_;
  std::vector<Seat> seats_;
  std::vector<std::array<std::vector<std::byte>, 2>> scratch_;
  std::vector<std::atomic<bool>> gone_;
  mutable std::mutex planning_mutex_;
  std::map<int, std::string> planning_;
};

}  // namespace ringside::host
