// SPDX-License-Identifier: MIT
/// One call of a collective on one rank, as the front end hands it to a backend.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "ringside/collectives/communicator.hpp"
#include "ringside/collectives/reduction/types.hpp"
#include "ringside/collectives/request.hpp"

namespace ringside {

struct Call {
  Collective collective = Collective::all_reduce;
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  /// Length of every block of the request, in elements (all_reduce: one block).
  std::span<const std::size_t> block_elements;
  ElementType type = ElementType::float32;
  ReduceOp op = ReduceOp::sum;
  int root = 0;
  bool in_place = false;
  const CallOptions* options = nullptr;
};

/// What a backend implements. The front end has checked the arguments.
class Communicator::Implementation {
 public:
  virtual ~Implementation() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  virtual void run(const Call& call) = 0;
  /// The spec string, `auto` resolved, that a call on blocks of `bytes` bytes in all would run.
  [[nodiscard]] virtual std::string spec_for(const Request& request, std::size_t bytes,
                                             const CallOptions& options) const = 0;
  virtual void abort(const std::string& why) = 0;
};

}  // namespace ringside
