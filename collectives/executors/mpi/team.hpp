// SPDX-License-Identifier: MIT
/// All processes of a world: on which hosts they are, and the memory that those of a host share.
///
/// A *host* is a set of processes that map each other's segments. It is told from what processes
/// say of themselves (host name, machine, container), so two containers of one machine are two
/// hosts, and so are two network namespaces with names of their own. The option `mpi_hosts` makes
/// hosts where there is one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/collectives/executors/mpi/segment.hpp"
#include "ringside/collectives/executors/mpi/transport.hpp"

namespace ringside::mpi {

class Team {
 public:
  /// A collective of all processes. Throws Error(io), on all of them, where those of a host cannot
  /// share memory; Error(bad_input) for an option that makes no sense.
  explicit Team(Transport& transport);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] Transport& transport() const { return transport_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return static_cast<int>(members_.size()); }

  /// Hosts are numbered by their first ranks.
  [[nodiscard]] int hosts() const { return static_cast<int>(host_names_.size()); }
  [[nodiscard]] int host_of(int rank) const { return member(rank).host; }
  [[nodiscard]] const std::string& host_name(int host) const {
    return host_names_[static_cast<std::size_t>(host)];
  }
  /// Whether a rank is on this process's host.
  [[nodiscard]] bool is_near(int rank) const { return host_of(rank) == host_of(rank_); }
  /// Logical cores that the ranks of a host may run on, all together.
  [[nodiscard]] int cores_of(int host) const { return cores_[static_cast<std::size_t>(host)]; }
  /// Of all hosts.
  [[nodiscard]] int cores() const;

  /// Bytes a second that the slowest host's fastest network interface carries, as the system says;
  /// 10 Gbit/s where it does not.
  [[nodiscard]] double network_bandwidth() const { return network_bandwidth_; }

  /// Of a near rank.
  [[nodiscard]] const Segment& segment(int rank) const {
    return rank == rank_ ? arena_->segment() : *member(rank).segment;
  }
  [[nodiscard]] int process(int rank) const { return member(rank).process; }
  [[nodiscard]] const std::shared_ptr<Arena>& arena() const { return arena_; }
  /// Offset of a new flag in this process's segment, which is not set and lasts as long as the
  /// team: others may look at it when what it is about has long gone.
  [[nodiscard]] std::uint64_t new_flag();
  /// Of a near rank.
  [[nodiscard]] std::atomic<bool>& flag(int rank, std::uint64_t offset) const {
    return *reinterpret_cast<std::atomic<bool>*>(segment(rank).data() + offset);
  }
  /// Memory of the arena that others may look at until all the flags are set.
  void keep(std::vector<std::shared_ptr<std::byte>> memory,
            std::vector<std::atomic<bool>*> until_set);
  /// Waits until that is over, as by `await_others`. Memory that others map stays theirs anyway;
  /// what they have yet to open, as that of GPUs, does not.
  void await_kept(Seconds longest);
  /// Waits until `over()`, for so long at most, and not where one of this host has died or is
  /// stopped.
  template <class Over>
  void await_others(Seconds longest, Over&& over) const {
    constexpr Seconds between_looks{1e-3};
    const Stopwatch since;
    while (!over() && since.elapsed() < longest && !is_crippled())
      std::this_thread::sleep_for(between_looks);
  }
  /// Whether all processes may read and write the private memory of those of their host.
  [[nodiscard]] bool single_copies() const { return single_copies_; }
  /// The option `mpi_copies`; where processes were told different things, what asks for least of
  /// them: all must lower a plan alike.
  enum class Copies : char { staged, automatic, single };
  [[nodiscard]] Copies copies() const { return copies_; }

  /// Of a near rank: whether its process has ended; whether it is stopped.
  [[nodiscard]] bool has_died(int rank) const;
  [[nodiscard]] bool is_stopped(int rank) const;
  /// Whether any near rank is one or the other.
  [[nodiscard]] bool is_crippled() const;
  /// "rank 3 (process 1234 on host a)".
  [[nodiscard]] std::string describe(int rank) const;

 private:
  struct Facts;
  struct Member {
    int host = 0;
    int process = 0;
    int watch = -1;  // a descriptor of the process: readable when it has ended
    std::unique_ptr<Segment> segment;
  };
  [[nodiscard]] const Member& member(int rank) const {
    return members_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] Facts own_facts() const;
  void assign_hosts(const std::vector<Facts>& all);
  void attach(const std::vector<Facts>& all);
  void try_single_copies(const std::vector<Facts>& all);

  Transport& transport_;
  int rank_;
  std::shared_ptr<Arena> arena_;
  std::vector<Member> members_;
  std::vector<std::string> host_names_;
  std::vector<int> cores_;
  double network_bandwidth_ = 0;
  bool single_copies_ = false;
  Copies copies_ = Copies::automatic;
  struct Kept {
    std::vector<std::shared_ptr<std::byte>> memory;
    std::vector<std::atomic<bool>*> until_set;
  };
  void forget_unwatched();

  std::mutex mutex_;  // of what follows
  std::vector<Kept> kept_;
  std::vector<std::shared_ptr<std::byte>> flags_;
  std::size_t flags_left_ = 0;  // in the last of these
};

}  // namespace ringside::mpi
