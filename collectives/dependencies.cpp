// SPDX-License-Identifier: MIT
#include "ringside/collectives/dependencies.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ringside/base/error.hpp"

namespace ringside {
namespace {

constexpr int none = -1;

/// clock[t]: how many ops of stream t are known to be finished.
using VectorClock = std::vector<int>;

void join(VectorClock& clock, const VectorClock& other) {
  for (std::size_t t = 0; t < clock.size(); ++t) clock[t] = std::max(clock[t], other[t]);
}

/// Who touched a cell: the last writer, and the last reader of each stream since then.
struct CellHistory {
  int first = none;
  int writer = none;
  std::vector<int> readers;

  /// The ops that the next writer must follow.
  template <class Visit>
  void each_before_write(Visit visit) const {
    if (readers.empty() && writer != none) visit(writer);
    for (const int reader : readers) visit(reader);
  }
};

class Deriver {
 public:
  Deriver(const Plan& plan, const std::vector<bool>& near)
      : plan_(plan), near_(near), cells_(plan), history_(cells_.size()), clocks_(plan.size()) {
    schedule_.ranks = plan.ranks();
    schedule_.lanes = plan.shape().lanes;
    schedule_.streams.resize(static_cast<std::size_t>(schedule_.ranks) *
                             static_cast<std::size_t>(schedule_.lanes));
    schedule_.wait_begin.push_back(0);
  }

  Schedule run() {
    for (int op = 0; op < static_cast<int>(plan_.size()); ++op) place(op);
    std::vector<std::vector<Wait>> waits(plan_.size());
    for (int op = 0; op < static_cast<int>(plan_.size()); ++op)
      waits[index(op)] = waits_within_slice(op);
    if (plan_.uses_scratch() && plan_.shape().slices > plan_.shape().depth) add_lagged(waits);
    for (const auto& list : waits) {
      schedule_.wait_list.insert(schedule_.wait_list.end(), list.begin(), list.end());
      schedule_.wait_begin.push_back(static_cast<std::uint32_t>(schedule_.wait_list.size()));
    }
    derive_leave_waits();
    derive_facts();
    return std::move(schedule_);
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] bool is_near(int rank) const { return near_.empty() || near_[index(rank)]; }
  [[nodiscard]] int stream(int op) const { return schedule_.stream_of[index(op)]; }
  [[nodiscard]] int position(int op) const { return schedule_.position_of[index(op)]; }
  [[nodiscard]] int length(int stream) const {
    return static_cast<int>(schedule_.streams[index(stream)].size());
  }

  template <class Visit>
  void each_cell(std::span<const Location> locations, int count, Visit visit) const {
    for (const auto& location : locations)
      for (int offset = 0; offset < count; ++offset) visit(cells_.at(location, offset));
  }

  void place(int op) {
    const Op view = plan_.op(index(op));
    const int stream = view.rank * schedule_.lanes + view.lane;
    schedule_.stream_of.push_back(stream);
    schedule_.position_of.push_back(length(stream));
    schedule_.streams[index(stream)].push_back(op);
  }

  /// Keeps of `candidates` what neither `clock` nor a later candidate implies, joins them to the
  /// clock, and returns the waits. Latest first: an op can only be implied by one listed after it.
  std::vector<Wait> reduce(std::vector<int>& candidates, VectorClock& clock) const {
    std::sort(candidates.begin(), candidates.end(), std::greater<>());
    candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
    std::vector<Wait> waits;
    for (const int before : candidates) {
      if (clock[index(stream(before))] > position(before)) continue;
      waits.push_back({stream(before), position(before), 0});
      join(clock, clocks_[index(before)]);
    }
    return waits;
  }

  std::vector<Wait> waits_within_slice(int op) {
    const Op view = plan_.op(index(op));
    if (!is_near(view.rank)) {
      clocks_[index(op)].assign(schedule_.streams.size(), 0);
      return {};
    }
    std::vector<int> candidates;
    const auto must_follow = [&](int before) { candidates.push_back(before); };
    each_cell(view.sources, view.count, [&](std::size_t cell) {
      if (history_[cell].writer != none) must_follow(history_[cell].writer);
    });
    each_cell(view.destinations, view.count,
              [&](std::size_t cell) { history_[cell].each_before_write(must_follow); });
    record_accesses(op, view);

    const int own = stream(op);
    VectorClock clock(schedule_.streams.size(), 0);
    if (position(op) > 0)
      clock = clocks_[index(schedule_.streams[index(own)][index(position(op) - 1)])];
    auto waits = reduce(candidates, clock);
    clock[index(own)] = position(op) + 1;
    clocks_[index(op)] = std::move(clock);
    return waits;
  }

