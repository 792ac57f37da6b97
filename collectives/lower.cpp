// SPDX-License-Identifier: MIT
#include "ringside/collectives/lower.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "ringside/base/error.hpp"

namespace ringside {
namespace {

using Place = ScratchSlot::Place;

void check_size(const Plan& plan, const AccessMatrix& access) {
  const auto ranks = static_cast<std::size_t>(plan.ranks());
  if (access.size() != ranks ||
      std::any_of(access.begin(), access.end(), [&](auto& row) { return row.size() != ranks; }))
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the access matrix of a plan of {0} ranks must be {0} x {0}", ranks));
}

bool at_host(const Plan& plan, const Location& location) {
  return location.buffer == Buffer::scratch &&
         plan.scratch(location.rank)[static_cast<std::size_t>(location.slot)].place == Place::host;
}

/// What an op of `rank` may do with a location.
Access reach(const Plan& plan, const AccessMatrix& access, int rank, const Location& location) {
  if (location.rank == rank) return Access::direct;
  const Access between =
      access[static_cast<std::size_t>(rank)][static_cast<std::size_t>(location.rank)];
  if (between == Access::message) return between;
  if (at_host(plan, location)) return Access::direct;
  const bool scratch = location.buffer == Buffer::scratch;
  if (between == Access::scratch_or_copy) return scratch ? Access::direct : Access::copy_only;
  if (between == Access::scratch_only) return scratch ? Access::direct : Access::none;
  return between;
}

bool any_messages(const AccessMatrix& access) {
  return std::any_of(access.begin(), access.end(), [](const auto& row) {
    return std::find(row.begin(), row.end(), Access::message) != row.end();
  });
}

/// Of the lowered plan.
Shape shape_with(const Plan& plan, const AccessMatrix& access) {
  Shape shape = plan.shape();
  if (any_messages(access)) shape.lanes *= lanes_with_messages;
  return shape;
}

bool allowed_op(const Plan& plan, const AccessMatrix& access, const Op& op) {
  const bool plain_copy = op.sources.size() == 1 && op.destinations.size() == 1;
  const auto may = [&](const Location& location) {
    const Access here = reach(plan, access, op.rank, location);
    return here == Access::direct ||
           (plain_copy && (here == Access::copy_only || is_wire(plan, location)));
  };
  return std::all_of(op.sources.begin(), op.sources.end(), may) &&
         std::all_of(op.destinations.begin(), op.destinations.end(), may);
}

class Lowering {
 public:
  Lowering(const Plan& plan, const AccessMatrix& access)
      : plan_(plan),
        access_(access),
        cells_(plan),
        result_(plan.request(), shape_with(plan, access), plan.spec()),
        stored_(cells_.size(), 0) {
    for (int rank = 0; rank < plan.ranks(); ++rank)
      for (const auto& slot : plan.scratch(rank)) result_.add_slot(rank, slot);
  }

  Plan run() {
    for (std::size_t index = 0; index < plan_.size(); ++index) {
      const Op op = plan_.op(index);
      if (allowed_op(plan_, access_, op))
        result_.append(op);
      else
        lower_op(op);
      ++now_;
      for (const auto& to : op.destinations)
        for (int offset = 0; offset < op.count; ++offset) stored_[cells_.at(to, offset)] = now_;
    }
    return std::move(result_);
  }

 private:
  struct Staged {
    Location host;
    std::size_t when = 0;  // how many ops of the plan had run
  };

  [[nodiscard]] Access reach_of(int rank, const Location& location) const {
    return reach(result_, access_, rank, location);
  }

  void lower_op(const Op& op) {
    std::vector<Location> values;  // what the op folds, all within its direct reach
    std::vector<Location> rest(op.destinations.begin(), op.destinations.end());
    temporaries_ = 0;
    for (const auto& from : op.sources) values.push_back(bring_near(op, from, rest));

    std::vector<Location> stores;  // what the op itself stores to
    std::vector<Location> copies;  // stored by plain copies of the executing rank
    std::vector<Location> pulls;   // stored by their owners, out of host memory
    std::vector<Location> sends;   // stored by their owners, out of messages
    for (const auto& to : rest) {
      const Access access = reach_of(op.rank, to);
      (access == Access::direct      ? stores
       : access == Access::copy_only ? copies
       : access == Access::message   ? sends
                                     : pulls)
          .push_back(to);
    }
    const auto own = [&](const Location& location) { return location.rank == op.rank; };
    const bool is_copy = values.size() == 1;
    const bool is_own_copy = is_copy && own(values.front());

    std::optional<Location> host;  // where owners find the value
    if (!pulls.empty()) {
      if (is_copy && at_host(result_, values.front())) {
        host = values.front();
      } else {
        host = slot_for(op.rank, Place::host, op);
        stores.push_back(*host);
      }
    }
    // What is only copied is sent by its owner.
    const bool needs_own = (!copies.empty() && !is_own_copy) || (!sends.empty() && !is_copy);
    if (needs_own && std::none_of(stores.begin(), stores.end(), own))
      stores.push_back(slot_for(op.rank, Place::device, op));

    if (!stores.empty()) result_.append({op.rank, op.lane, op.count, values, stores});
    const auto own_store = [&] { return *std::find_if(stores.begin(), stores.end(), own); };
    for (const auto& to : copies)
      append_copy(op.rank, op, is_own_copy ? values.front() : own_store(), to);
    for (const auto& to : sends) append_message(op, is_copy ? values.front() : own_store(), to);
    for (const auto& to : pulls) append_copy(to.rank, op, *host, to);
  }

