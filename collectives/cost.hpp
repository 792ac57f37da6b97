// SPDX-License-Identifier: MIT
/// What a plan costs, counted from its ops: no machine, no time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ringside/collectives/plan.hpp"

namespace ringside {

/// Bytes that cross from one rank's memory to another's.
struct LinkBytes {
  int from = 0;             ///< a rank
  int to = 0;               ///< another
  std::uint64_t bytes = 0;  ///< in this direction, of the whole call
  bool operator==(const LinkBytes&) const = default;
};

/// A data movement is a hop when it crosses ranks: an op that reads a remote source makes one hop,
/// one that stores to a remote destination makes one more. Each remote source moves its bytes to
/// the executing rank, and each remote destination receives them from it. Scratch counts as memory
/// of its rank, also where it is placed at the host.
struct Cost {
  /// Hops on the longest path through waits and queues, slices included: the latency term. A plan
  /// of k slices counts each slice's hop.
  int steps = 0;
  std::size_t ops = 0;  ///< of the plan, each counted once, not per slice
  /// Remote sources and remote destinations of all ops: the copies made over links.
  std::size_t transfers = 0;
  std::vector<std::uint64_t> sent;      ///< bytes per rank, to others
  std::vector<std::uint64_t> received;  ///< bytes per rank, from others
  std::vector<LinkBytes> links;         ///< ordered by (from, to), zero ones left out
  std::vector<std::uint64_t> scratch;   ///< bytes per rank, `depth` slices deep

  /// Bytes of the rank that sends the most: the bandwidth term.
  [[nodiscard]] std::uint64_t busiest_sent() const;
  /// Bytes of the rank that receives the most.
  [[nodiscard]] std::uint64_t busiest_received() const;
};

/// Costs for blocks of `block_elements[block]` elements of `element_bytes` each (for all_reduce:
/// one block). Requires a well-formed plan. Throws Error(invalid_argument) if there are not as many
/// as the request has blocks.
[[nodiscard]] Cost cost_of(const Plan& plan, std::span<const std::size_t> block_elements,
                           std::size_t element_bytes);

}  // namespace ringside
