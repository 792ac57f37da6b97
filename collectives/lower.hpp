// SPDX-License-Identifier: MIT
/// Lowering: a plan that assumes every rank can touch every other's memory becomes one that the
/// machine can run. What is proven, costed, simulated and run is the lowered plan; executors invent
/// no data movement.
#pragma once

#include <vector>

#include "ringside/collectives/plan.hpp"

namespace ringside {

/// What an executing rank may do with another rank's memory.
enum class Access : std::uint8_t {
  direct,     ///< read and write it in any op
  copy_only,  ///< only plain copies (one source, one destination) between that rank and its own
  none,       ///< nothing: data go through pinned host memory
  /// Its scratch as if direct; its input and output only in plain copies.
  scratch_or_copy,
  /// Its scratch as if direct; its input and output not at all.
  scratch_only,
  /// Nothing: what goes between the two is a message, in which both take part.
  message,
};

/// access[a][b]: what an op executed by rank a may do with rank b's memory. The diagonal is
/// ignored.
using AccessMatrix = std::vector<std::vector<Access>>;

[[nodiscard]] AccessMatrix full_access(int ranks);

/// Inserts the copies and the scratch that `access` makes necessary, right before and after the op
/// that needs them, in its lane; the listed order of the original ops is kept, so the meaning and
/// the bits are. Scratch placed at the host is within every rank's direct reach: without access,
/// the owner of a source puts it there (once, until it changes), and the owner of a destination
/// fetches it from there. A multicast that may only copy becomes copies and may vanish itself. A
/// plan that needs nothing comes back equal. Requires a well-formed plan.
///
/// A message is two ops: a copy by the owner of the source to a slot of the receiver that is a
/// `wire`, and a copy by the receiver from there. No two messages share a wire, and no op but these
/// two knows it, so what remains to be ordered by waits is local to those who share memory; what
/// crosses is ordered by the messages themselves. Sends and receives have lanes of their own,
/// behind those of the plan: lane l sends in lane L + l and receives in lane 2 L + l, each in
/// listed order.
/// Throws Error(invalid_argument) for a matrix of the wrong size.
[[nodiscard]] Plan lower(const Plan& plan, const AccessMatrix& access);

/// A plan with messages has so many times the lanes: for its ops, what it sends, what it receives.
inline constexpr int lanes_with_messages = 3;

/// Whether the location is a message on its way.
[[nodiscard]] inline bool is_wire(const Plan& plan, const Location& location) {
  return location.buffer == Buffer::scratch &&
         plan.scratch(location.rank)[static_cast<std::size_t>(location.slot)].place ==
             ScratchSlot::Place::wire;
}

/// True if every op only does what `access` allows.
[[nodiscard]] bool allowed(const Plan& plan, const AccessMatrix& access);

}  // namespace ringside
