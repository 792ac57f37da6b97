// SPDX-License-Identifier: MIT
/// Messages from and to memory of a GPU: they go through memory of the host that both the GPU and
/// the MPI reach.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "ringside/collectives/executors/mpi/gpu/gpu.hpp"
#include "ringside/collectives/executors/mpi/transport.hpp"

namespace ringside::mpi {

/// Those of a lane: all are sent, or all are received. They are begun and over in their order; one
/// at a time is copied, while others are on their way.
class StagedMessages {
 public:
  /// Messages under way at a time, each of which has a piece of pinned memory.
  static constexpr std::size_t most = 4;

  /// `lane`: where its copies are enqueued. All outlive it.
  StagedMessages(Transport& transport, Gpu& gpu, GpuLanes& lanes, std::size_t lane)
      : transport_(transport), gpu_(gpu), lanes_(lanes), lane_(lane) {}

  [[nodiscard]] bool is_full() const { return flights_.size() >= most; }
  void send(const std::byte* data, std::size_t bytes, int to, int tag, std::uint32_t step);
  void receive(std::byte* data, std::size_t bytes, int from, int tag, std::uint32_t step);
  /// Does what can be done; true if that was anything.
  bool advance();
  /// The step of the first that is not over.
  [[nodiscard]] std::optional<std::uint32_t> first_step() const {
    return flights_.empty() ? std::nullopt : std::optional(flights_.front().step);
  }
  /// Gives up on all. Their memory is left to the MPI, which may still use it.
  void drop();

 private:
  enum class Phase { begins, copied, on_its_way, over };
  struct Piece {
    std::shared_ptr<std::byte> memory;
    std::size_t bytes = 0;
  };
  struct Flight {
    bool sends = false;
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    int peer = 0, tag = 0;
    std::uint32_t step = 0;
    Piece piece;
    Ticket ticket;
    Phase phase = Phase::begins;
  };
  [[nodiscard]] Piece take(std::size_t bytes);
  bool advance_send(Flight& flight);
  bool advance_receive(Flight& flight);

  Transport& transport_;
  Gpu& gpu_;
  GpuLanes& lanes_;
  std::size_t lane_;
  std::deque<Flight> flights_;
  std::vector<Piece> free_;
};

}  // namespace ringside::mpi
