// SPDX-License-Identifier: MIT
/// The proof that a schedule's waits are enough, by vector clocks (C. J. Fidge, Timestamps in
/// message-passing systems that preserve the partial ordering, 1988; F. Mattern, Virtual time and
/// global states of distributed systems, 1989). Knows nothing of how waits are derived.
///
/// The plan is unrolled over slices, and every (op, slice) gets a clock: per stream, how many of
/// its (op, slice)s are certain to be finished when this one starts. Then every access to a piece
/// of memory must find the conflicting accesses before it within its clock.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/collectives/dependencies.hpp"

namespace ringside {
namespace {

using Clock = std::vector<int>;  // [stream]: (op, slice)s finished

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorCode::internal, why); }

/// An (op, slice): which one, and that it is the `sequence`-th of its stream, from 1.
struct Node {
  int op = -1;
  int slice = 0;
  int stream = 0;
  int sequence = 0;
};

/// The last write to a piece of memory and the reads since. Clocks being transitive, who comes
/// after these comes after all accesses before.
struct History {
  int slice = -1;  // user memory: the slice of it that this is about
  Node writer;
  std::vector<Node> readers;  // one per stream, its latest
};

/// Every op is in the stream that its rank and lane name, once, in listed order.
void check_streams(const Plan& plan, const Schedule& schedule) {
  const auto lanes = static_cast<std::size_t>(plan.shape().lanes);
  const auto ranks = static_cast<std::size_t>(plan.ranks());
  if (schedule.ranks != plan.ranks() || schedule.lanes != plan.shape().lanes ||
      schedule.streams.size() != ranks * lanes || schedule.stream_of.size() != plan.size() ||
      schedule.position_of.size() != plan.size() || schedule.wait_begin.size() != plan.size() + 1 ||
      schedule.leave_waits.size() != ranks)
    refuse("the schedule is not of this plan");
  std::vector<std::size_t> next(schedule.streams.size(), 0);
  for (std::size_t index = 0; index < plan.size(); ++index) {
    const Op op = plan.op(index);
    const auto stream =
        static_cast<std::size_t>(op.rank) * lanes + static_cast<std::size_t>(op.lane);
    const auto& queue = schedule.streams[stream];
    const auto position = next[stream]++;
    if (position >= queue.size() || queue[position] != static_cast<int>(index) ||
        schedule.stream_of[index] != static_cast<int>(stream) ||
        schedule.position_of[index] != static_cast<int>(position))
      refuse(fmt::format("{} is not at place {} of stream {}, where its listed order puts it",
                         describe(plan, index), position, stream));
  }
  for (std::size_t stream = 0; stream < next.size(); ++stream)
    if (schedule.streams[stream].size() != next[stream])
      refuse(fmt::format("stream {} lists {} ops, but {} are its own", stream,
                         schedule.streams[stream].size(), next[stream]));
}

class Checker {
 public:
  Checker(const Plan& plan, const Schedule& schedule)
      : plan_(plan),
        schedule_(schedule),
        cells_(plan),
        // Scratch is reused every `depth` slices: after twice as many, nothing new happens.
        slices_(std::min(plan.shape().slices, 2 * plan.shape().depth + 2)),
        places_(static_cast<std::size_t>(std::min(plan.shape().depth, slices_))),
        now_(schedule.streams.size(), Clock(schedule.streams.size(), 0)),
        finished_(plan.size()),
        history_(cells_.user_cells() + (cells_.size() - cells_.user_cells()) * places_) {
    for (std::size_t op = 0; op < plan.size(); ++op)
      for (const Wait& wait : schedule.waits(static_cast<int>(op))) {
        const int other = awaited(wait);
        if (wait.lag == 0 && other >= static_cast<int>(op))
          refuse(fmt::format("{} waits for {}, which is not before it", describe(plan, op),
                             describe(plan, static_cast<std::size_t>(other))));
        keep(other, wait.lag);
      }
    for (const auto& waits : schedule.leave_waits)
      for (const Wait& wait : waits) keep(awaited(wait), 0);
  }

  void run() {
    for (int slice = 0; slice < slices_; ++slice)
      for (std::size_t op = 0; op < plan_.size(); ++op) {
        const Node node = start(static_cast<int>(op), slice);
        check_accesses(node);
        finish(node);
      }
    check_leaves();
  }

 private:
  /// The op that a wait names.
  [[nodiscard]] int awaited(const Wait& wait) const {
    if (wait.stream < 0 || wait.stream >= static_cast<int>(schedule_.streams.size()) ||
        wait.position < 0 || wait.lag < 0 ||
        wait.position >=
            static_cast<int>(schedule_.streams[static_cast<std::size_t>(wait.stream)].size()))
      refuse(fmt::format("a wait for place {} of stream {}, {} slices ago: there is none",
                         wait.position, wait.stream, wait.lag));
    return schedule_
        .streams[static_cast<std::size_t>(wait.stream)][static_cast<std::size_t>(wait.position)];
  }

  /// Clocks of this op are needed for `lag` more slices.
  void keep(int op, int lag) {
    auto& clocks = finished_[static_cast<std::size_t>(op)];
    clocks.resize(std::max(clocks.size(), static_cast<std::size_t>(std::min(lag, slices_)) + 1));
  }
  [[nodiscard]] Clock& finished(int op, int slice) {
    auto& clocks = finished_[static_cast<std::size_t>(op)];
    return clocks[static_cast<std::size_t>(slice) % clocks.size()];
  }

