// SPDX-License-Identifier: MIT
/// Memory that the GPUs of a host's ranks share: each opens what others have made for that, and
/// keeps it open.
///
/// Whoever frees memory that another process has open gets undefined behaviour (CUDA), and an
/// address says nothing about whose memory it is when it was freed and given out again. So only
/// memory of ours is opened, never the caller's own; it is known by a *record*, which lies in the
/// owner's segment, tells what to open and who has it open, and says when the owner has no more use
/// for it. Then the others close it, and when all have, the owner frees it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "ringside/collectives/executors/mpi/gpu/gpu.hpp"
#include "ringside/collectives/executors/mpi/team.hpp"

namespace ringside::mpi {

/// An address for others: the record of an allocation, as an offset in its owner's segment (0:
/// none), and an offset in bytes.
struct ExportedPlace {
  std::uint64_t record = 0;
  std::uint64_t offset = 0;
};

/// Of one rank; thread-safe.
class Exports {
 public:
  /// `team` outlives it.
  Exports(const Team& team, std::shared_ptr<Gpu> gpu) : team_(team), gpu_(std::move(gpu)) {}
  /// Closes what is open; waits a while for the others to do so with what is this rank's.
  ~Exports();
  Exports(const Exports&) = delete;
  Exports& operator=(const Exports&) = delete;

  /// Memory of the GPU, zero. Throws Error(io) without memory, Error(device).
  [[nodiscard]] static std::shared_ptr<std::byte> allocate(const std::shared_ptr<Exports>& exports,
                                                           std::size_t bytes);
  /// Memory of this rank's segment that GPUs reach; errors as above.
  [[nodiscard]] static std::shared_ptr<std::byte> allocate_at_host(
      const std::shared_ptr<Exports>& exports, std::size_t bytes);
  /// Of an address in such memory of this rank; nothing: it is other memory.
  [[nodiscard]] std::optional<ExportedPlace> place_of(const void* address) const;

  /// Memory of another rank of this host, as long as its owner is in a call that it is used in.
  /// Throws Error(device) if it cannot be opened.
  [[nodiscard]] std::byte* open(int world_rank, const ExportedPlace& place);
  /// Closes what owners have no more use for, and frees what nobody has open any more. Quick where
  /// there is nothing to do; to be called now and then.
  void tidy();

 private:
  struct Record;
  struct Own {
    Record* record = nullptr;
    std::shared_ptr<std::byte> record_memory, host_memory;
    std::byte* memory = nullptr;
    std::size_t bytes = 0;
  };
  struct Opened {
    Record* record = nullptr;
    std::uint64_t number = 0;
    std::byte* memory = nullptr;
    bool at_host = false;
  };
  std::shared_ptr<std::byte> add(const std::shared_ptr<Exports>& self, Own own, std::size_t bytes);
  void retire(std::byte* memory);
  void map(Opened& opened, std::byte* segment);
  void unmap(Opened& opened) noexcept;
  /// Under the lock: true if it was free to go.
  bool free_unused(Own& own) noexcept;

  const Team& team_;
  std::shared_ptr<Gpu> gpu_;
  mutable std::mutex mutex_;
  std::map<const std::byte*, Own> own_;  // by address
  std::vector<Own> retired_;
  std::map<std::pair<int, std::uint64_t>, Opened> opened_;  // by rank and record
};

}  // namespace ringside::mpi
