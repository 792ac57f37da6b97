// SPDX-License-Identifier: MIT
#include "ringside/tools/report/plan_story.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "ringside/base/error.hpp"
#include "ringside/collectives/plan_io.hpp"

namespace ringside::report {
namespace {

void check_size(const Plan& plan) {
  const auto refuse = [&](std::size_t what, const char* name, std::size_t most) {
    throw Error(
        ErrorCode::unsupported,
        fmt::format("an animation shows at most {} {}: {} on {} ranks has {} (--show prints "
                    "a summary)",
                    most, name, plan.spec(), plan.ranks(), what));
  };
  if (plan.ranks() > most_story_ranks)
    refuse(static_cast<std::size_t>(plan.ranks()), "ranks", most_story_ranks);
  std::size_t cells =
      static_cast<std::size_t>(plan.ranks()) * static_cast<std::size_t>(plan.chunks());
  for (int rank = 0; rank < plan.ranks(); ++rank)
    for (const auto& slot : plan.scratch(rank)) cells += static_cast<std::size_t>(slot.chunk_count);
  if (cells > most_story_cells)
    refuse(cells, "chunks in the memory of all ranks", most_story_cells);
}

std::vector<std::vector<StoryCell>> cells_of(const Plan& plan, const PlanMemory& memory) {
  std::vector<std::vector<StoryCell>> all(static_cast<std::size_t>(plan.ranks()));
  for (int rank = 0; rank < plan.ranks(); ++rank) {
    auto& cells = all[static_cast<std::size_t>(rank)];
    for (int chunk = 0; chunk < plan.chunks(); ++chunk)
      if (auto held = memory.running_value(rank, chunk))
        cells.push_back({.chunk = chunk, .scratch = false, .held = std::move(*held)});
    const auto slots = plan.scratch(rank);
    for (std::size_t slot = 0; slot < slots.size(); ++slot)
      for (int i = 0; i < slots[slot].chunk_count; ++i) {
        const int chunk = slots[slot].first_chunk + i;
        cells.push_back({.chunk = chunk,
                         .scratch = true,
                         .held = memory.in_scratch(rank, static_cast<int>(slot), chunk)});
      }
  }
  return all;
}

bool is_remote(const Op& op, const Location& location) { return location.rank != op.rank; }

/// What an op reads from others; before it runs.
void add_reads(const Op& op, const PlanMemory& memory, StoryStep& step) {
  for (const auto& source : op.sources)
    if (is_remote(op, source))
      step.moves.push_back({source.rank, op.rank, op.chunk(), op.count, 0, memory.at(source)});
}

/// What it stores to others; after it has run. Reads come before stores.
void add_stores(const Op& op, const PlanMemory& memory, StoryStep& step) {
  const bool reads = std::ranges::any_of(
      op.sources, [&](const Location& source) { return is_remote(op, source); });
  for (const auto& destination : op.destinations)
    if (is_remote(op, destination)) {
      step.moves.push_back(
          {op.rank, destination.rank, op.chunk(), op.count, reads ? 1 : 0, memory.at(destination)});
      if (reads) step.hops = 2;
    }
}

/// By ports: what enters and leaves a rank's memory from and to others, in whole messages.
class Ports {
 public:
  explicit Ports(const Plan& plan)
      : share_(1.0 / std::max(plan.chunks(), 1)), ranks_(static_cast<std::size_t>(plan.ranks())) {}

  [[nodiscard]] double busiest(const std::vector<Move>& moves, int hop) const {
    std::vector<double> in(ranks_, 0), out(ranks_, 0);
    for (const auto& move : moves)
      if (move.hop == hop) {
        in[static_cast<std::size_t>(move.to)] += share_ * move.count;
        out[static_cast<std::size_t>(move.from)] += share_ * move.count;
      }
    return std::max(*std::ranges::max_element(in), *std::ranges::max_element(out));
  }
  [[nodiscard]] double share(const Move& move) const { return share_ * move.count; }

