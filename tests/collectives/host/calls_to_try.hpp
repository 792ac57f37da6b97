// SPDX-License-Identifier: MIT
/// Calls to be tried on an executor: every algorithm of every collective, in all the ways in which
/// it can be asked for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ringside/collectives/reduction/types.hpp"
#include "ringside/collectives/request.hpp"
#include "ringside/tests/collectives/host/tried_call.hpp"
#include "ringside/tests/support/elements.hpp"

namespace ringside::tests {

inline constexpr std::array all_collectives = {Collective::all_reduce, Collective::reduce_scatter,
                                               Collective::all_gather, Collective::broadcast,
                                               Collective::reduce,     Collective::gather,
                                               Collective::scatter,    Collective::all_to_all};

/// Every algorithm of a collective, also with parameters of its own.
[[nodiscard]] std::vector<std::string> specs_for(Collective collective, int ranks);

/// Whether it can serve the request at all.
[[nodiscard]] bool supported(const std::string& spec, const Request& request);

/// Slices, lanes and depth; 0: not given.
struct Cut {
  int slices, lanes, depth;
};
inline constexpr std::array<Cut, 7> cuts = {
    {{0, 0, 0}, {2, 1, 1}, {3, 2, 0}, {4, 4, 2}, {7, 3, 3}, {16, 2, 1}, {64, 4, 0}}};

[[nodiscard]] std::string with_cut(const std::string& spec, const Cut& cut);

/// Block lengths, given in the way of that number, of `length_ways`.
[[nodiscard]] std::vector<std::size_t> lengths(const Request& request, int way, std::uint64_t seed);
[[nodiscard]] int length_ways(const Request& request);

/// Numbers calls, and deals out evenly what not all calls are made with.
class Dealer {
 public:
  TriedCall call(const Request& request, std::string spec, ElementType type, ReduceOp op, int way) {
    const auto seed = next_++;
    return {request, std::move(spec), lengths(request, way, seed), type, op, seed};
  }
  ElementType type() { return turn(types_, all_element_types); }
  ReduceOp op(Collective collective) {
    return reduces(collective) ? turn(ops_, all_reduce_ops) : ReduceOp::sum;
  }
  int way(const Request& request) {
    return static_cast<int>(ways_++ % static_cast<std::size_t>(length_ways(request)));
  }
  int root(Collective collective, int ranks) {
    return has_root(collective) ? static_cast<int>(roots_++ % static_cast<std::size_t>(ranks)) : 0;
  }
  std::size_t number() { return next_++; }

 private:
  // The turns drift against each other, so that all pairs are met in time.
  template <class Value, std::size_t count>
  Value turn(std::size_t& counter, const std::array<Value, count>& values) {
    const std::size_t i = counter++;
    return values[(i + i / count * 3) % count];
  }
  std::size_t next_ = 1, types_ = 0, ops_ = 0, ways_ = 0, roots_ = 0;
};

/// What is reduced with: every operator, or nothing.
[[nodiscard]] std::vector<ReduceOp> ops_of(Collective collective);

/// Calls `each(request with root 0, spec)` for what algorithms of a collective can serve.
template <class Each>
void for_each_algorithm(int ranks, Each each) {
  for (const Collective collective : all_collectives)
    for (const bool in_place : {false, true}) {
      const Request request{collective, ranks, 0, in_place};
      if (in_place && collective == Collective::all_to_all) continue;
      for (const auto& spec : specs_for(collective, ranks))
        if (supported(spec, request)) each(request, spec);
    }
}

}  // namespace ringside::tests
