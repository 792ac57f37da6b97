// SPDX-License-Identifier: MIT
#include "ringside/collectives/plan_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ringside/collectives/dependencies.hpp"

namespace ringside {
namespace {

/// The step that each op belongs to: hops on the longest path to its end, in the first slice.
std::vector<int> steps_of(const Plan& plan) {
  const Schedule schedule = make_schedule(plan);
  std::vector<int> steps(plan.size(), 0);
  std::vector<int> stream_end(schedule.streams.size(), 0);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const Op op = plan.op(i);
    int& end = stream_end[static_cast<std::size_t>(schedule.stream_of[i])];
    for (const Wait& wait : schedule.waits(static_cast<int>(i)))
      if (wait.lag == 0) {
        const auto& stream = schedule.streams[static_cast<std::size_t>(wait.stream)];
        const int earlier = stream[static_cast<std::size_t>(wait.position)];
        end = std::max(end, steps[static_cast<std::size_t>(earlier)]);
      }
    const auto remote = [&](const Location& location) { return location.rank != op.rank; };
    end += std::any_of(op.sources.begin(), op.sources.end(), remote) ? 1 : 0;
    end += std::any_of(op.destinations.begin(), op.destinations.end(), remote) ? 1 : 0;
    steps[i] = end;
  }
  return steps;
}

}  // namespace

SteppedPlan by_step(const Plan& plan) {
  const auto steps = steps_of(plan);
  std::vector<std::size_t> order(plan.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return steps[a] < steps[b]; });
  SteppedPlan result{Plan(plan.request(), plan.shape(), plan.spec()), {}};
  for (int rank = 0; rank < plan.ranks(); ++rank)
    for (const auto& slot : plan.scratch(rank)) result.plan.add_slot(rank, slot);
  for (const std::size_t i : order) {
    result.plan.append(plan.op(i));
    result.steps.push_back(steps[i]);
  }
  return result;
}

std::string step_label(int earlier, int step) {
  return step - earlier > 1 ? fmt::format("steps {}-{}", earlier + 1, step)
                            : fmt::format("step {}", step);
}

std::optional<Held> PlanMemory::running_value(int rank, int chunk) const {
  auto id = Expressions::nothing;
  bool exists = false;
  for (const Buffer buffer : {Buffer::output, Buffer::input})
    if (holds(rank, buffer, chunk)) {
      exists = true;
      if (id == Expressions::nothing) id = run_.value({rank, buffer, 0, chunk});
    }
  return exists ? std::optional(held(id, chunk)) : std::nullopt;
}

Held PlanMemory::in_scratch(int rank, int slot, int chunk) const {
  return at({rank, Buffer::scratch, slot, chunk});
}

Held PlanMemory::at(const Location& location) const {
  return held(run_.value(location), location.chunk);
}

std::pair<std::size_t, std::size_t> PlanMemory::outputs() const {
  std::pair<std::size_t, std::size_t> count{0, 0};
  for (int rank = 0; rank < plan_.ranks(); ++rank)
    for (int chunk = 0; chunk < plan_.chunks(); ++chunk) {
      if (!holds(rank, Buffer::output, chunk)) continue;
      ++count.first;
      const auto id = run_.value({rank, Buffer::output, 0, chunk});
      if (id != Expressions::nothing && complete(id, chunk)) ++count.second;
    }
  return count;
}

bool PlanMemory::holds(int rank, Buffer buffer, int chunk) const {
  return blocks_in(plan_.request(), rank, buffer).contains(plan_.block_of(chunk));
}

bool PlanMemory::complete(Expressions::Id id, int chunk) const {
  if (const auto sole = sole_contributor(plan_.request(), plan_.block_of(chunk)))
    return id == expressions_.leaf(*sole);
  return expressions_.contributors(id) == plan_.ranks() && !expressions_.repeated(id);
}

Held PlanMemory::held(Expressions::Id id, int chunk) const {
  Held held;
  if (id == Expressions::nothing) return held;
  held.complete = complete(id, chunk);
  held.repeated = expressions_.repeated(id).has_value();
  for (int rank = 0; rank < plan_.ranks(); ++rank)
    held.ranks.push_back(expressions_.contains(id, rank));
  return held;
}

}  // namespace ringside
