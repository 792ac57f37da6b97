// SPDX-License-Identifier: MIT
/// What is asked for: a collective over n ranks, before any algorithm has been chosen.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ringside {

enum class Collective : int {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  reduce,
  gather,
  scatter,
  all_to_all,
  barrier,
};

[[nodiscard]] std::string_view to_string(Collective collective);
[[nodiscard]] std::optional<Collective> parse_collective(std::string_view name);
[[nodiscard]] std::span<const std::string_view> collective_names();

/// The largest number of ranks that a request may name.
inline constexpr int max_ranks = 65536;

/// A request says nothing of bytes: a plan made for it serves every message size.
struct Request {
  Collective collective = Collective::all_reduce;
  int ranks = 1;
  int root = 0;           ///< broadcast, reduce, gather, scatter; 0 elsewhere
  bool in_place = false;  ///< input and output are the same memory (see layout.hpp)

  bool operator==(const Request&) const = default;
};

/// True for broadcast, reduce, gather and scatter.
[[nodiscard]] bool has_root(Collective collective);
/// True for all_reduce, reduce_scatter and reduce: contributions are folded, not copied.
[[nodiscard]] bool reduces(Collective collective);

/// Throws Error(invalid_argument) unless 1 <= ranks <= max_ranks, root is a rank (0 for collectives
/// without one), and the collective can be in place if asked to (all_to_all cannot).
void validate(const Request& request);

/// "all_reduce on 4 ranks, out of place", "broadcast on 4 ranks from root 2, in place".
[[nodiscard]] std::string describe(const Request& request);

}  // namespace ringside