  void record_accesses(int op, const Op& view) {
    each_cell(view.sources, view.count, [&](std::size_t cell) {
      auto& history = history_[cell];
      if (history.first == none) history.first = op;
      std::erase_if(history.readers, [&](int reader) { return stream(reader) == stream(op); });
      history.readers.push_back(op);
    });
    each_cell(view.destinations, view.count, [&](std::size_t cell) {
      auto& history = history_[cell];
      if (history.first == none) history.first = op;
      history.writer = op;
      history.readers.clear();
    });
  }

  /// A slice reuses the scratch of the slice `depth` before. The first op to touch a cell waits for
  /// its last users then; all others of this slice come after that first one.
  void add_lagged(std::vector<std::vector<Wait>>& waits) {
    std::vector<std::vector<int>> last_users(plan_.size());  // by first op
    for (std::size_t cell = 0; cell < history_.size(); ++cell) {
      if (!cells_.is_scratch(cell) || history_[cell].first == none) continue;
      history_[cell].each_before_write(
          [&](int user) { last_users[index(history_[cell].first)].push_back(user); });
    }
    // What an op knows of the slice `ago` before its own, from the slices between: what its
    // predecessors know, and the first op of a stream what the last one knew a slice before.
    std::vector<VectorClock> tails = tails_of(clocks_);
    for (int ago = 1; ago <= plan_.shape().depth; ++ago) {
      std::vector<VectorClock> known(plan_.size());
      for (int op = 0; op < static_cast<int>(plan_.size()); ++op) {
        const int own = stream(op);
        VectorClock clock =
            position(op) == 0
                ? tails[index(own)]
                : known[index(schedule_.streams[index(own)][index(position(op) - 1)])];
        for (const Wait& wait : waits[index(op)])
          join(clock, known[index(schedule_.streams[index(wait.stream)][index(wait.position)])]);
        if (ago == plan_.shape().depth)
          for (Wait wait : reduce(last_users[index(op)], clock)) {
            wait.lag = plan_.shape().depth;
            waits[index(op)].push_back(wait);
          }
        known[index(op)] = std::move(clock);
      }
      tails = tails_of(known);
    }
  }

  /// The clocks of the streams' last ops.
  [[nodiscard]] std::vector<VectorClock> tails_of(const std::vector<VectorClock>& clocks) const {
    std::vector<VectorClock> tails;
    for (const auto& queue : schedule_.streams)
      tails.push_back(queue.empty() ? VectorClock(schedule_.streams.size(), 0)
                                    : clocks[index(queue.back())]);
    return tails;
  }

  void derive_leave_waits() {
    const auto ranks = index(schedule_.ranks);
    std::vector<std::vector<int>> users(ranks, std::vector<int>(schedule_.streams.size(), none));
    for (int op = 0; op < static_cast<int>(plan_.size()); ++op) {
      const Op view = plan_.op(index(op));
      if (!is_near(view.rank)) continue;
      for (const auto& locations : {view.sources, view.destinations})
        for (const auto& location : locations)
          if (location.buffer != Buffer::scratch && location.rank != view.rank)
            users[index(location.rank)][index(stream(op))] = op;
    }
    schedule_.leave_waits.resize(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      VectorClock clock(schedule_.streams.size(), 0);
      for (int lane = 0; lane < schedule_.lanes; ++lane) {
        const auto& own = schedule_.streams[rank * index(schedule_.lanes) + index(lane)];
        if (!own.empty()) join(clock, clocks_[index(own.back())]);
      }
      std::vector<int> candidates;
      for (const int op : users[rank])
        if (op != none) candidates.push_back(op);
      schedule_.leave_waits[rank] = reduce(candidates, clock);
    }
  }