  static void merge(Clock& clock, const Clock& other) {
    for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
  }

  /// Advances the clock of the node's stream to its start.
  Node start(int op, int slice) {
    const auto index = static_cast<std::size_t>(op);
    const int stream = schedule_.stream_of[index];
    auto& clock = now_[static_cast<std::size_t>(stream)];
    for (const Wait& wait : schedule_.waits(op))
      if (wait.lag <= slice) merge(clock, finished(awaited(wait), slice - wait.lag));
    const auto length = schedule_.streams[static_cast<std::size_t>(stream)].size();
    return {op, slice, stream, slice * static_cast<int>(length) + schedule_.position_of[index] + 1};
  }

  void finish(const Node& node) {
    auto& clock = now_[static_cast<std::size_t>(node.stream)];
    clock[static_cast<std::size_t>(node.stream)] = node.sequence;
    if (!finished_[static_cast<std::size_t>(node.op)].empty())
      finished(node.op, node.slice) = clock;
  }

  History& history(std::size_t cell, int slice) {
    if (cells_.is_scratch(cell)) {
      const auto place = static_cast<std::size_t>(slice) % places_;
      return history_[cells_.user_cells() + (cell - cells_.user_cells()) * places_ + place];
    }
    auto& history = history_[cell];
    if (history.slice != slice) {
      history.slice = slice;
      history.writer = Node{};
      history.readers.clear();
    }
    return history;
  }

  void demand(const Node& before, const Node& after, Location location, int offset) const {
    if (before.op < 0 || (before.op == after.op && before.slice == after.slice)) return;
    if (now_[static_cast<std::size_t>(after.stream)][static_cast<std::size_t>(before.stream)] >=
        before.sequence)
      return;
    location.chunk += offset;
    refuse(fmt::format("nothing orders {} of slice {} before {} of slice {}, and both use {}",
                       describe(plan_, static_cast<std::size_t>(before.op)), before.slice,
                       describe(plan_, static_cast<std::size_t>(after.op)), after.slice,
                       describe(location)));
  }

  void check_accesses(const Node& node) {
    const Op op = plan_.op(static_cast<std::size_t>(node.op));
    for (int offset = 0; offset < op.count; ++offset) {
      for (const auto& from : op.sources) {
        auto& seen = history(cells_.at(from, offset), node.slice);
        demand(seen.writer, node, from, offset);
        const auto mine = std::find_if(seen.readers.begin(), seen.readers.end(),
                                       [&](const Node& n) { return n.stream == node.stream; });
        if (mine == seen.readers.end())
          seen.readers.push_back(node);
        else
          *mine = node;
      }
      for (const auto& to : op.destinations) {
        auto& seen = history(cells_.at(to, offset), node.slice);
        demand(seen.writer, node, to, offset);
        for (const Node& reader : seen.readers) demand(reader, node, to, offset);
        seen.writer = node;
        seen.readers.clear();
      }
    }
  }

  /// Every op on a rank's user buffers is over when the rank leaves. Of the unrolled slices the
  /// last stands for the last of all: earlier ones are before it by queue order.
  void check_leaves() {
    const auto lanes = static_cast<std::size_t>(schedule_.lanes);
    std::vector<Clock> leave(static_cast<std::size_t>(plan_.ranks()),
                             Clock(schedule_.streams.size(), 0));
    for (std::size_t rank = 0; rank < leave.size(); ++rank) {
      for (std::size_t lane = 0; lane < lanes; ++lane)
        merge(leave[rank], now_[rank * lanes + lane]);
      for (const Wait& wait : schedule_.leave_waits[rank]) {
        if (wait.lag != 0) refuse(fmt::format("the leave of rank {} waits for a slice ago", rank));
        merge(leave[rank], finished(awaited(wait), slices_ - 1));
      }
    }
    for (std::size_t index = 0; index < plan_.size(); ++index) {
      const Op op = plan_.op(index);
      const auto stream = static_cast<std::size_t>(schedule_.stream_of[index]);
      const int last = (slices_ - 1) * static_cast<int>(schedule_.streams[stream].size()) +
                       schedule_.position_of[index] + 1;
      for (const auto& locations : {op.sources, op.destinations})
        for (const auto& location : locations)
          if (location.buffer != Buffer::scratch &&
              leave[static_cast<std::size_t>(location.rank)][stream] < last)
            refuse(fmt::format("rank {} may leave before {}, which uses its {}", location.rank,
                               describe(plan_, index), describe(location)));
    }
  }

  const Plan& plan_;
  const Schedule& schedule_;
  Cells cells_;
  int slices_;
  std::size_t places_;                        // slices that scratch holds at a time
  std::vector<Clock> now_;                    // [stream]
  std::vector<std::vector<Clock>> finished_;  // [op][slice modulo how many are kept]
  std::vector<History> history_;
};

}  // namespace

void check_waits(const Plan& plan, const Schedule& schedule) {
  check_streams(plan, schedule);
  Checker(plan, schedule).run();
}

}  // namespace ringside