 private:
  double share_;
  std::size_t ranks_;
};

/// The longest that a resource of the machine is busy with a hop's moves.
double busiest_resource(const Machine& machine, const std::vector<Move>& moves, int hop,
                        double bytes_of_chunk) {
  std::map<ResourceId, double> seconds;
  for (const auto& move : moves) {
    if (move.hop != hop) continue;
    // Whether it is read or stored, the same links carry it.
    const Way& way = machine.read({.gpu = move.from, .host = false}, move.to, Mover::kernel);
    for (const auto& use : way.uses)
      seconds[use.resource] += use.weight * bytes_of_chunk * move.count /
                               machine.resources()[static_cast<std::size_t>(use.resource)].capacity;
  }
  double longest = 0;
  for (const auto& [resource, time] : seconds) longest = std::max(longest, time);
  return longest;
}

}  // namespace

double Story::duration() const {
  return std::accumulate(steps.begin(), steps.end(), 0.0,
                         [](double sum, const StoryStep& step) { return sum + step.duration; });
}

Story story_of(const Plan& plan, const Machine* machine, double bytes) {
  check_size(plan);
  if (machine != nullptr && machine->gpus() < plan.ranks())
    throw Error(ErrorCode::bad_input, fmt::format("the machine has {} GPUs, the plan {} ranks",
                                                  machine->gpus(), plan.ranks()));
  const SteppedPlan stepped = by_step(plan);
  const Plan& ordered = stepped.plan;
  PlanMemory memory(ordered);
  const Ports ports(plan);
  const auto ranks = static_cast<std::size_t>(plan.ranks());
  const double unit = machine != nullptr && plan.ranks() > 1
                          ? busiest_resource(*machine, {{.from = 0, .to = 1}}, 0, bytes)
                          : 1;
  Story story{.spec = plan.spec(),
              .call = describe(plan.request()),
              .ranks = plan.ranks(),
              .chunks = plan.chunks(),
              .machine = "",
              .unit_seconds = machine != nullptr ? unit : 0,
              .bytes = machine != nullptr ? bytes : 0,
              .start = cells_of(ordered, memory),
              .steps = {},
              .fault = {},
              .received = std::vector<double>(ranks, 0),
              .sent = std::vector<double>(ranks, 0)};
  std::size_t moves = 0;
  int earlier = 0;
  for (std::size_t first = 0, end = 0; first < ordered.size() && !story.fault; first = end) {
    StoryStep step{.label = step_label(earlier, stepped.steps[first])};
    while (end < ordered.size() && stepped.steps[end] == stepped.steps[first] && !story.fault) {
      const Op op = ordered.op(end);
      add_reads(op, memory, step);
      if (const auto fault = memory.step()) story.fault = fault->message;
      add_stores(op, memory, step);
      step.words.push_back(short_text(op));
      ++end;
    }
    for (int hop = 0; hop < step.hops; ++hop) {
      step.hop_durations.push_back(
          machine != nullptr
              ? busiest_resource(*machine, step.moves, hop, bytes / plan.chunks()) / unit
              : ports.busiest(step.moves, hop));
      step.duration += step.hop_durations.back();
    }
    for (const auto& move : step.moves) {
      story.received[static_cast<std::size_t>(move.to)] += ports.share(move);
      story.sent[static_cast<std::size_t>(move.from)] += ports.share(move);
    }
    moves += step.moves.size();
    if (moves > most_story_moves)
      throw Error(
          ErrorCode::unsupported,
          fmt::format("an animation shows at most {} moves: {} on {} ranks has more (--show "
                      "prints a summary)",
                      most_story_moves, plan.spec(), plan.ranks()));
    step.after = cells_of(ordered, memory);
    story.steps.push_back(std::move(step));
    earlier = stepped.steps[first];
  }
  return story;
}

}  // namespace ringside::report
