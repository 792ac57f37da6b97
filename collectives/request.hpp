// SPDX-License-Identifier: MIT
/// What is asked for: a collective over n ranks, before any algorithm has been chosen.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ringside {

/// What moves where is said at the call of that name (see Calls). The values are part of the C
/// interface.
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

/// The name as above ("all_reduce"), as the command line and JSON have it.
[[nodiscard]] std::string_view to_string(Collective collective);
/// The collective of exactly this name, or nothing.
[[nodiscard]] std::optional<Collective> parse_collective(std::string_view name);
/// All names, in the order of the values.
[[nodiscard]] std::span<const std::string_view> collective_names();

/// The largest number of ranks that a request may name.
inline constexpr int max_ranks = 65536;

/// A request says nothing of bytes: a plan made for it serves every message size.
struct Request {
  Collective collective = Collective::all_reduce;
  int ranks = 1;          ///< 1 to max_ranks
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
