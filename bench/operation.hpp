// SPDX-License-Identifier: MIT
/// What a benchmark times: a collective, or messages between pairs.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ringside/collectives/request.hpp"

namespace ringside::bench {

/// A collective, which converts to and from it, or nccl-tests' sendrecv: every rank sends to the
/// next one and receives from the one before, round in a ring, which is no collective of ours.
class Operation {
 public:
  constexpr Operation(Collective collective) : collective_(collective) {}
  [[nodiscard]] static constexpr Operation sendrecv() { return {}; }

  [[nodiscard]] constexpr bool is_sendrecv() const { return !collective_; }
  /// Throws Error(unsupported) for sendrecv.
  operator Collective() const;

  constexpr bool operator==(const Operation&) const = default;
  constexpr bool operator==(Collective other) const { return collective_ == other; }

 private:
  constexpr Operation() = default;
  std::optional<Collective> collective_;
};

/// All of them, collectives first.
[[nodiscard]] std::vector<Operation> all_operations();

[[nodiscard]] std::string_view to_string(Operation operation);
/// "alltoall" for all_to_all; the others are called alike.
[[nodiscard]] std::string_view nccl_tests_name(Operation operation);
/// Either name, or nothing.
[[nodiscard]] std::optional<Operation> parse_operation(std::string_view name);

/// As of the collective; neither for sendrecv.
[[nodiscard]] bool reduces(Operation operation);
[[nodiscard]] bool has_root(Operation operation);
[[nodiscard]] bool is_barrier(Operation operation);

/// Whether algorithms can be chosen for it: not for barrier and sendrecv.
[[nodiscard]] bool has_algorithms(Operation operation);

/// True where every rank owns a block: the buffers that hold all of them are as many blocks long as
/// there are ranks.
[[nodiscard]] bool has_block_per_rank(Operation operation);

/// False for all_to_all, whose input and output hold the same block at different places, for
/// barrier, which has no buffers, and for sendrecv, which overwrites what is still to be sent.
[[nodiscard]] bool can_be_in_place(Operation operation);

}  // namespace ringside::bench
