// SPDX-License-Identifier: MIT
/// What must wait for what: the edges between the ops of a plan, derived from their locations.
///
/// Executors do not run ops in listed order but as *streams*: each lane of each rank is a queue
/// that runs its ops in listed order, all of them for slice 0, then all for slice 1, and so on. An
/// op of one stream waits for an op of another only if the two conflict and no other wait or queue
/// order already implies it. All edges run from a lexicographically smaller (slice, listed index)
/// to a greater one, so nothing can deadlock.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ringside/collectives/plan.hpp"

namespace ringside {

/// "Stream `stream` must have finished its op at `position`", of the same slice (`lag` 0) or of the
/// slice `lag` earlier (no wait at all in the first `lag` slices).
struct Wait {
  int stream = 0;
  int position = 0;
  int lag = 0;

  bool operator==(const Wait&) const = default;
};

/// Facts of an op that follow from the ops before and after it.
struct OpFacts {
  /// Bit i: source i is one rank's still unscaled contribution, and this op is the first to add it
  /// up (or the only op there is): the place to multiply it (premul_sum). Sources beyond the 64th
  /// are covered by `all_raw`.
  std::uint64_t raw_mask = 0;
  bool all_raw = false;
  /// The stored value holds all contributions and no source did: the place to divide (avg).
  bool completes = false;
  /// No later op reads a destination: the place for stores that bypass the caches.
  bool last_use = false;
};

/// A plan as streams with the necessary waits.
struct Schedule {
  int ranks = 0;
  int lanes = 0;

  /// Streams are numbered rank x lanes + lane. Ops (indices into the plan) per stream, in order.
  std::vector<std::vector<int>> streams;
  /// Per op: its stream and its position there.
  std::vector<int> stream_of;
  std::vector<int> position_of;
  std::vector<OpFacts> facts;

  /// An op that premul_sum cannot run, if there is one: beyond its 64th source it adds raw
  /// contributions to partial sums, and its facts cannot tell them apart.
  std::optional<std::size_t> unscalable;

  /// The waits of an op, transitively reduced.
  [[nodiscard]] std::span<const Wait> waits(int op) const {
    const auto i = static_cast<std::size_t>(op);
    return {wait_list.data() + wait_begin[i], wait_begin[i + 1] - wait_begin[i]};
  }
  /// What a rank's leave waits for: for every other rank's stream that touches this rank's user
  /// buffers, its last such op (of the last slice). Own streams are implied.
  std::vector<std::vector<Wait>> leave_waits;

  std::vector<Wait> wait_list;
  std::vector<std::uint32_t> wait_begin;  // size ops + 1
};

/// Derives it. Requires a well-formed plan (check_structure).
[[nodiscard]] Schedule make_schedule(const Plan& plan);

/// The same among the ops of some ranks alone (`near`, by rank): the others' have no waits, and
/// nobody waits for them. For a plan that was lowered to messages between these and those, which
/// touch no memory of each other's.
[[nodiscard]] Schedule make_schedule(const Plan& plan, const std::vector<bool>& near);

/// Throws Error(unsupported) if premul_sum cannot run the plan. `schedule` must be of `plan`.
void require_scalable(const Plan& plan, const Schedule& schedule);

/// Proves, independently of how the waits were derived, that they order every conflicting pair of
/// (op, slice)s, unrolled over enough slices to see scratch reused. Throws Error(internal) naming
/// the first unordered pair. `schedule` must be of `plan`.
void check_waits(const Plan& plan, const Schedule& schedule);

}  // namespace ringside
