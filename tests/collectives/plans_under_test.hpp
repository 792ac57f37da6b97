// SPDX-License-Identifier: MIT
/// What the tests of plans share: all registered algorithms as plans, and plans that can be edited.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/plan.hpp"

namespace ringside::test {

/// Of the algorithms that do a collective.
inline std::vector<std::string> registered_names(Collective collective = Collective::all_reduce) {
  std::vector<std::string> names;
  for (const AlgorithmInfo& info : registered_algorithms())
    if (std::find(info.collectives.begin(), info.collectives.end(), collective) !=
        info.collectives.end())
      names.push_back(info.name);
  return names;
}

/// The plan, or nothing where the algorithm says that it does not support the request.
inline std::optional<Plan> try_plan(std::string_view spec, const Request& request) {
  try {
    return make_plan(spec, request);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return std::nullopt;
  }
}

inline Request all_reduce(int ranks, bool in_place = false) {
  return {Collective::all_reduce, ranks, 0, in_place};
}

/// Every collective (those with a root: that rank, or the last) in every placement that it has.
inline std::vector<Request> requests_of(const std::vector<int>& numbers_of_ranks,
                                        int root = max_ranks) {
  std::vector<Request> requests;
  for (int number = 0; number < static_cast<int>(Collective::barrier); ++number) {
    const auto collective = static_cast<Collective>(number);
    const bool rooted = has_root(collective);
    for (const int ranks : numbers_of_ranks)
      for (const bool in_place : {false, true})
        if (collective != Collective::all_to_all || !in_place)
          requests.push_back({collective, ranks, rooted ? std::min(root, ranks - 1) : 0, in_place});
  }
  return requests;
}

/// "ring: all_gather of 4 ranks, root 0, in place", for messages.
inline std::string words(const std::string& spec, const Request& request) {
  return spec + ": " + std::string(to_string(request.collective)) + " of " +
         std::to_string(request.ranks) + " ranks, root " + std::to_string(request.root) +
         (request.in_place ? ", in place" : ", out of place");
}

/// An op that owns its locations.
struct OwnedOp {
  int rank = 0;
  int lane = 0;
  int count = 1;
  std::vector<Location> sources;
  std::vector<Location> destinations;

  [[nodiscard]] Op view() const { return {rank, lane, count, sources, destinations}; }
};

inline std::vector<OwnedOp> ops_of(const Plan& plan) {
  std::vector<OwnedOp> ops;
  for (std::size_t index = 0; index < plan.size(); ++index) {
    const Op op = plan.op(index);
    ops.push_back({op.rank,
                   op.lane,
                   op.count,
                   {op.sources.begin(), op.sources.end()},
                   {op.destinations.begin(), op.destinations.end()}});
  }
  return ops;
}

/// The plan with other ops.
inline Plan with_ops(const Plan& plan, const std::vector<OwnedOp>& ops) {
  Plan result(plan.request(), plan.shape(), plan.spec());
  for (int rank = 0; rank < plan.ranks(); ++rank)
    for (const auto& slot : plan.scratch(rank)) result.add_slot(rank, slot);
  for (const auto& op : ops) result.append(op.view());
  return result;
}

inline Location input(int rank, int chunk) { return {rank, Buffer::input, 0, chunk}; }
inline Location output(int rank, int chunk) { return {rank, Buffer::output, 0, chunk}; }
inline Location scratch(int rank, int slot, int chunk) {
  return {rank, Buffer::scratch, slot, chunk};
}

/// A hand-made plan. Its shape's chunks are per block.
inline Plan hand_made(const Request& request, const Shape& shape, const std::vector<OwnedOp>& ops,
                      const std::vector<std::pair<int, ScratchSlot>>& slots = {}) {
  Plan plan(request, shape, "by hand");
  for (const auto& [rank, slot] : slots) plan.add_slot(rank, slot);
  for (const auto& op : ops) plan.append(op.view());
  return plan;
}

}  // namespace ringside::test
