// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/mpi/gpu/staged_messages.hpp"

#include <algorithm>
#include <utility>

#include "ringside/base/keep.hpp"

namespace ringside::mpi {

StagedMessages::Piece StagedMessages::take(std::size_t bytes) {
  const auto found = std::find_if(free_.begin(), free_.end(),
                                  [&](const Piece& piece) { return piece.bytes >= bytes; });
  if (found == free_.end()) {
    if (!free_.empty()) free_.pop_back();  // too short: a longer one takes its place
    return {gpu_.pinned(bytes), bytes};
  }
  Piece piece = std::move(*found);
  free_.erase(found);
  return piece;
}

void StagedMessages::send(const std::byte* data, std::size_t bytes, int to, int tag,
                          std::uint32_t step) {
  // Only read, as a message that is sent.
  flights_.push_back(
      {true, const_cast<std::byte*>(data), bytes, to, tag, step, take(bytes), {}, Phase::begins});
}

void StagedMessages::receive(std::byte* data, std::size_t bytes, int from, int tag,
                             std::uint32_t step) {
  Flight& flight =
      flights_.emplace_back(Flight{false, data, bytes, from, tag, step, take(bytes), {}, {}});
  flight.ticket = transport_.receive(flight.piece.memory.get(), bytes, from, tag);
  flight.phase = Phase::on_its_way;
}

bool StagedMessages::advance() {
  bool moved = false;
  for (Flight& flight : flights_) {
    const Phase before = flight.phase;
    const bool lets_others = flight.sends ? advance_send(flight) : advance_receive(flight);
    moved |= flight.phase != before;
    if (!lets_others) break;
  }
  while (!flights_.empty() && flights_.front().phase == Phase::over) {
    free_.push_back(std::move(flights_.front().piece));
    flights_.pop_front();
  }
  return moved;
}

/// False: what follows is to be copied later.
bool StagedMessages::advance_send(Flight& flight) {
  if (flight.phase == Phase::begins) {
    lanes_.copy(lane_, flight.piece.memory.get(), flight.data, flight.bytes);
    flight.phase = Phase::copied;
  }
  if (flight.phase == Phase::copied) {
    if (!lanes_.is_idle(lane_)) return false;
    flight.ticket =
        transport_.send(flight.piece.memory.get(), flight.bytes, flight.peer, flight.tag);
    flight.phase = Phase::on_its_way;
  }
  if (flight.phase == Phase::on_its_way && transport_.done(flight.ticket))
    flight.phase = Phase::over;
  return true;
}

bool StagedMessages::advance_receive(Flight& flight) {
  if (flight.phase == Phase::on_its_way && transport_.done(flight.ticket)) {
    lanes_.copy(lane_, flight.data, flight.piece.memory.get(), flight.bytes);
    flight.phase = Phase::copied;
  }
  if (flight.phase == Phase::copied && lanes_.is_idle(lane_)) flight.phase = Phase::over;
  return flight.phase == Phase::over;
}

void StagedMessages::drop() {
  for (Flight& flight : flights_) {
    if (!flight.ticket.active) continue;
    transport_.drop(flight.ticket);
    keep_for_ever(std::move(flight.piece.memory));  // MPI may still use it
  }
  flights_.clear();
}

}  // namespace ringside::mpi