  // --- facts -----------------------------------------------------------------------------------

  /// What a cell holds: how many ranks' contributions, and whether it is one as the caller gave it.
  struct Content {
    int contributions = 0;
    bool raw = false;
  };

  void derive_facts() {
    schedule_.facts.resize(plan_.size());
    std::vector<Content> contents(cells_.size());
    for (int rank = 0; rank < plan_.ranks(); ++rank) {
      const auto blocks = blocks_in(plan_.request(), rank, Buffer::input);
      for (int chunk = 0; chunk < plan_.chunks(); ++chunk)
        if (blocks.contains(plan_.block_of(chunk)))
          contents[cells_.at({rank, Buffer::input, 0, chunk})] = {1, true};
    }
    for (std::size_t op = 0; op < plan_.size(); ++op) derive_content(op, contents);
    derive_last_uses();
  }

  void derive_content(std::size_t op, std::vector<Content>& contents) {
    const Op view = plan_.op(op);
    const bool folds = view.sources.size() > 1;
    const bool reduces =
        plan_.chunks() > 0 && !sole_contributor(plan_.request(), plan_.block_of(view.chunk()));
    OpFacts facts;
    for (int offset = 0; offset < view.count; ++offset) {
      OpFacts here;
      Content result;
      here.all_raw = true;
      bool complete_source = false;
      bool raw_beyond_mask = false;
      for (std::size_t i = 0; i < view.sources.size(); ++i) {
        const Content& source = contents[cells_.at(view.sources[i], offset)];
        result.contributions += source.contributions;
        complete_source = complete_source || source.contributions >= plan_.ranks();
        const bool scale = source.raw && (folds || plan_.ranks() == 1);
        here.all_raw = here.all_raw && scale;
        if (scale && i < 64) here.raw_mask |= std::uint64_t{1} << i;
        raw_beyond_mask = raw_beyond_mask || (scale && i >= 64);
        if (scale || !source.raw) continue;
        result.raw = true;  // a copy hands a raw contribution on
      }
      if (!reduces) here = {};
      if (reduces && raw_beyond_mask && !here.all_raw) schedule_.unscalable = op;
      here.completes =
          reduces && folds && !complete_source && result.contributions == plan_.ranks();
      if (offset > 0 && (here.raw_mask != facts.raw_mask || here.all_raw != facts.all_raw ||
                         here.completes != facts.completes))
        throw Error(ErrorCode::unsupported,
                    fmt::format("op {} (rank {}) covers chunks {} to {}, which are at different "
                                "stages: split it",
                                op, view.rank, view.chunk(), view.chunk() + view.count - 1));
      facts = here;
      for (const auto& destination : view.destinations)
        contents[cells_.at(destination, offset)] = result;
    }
    schedule_.facts[op] = facts;
  }

  void derive_last_uses() {
    std::vector<bool> read_later(cells_.size(), false);
    for (std::size_t op = plan_.size(); op-- > 0;) {
      const Op view = plan_.op(op);
      bool last = true;
      each_cell(view.destinations, view.count, [&](std::size_t cell) {
        last = last && !read_later[cell];
        read_later[cell] = false;
      });
      each_cell(view.sources, view.count, [&](std::size_t cell) { read_later[cell] = true; });
      schedule_.facts[op].last_use = last;
    }
  }

  const Plan& plan_;
  const std::vector<bool>& near_;  // ranks whose ops wait; empty: all
  Cells cells_;
  std::vector<CellHistory> history_;
  std::vector<VectorClock> clocks_;  // per op: what is known when it has finished, within its slice
  Schedule schedule_;
};

}  // namespace

Schedule make_schedule(const Plan& plan) { return make_schedule(plan, {}); }

Schedule make_schedule(const Plan& plan, const std::vector<bool>& near) {
  return Deriver(plan, near).run();
}

void require_scalable(const Plan& plan, const Schedule& schedule) {
  if (schedule.unscalable)
    throw Error(ErrorCode::unsupported,
                fmt::format("{} cannot do premul_sum: {} mixes contributions and partial sums in "
                            "more than 64 sources",
                            plan.spec(), describe(plan, *schedule.unscalable)));
}

}  // namespace ringside