  /// Where the executing rank finds a source's value within its direct reach. A copy that may only
  /// fetch stores to a destination of its own (taken out of `rest`) and goes on from there.
  Location bring_near(const Op& op, const Location& from, std::vector<Location>& rest) {
    switch (reach_of(op.rank, from)) {
      case Access::direct:
        return from;
      case Access::none:
        return stage(op, from);
      default:
        break;
    }
    Location near;
    const auto own = std::find_if(rest.begin(), rest.end(),
                                  [&](const Location& to) { return to.rank == op.rank; });
    if (op.sources.size() == 1 && own != rest.end()) {
      near = *own;
      rest.erase(own);
    } else {
      near = slot_for(op.rank, Place::device, op);
    }
    if (reach_of(op.rank, from) == Access::message)
      append_message(op, from, near);
    else
      append_copy(op.rank, op, from, near);
    return near;
  }

  /// The owner of `from` puts it in host memory, unless what lies there from before is still right.
  Location stage(const Op& op, const Location& from) {
    const auto [known, is_new] = staged_.try_emplace({cells_.at(from), op.count});
    Staged& staged = known->second;
    if (is_new) staged.host = new_slot(from.rank, Place::host, op);
    bool right = !is_new;
    for (int offset = 0; offset < op.count; ++offset)
      right = right && stored_[cells_.at(from, offset)] <= staged.when;
    if (!right) append_copy(from.rank, op, from, staged.host);
    staged.when = now_;
    return staged.host;
  }

  void append_copy(int rank, const Op& op, const Location& from, const Location& to) {
    result_.append({rank, op.lane, op.count, {&from, 1}, {&to, 1}});
  }

  void append_message(const Op& op, const Location& from, const Location& to) {
    const Location wire = new_slot(to.rank, Place::wire, op);
    const int lanes = plan_.shape().lanes;
    result_.append({from.rank, lanes + op.lane, op.count, {&from, 1}, {&wire, 1}});
    result_.append({to.rank, 2 * lanes + op.lane, op.count, {&wire, 1}, {&to, 1}});
  }

  Location new_slot(int rank, Place place, const Op& op) {
    const int slot = result_.add_slot(rank, {op.chunk(), op.count, place});
    return {rank, Buffer::scratch, slot, op.chunk()};
  }

  /// A temporary of this op. Ops on the same chunks share them.
  Location slot_for(int rank, Place place, const Op& op) {
    const auto [known, is_new] =
        slots_.try_emplace({rank, place, op.chunk(), op.count, temporaries_++});
    if (is_new) known->second = new_slot(rank, place, op);
    return known->second;
  }

  const Plan& plan_;
  const AccessMatrix& access_;
  Cells cells_;
  Plan result_;
  std::vector<std::size_t> stored_;  // [cell of plan_]: the op, from 1, that last stored there
  std::size_t now_ = 0;              // ops of plan_ that have run
  int temporaries_ = 0;              // of the op being lowered
  std::map<std::pair<std::size_t, int>, Staged> staged_;  // by cell and count
  std::map<std::tuple<int, Place, int, int, int>, Location> slots_;
};

}  // namespace

AccessMatrix full_access(int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  return AccessMatrix(n, std::vector<Access>(n, Access::direct));
}

Plan lower(const Plan& plan, const AccessMatrix& access) {
  check_size(plan, access);
  return Lowering(plan, access).run();
}

bool allowed(const Plan& plan, const AccessMatrix& access) {
  check_size(plan, access);
  for (std::size_t index = 0; index < plan.size(); ++index)
    if (!allowed_op(plan, access, plan.op(index))) return false;
  return true;
}

}  // namespace ringside
