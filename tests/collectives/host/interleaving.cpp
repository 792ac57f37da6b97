// SPDX-License-Identifier: MIT
#include "ringside/tests/collectives/host/interleaving.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

namespace ringside::tests {
namespace {

/// What an actor knows of the others: how many of their actions have happened before.
using Clock = std::vector<std::uint32_t>;

void learn(Clock& clock, const Clock& other) {
  for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

/// Who last wrote an element, and who has read it since.
struct Cell {
  int writer = -1;
  std::uint32_t written = 0;
  std::vector<std::pair<int, std::uint32_t>> readers;
};

/// The elements of a run of memory that belongs together.
struct Region {
  const std::byte* begin;
  std::size_t bytes;
  std::string name;
  std::vector<Cell> cells;
};

class Run {
 public:
  Run(const Interleaving& what, std::uint64_t seed, const std::optional<LeftOut>& left_out)
      : what_(what),
        left_out_(left_out),
        random_(seed),
        ranks_(what.ranks()),
        element_(size_of(what.call().type)),
        states_(static_cast<std::size_t>(ranks_)) {
    for (int rank = 0; rank < ranks_; ++rank)
      lanes_ = std::max(lanes_, what.program(rank).lanes.size());
    // Threads first, then lanes.
    clocks_.assign(static_cast<std::size_t>(ranks_) * (1 + lanes_),
                   Clock(static_cast<std::size_t>(ranks_) * (1 + lanes_)));
    // A seed has some ranks that are slow, and some none.
    for (auto& state : states_) state.weight = random_() % 3 == 0 ? 1 : 20;
    make_memory();
  }

  std::string run() {
    while (fault_.empty()) {
      const auto ready = ready_actions();
      if (ready.empty()) break;
      do_action(chosen(ready));
    }
    if (fault_.empty() &&
        std::any_of(states_.begin(), states_.end(), [](const State& s) { return !s.over(); }))
      fault_ = "ranks wait for each other";
    return fault_;
  }

 private:
  enum class Phase { write, await, ops, leave };
  struct State {
    int call = 1;
    Phase phase = Phase::write;
    std::vector<std::uint32_t> done;  ///< steps of each lane
    unsigned weight = 1;
    [[nodiscard]] bool over() const { return call > Interleaving::calls + 1; }
  };
  /// Of a rank's thread (lane -1) or of a lane.
  struct Action {
    int rank, lane;
  };

  State& state(int rank) { return states_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const State& state(int rank) const {
    return states_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] int actor(int rank, int lane) const {
    return lane < 0 ? rank : ranks_ + rank * static_cast<int>(lanes_) + lane;
  }
  Clock& clock(int number) { return clocks_[static_cast<std::size_t>(number)]; }

  [[nodiscard]] bool leaves_out(LeftOut::Kind kind, int rank, std::size_t index) const {
    return left_out_ && left_out_->kind == kind && left_out_->rank == rank &&
           left_out_->index == index;
  }

  // --- memory ------------------------------------------------------------------------------------

  void make_memory() {
    const auto count = static_cast<std::size_t>(ranks_);
    memory_.reserve(count);
    scratch_.resize(2 * count);
    for (auto& bases : bases_) bases.resize(count * host::bases_per_rank);
    for (int rank = 0; rank < ranks_; ++rank) {
      const auto& memory = memory_.emplace_back(std::make_unique<RankMemory>(what_.call(), rank));
      add_region(memory->bytes().data(), memory->bytes().size(),
                 fmt::format("memory of rank {}", rank));
      const Arguments arguments = memory->arguments();
      for (const std::size_t parity : {0, 1}) {
        auto& scratch = scratch_[2 * static_cast<std::size_t>(rank) + parity];
        scratch.resize(what_.program(rank).scratch_bytes);
        add_region(scratch.data(), scratch.size(), fmt::format("scratch of rank {}", rank));
        const auto set = [&](Buffer buffer, const void* at) {
          bases_[parity][host::base_index(rank, buffer)] =
              static_cast<std::byte*>(const_cast<void*>(at));
        };
        set(Buffer::input, arguments.input);
        set(Buffer::output, arguments.output);
        set(Buffer::scratch, scratch.data());
      }
    }
    entries_.resize(2 * count);
    published_.resize(count);
    progress_.resize(count * lanes_);
  }

  void add_region(const std::byte* begin, std::size_t bytes, std::string name) {
    // Elements need not lie on multiples of their size, so there is a cell for every byte.
    regions_.push_back({begin, bytes, std::move(name), std::vector<Cell>(bytes)});
  }

  void touch(int who, Cell& cell, bool writes, const std::string& name, std::size_t at) {
    const Clock& known = clock(who);
    const auto happened = [&](int other, std::uint32_t when) {
      return other == who || known[static_cast<std::size_t>(other)] >= when;
    };
    const auto report = [&](int other, std::string_view did) {
      if (fault_.empty())
        fault_ = fmt::format("nothing orders that {} {} byte {} of the {} and that {} {} it",
                             describe_actor(other), did, at, name, describe_actor(who),
                             writes ? "writes" : "reads");
    };
    if (cell.writer >= 0 && !happened(cell.writer, cell.written)) report(cell.writer, "writes");
    const std::uint32_t now = known[static_cast<std::size_t>(who)];
    if (!writes) {
      if (cell.readers.empty() || cell.readers.back() != std::pair(who, now))
        cell.readers.emplace_back(who, now);
      return;
    }
    for (const auto& [reader, when] : cell.readers)
      if (!happened(reader, when)) report(reader, "reads");
    cell = {who, now, {}};
  }

  /// An access to one element stands for all its bytes; `step` 1: to every byte.
  void access(int who, const std::byte* begin, std::size_t bytes, bool writes, std::size_t step) {
    for (Region& region : regions_) {
      const auto offset = begin - region.begin;
      if (bytes == 0 || begin < region.begin || offset >= static_cast<std::ptrdiff_t>(region.bytes))
        continue;
      for (std::size_t at = 0; at < bytes; at += step)
        touch(who, region.cells[static_cast<std::size_t>(offset) + at], writes, region.name,
              static_cast<std::size_t>(offset) + at);
      return;
    }
  }

  // --- which actions there are -------------------------------------------------------------------

  std::vector<Action> ready_actions() const {
    std::vector<Action> ready;
    for (int rank = 0; rank < ranks_; ++rank) {
      const State& s = state(rank);
      if (s.over()) continue;
      if (thread_is_ready(rank)) ready.push_back({rank, -1});
      if (s.phase != Phase::ops) continue;
      for (std::size_t lane = 0; lane < s.done.size(); ++lane)
        if (lane_is_ready(rank, lane)) ready.push_back({rank, static_cast<int>(lane)});
    }
    return ready;
  }

  [[nodiscard]] bool thread_is_ready(int rank) const {
    const State& s = state(rank);
    const host::Program& program = what_.program(rank);
    switch (s.phase) {
      case Phase::write:
        return true;
      case Phase::await:
        for (int peer = 0; peer < ranks_; ++peer)
          if (!has_published(peer, s.call) &&
              !leaves_out(LeftOut::Kind::entry, rank, static_cast<std::size_t>(peer)))
            return false;
        return true;
      case Phase::ops:
        for (std::size_t lane = 0; lane < s.done.size(); ++lane)
          if (s.done[lane] < program.lanes[lane].size()) return false;
        return true;
      case Phase::leave:
        for (std::size_t i = 0; i < program.leave_waits.size(); ++i)
          if (!reached(s.call, program.leave_waits[i]) &&
              !leaves_out(LeftOut::Kind::leave, rank, i))
            return false;
        return true;
    }
    return false;
  }

  [[nodiscard]] bool lane_is_ready(int rank, std::size_t lane) const {
    const host::Program& program = what_.program(rank);
    const std::uint32_t done = state(rank).done[lane];
    if (done == program.lanes[lane].size()) return false;
    const host::Step& step = program.lanes[lane][done];
    for (std::uint32_t i = 0; i < step.waits; ++i) {
      const std::size_t wait = step.first_wait + i;
      if (!reached(state(rank).call, program.waits[wait]) &&
          !leaves_out(LeftOut::Kind::op, rank, wait))
        return false;
    }
    return true;
  }

  [[nodiscard]] bool has_published(int rank, int call) const {
    return published_[static_cast<std::size_t>(rank)].size() >= static_cast<std::size_t>(call);
  }

  /// Clocks of the lane's steps, of the calls so far.
  [[nodiscard]] const std::vector<std::vector<Clock>>& progress(int rank, int lane) const {
    return progress_[static_cast<std::size_t>(rank) * lanes_ + static_cast<std::size_t>(lane)];
  }
  [[nodiscard]] bool reached(int call, const host::BoundWait& wait) const {
    const auto& calls = progress(wait.rank, wait.lane);
    const auto number = static_cast<std::size_t>(call);
    return calls.size() > number || (calls.size() == number && calls.back().size() >= wait.value);
  }
  [[nodiscard]] const Clock& at(int call, const host::BoundWait& wait) const {
    return progress(wait.rank, wait.lane)[static_cast<std::size_t>(call) - 1][wait.value - 1];
  }

  Action chosen(const std::vector<Action>& ready) {
    std::uint64_t sum = 0;
    for (const Action& action : ready) sum += state(action.rank).weight;
    std::uint64_t left = random_() % sum;
    for (const Action& action : ready) {
      if (left < state(action.rank).weight) return action;
      left -= state(action.rank).weight;
    }
    return ready.back();
  }

  // --- what they do ------------------------------------------------------------------------------

  void do_action(const Action& action) {
    const int who = actor(action.rank, action.lane);
    ++clock(who)[static_cast<std::size_t>(who)];
    if (action.lane >= 0) return do_step(action.rank, action.lane);
    switch (state(action.rank).phase) {
      case Phase::write:
        return write_and_publish(action.rank);
      case Phase::await:
        return read_entries(action.rank);
      case Phase::ops:
        return end_ops(action.rank);
      case Phase::leave:
        return leave(action.rank);
    }
  }

  [[nodiscard]] static Round round_of(int call) { return static_cast<Round>(call % rounds); }

  void write_and_publish(int rank) {
    State& s = state(rank);
    auto& memory = *memory_[static_cast<std::size_t>(rank)];
    memory.fill(round_of(s.call));
    access(rank, memory.bytes().data(), memory.bytes().size(), true, 1);
    if (s.call > Interleaving::calls) {  // what the caller does behind the last call
      ++s.call;
      return;
    }
    touch(rank, entry(rank, s.call), true, fmt::format("entry of rank {}", rank), 0);
    published_[static_cast<std::size_t>(rank)].push_back(clock(rank));
    s.phase = Phase::await;
  }

  void read_entries(int rank) {
    State& s = state(rank);
    for (int peer = 0; peer < ranks_; ++peer)
      if (!leaves_out(LeftOut::Kind::entry, rank, static_cast<std::size_t>(peer)))
        learn(clock(rank),
              published_[static_cast<std::size_t>(peer)][static_cast<std::size_t>(s.call) - 1]);
    for (int peer = 0; peer < ranks_; ++peer) {
      if (!has_published(peer, s.call) && fault_.empty())
        fault_ = fmt::format("rank {} reads an entry that rank {} has not published", rank, peer);
      touch(rank, entry(peer, s.call), false, fmt::format("entry of rank {}", peer), 0);
    }
    s.phase = Phase::ops;
    s.done.assign(what_.program(rank).lanes.size(), 0);
    for (std::size_t lane = 0; lane < s.done.size(); ++lane) {
      learn(clock(actor(rank, static_cast<int>(lane))), clock(rank));
      progress_[static_cast<std::size_t>(rank) * lanes_ + lane].emplace_back();
    }
  }

  void do_step(int rank, int lane) {
    State& s = state(rank);
    const host::Program& program = what_.program(rank);
    const int who = actor(rank, lane);
    std::uint32_t& done = s.done[static_cast<std::size_t>(lane)];
    const host::Step& step = program.lanes[static_cast<std::size_t>(lane)][done];
    for (std::uint32_t i = 0; i < step.waits; ++i)
      if (const std::size_t wait = step.first_wait + i; !leaves_out(LeftOut::Kind::op, rank, wait))
        learn(clock(who), at(s.call, program.waits[wait]));
    const auto& bases = bases_[static_cast<std::size_t>(s.call & 1)];
    note_accesses(who, program, step, bases);
    std::vector<const std::byte*> sources(program.most_sources);
    std::vector<std::byte*> destinations(program.most_destinations);
    if (fault_.empty())
      host::fold_step(program, step, bases.data(), sources.data(), destinations.data());
    ++done;
    progress_[static_cast<std::size_t>(rank) * lanes_ + static_cast<std::size_t>(lane)]
        .back()
        .push_back(clock(who));
  }

  void note_accesses(int who, const host::Program& program, const host::Step& step,
                     const std::vector<std::byte*>& bases) {
    for (std::uint32_t i = 0; i < step.runs; ++i) {
      const host::Run& run = program.runs[step.first_run + i];
      const host::Address* address = &program.addresses[run.first_address];
      for (std::uint32_t k = 0; k < step.sources + step.destinations; ++k, ++address)
        access(who, bases[address->base] + address->offset, run.elements * element_,
               k >= step.sources, element_);
    }
  }

  void end_ops(int rank) {
    State& s = state(rank);
    for (std::size_t lane = 0; lane < s.done.size(); ++lane)
      learn(clock(rank), clock(actor(rank, static_cast<int>(lane))));
    s.phase = Phase::leave;
  }

  void leave(int rank) {
    State& s = state(rank);
    const host::Program& program = what_.program(rank);
    for (std::size_t i = 0; i < program.leave_waits.size(); ++i)
      if (!leaves_out(LeftOut::Kind::leave, rank, i))
        learn(clock(rank), at(s.call, program.leave_waits[i]));
    const auto& memory = *memory_[static_cast<std::size_t>(rank)];
    access(rank, memory.bytes().data(), memory.bytes().size(), false, 1);
    const auto difference = memory.difference(
        memory.bytes(), what_.expected(round_of(s.call))[static_cast<std::size_t>(rank)]);
    if (!difference.empty() && fault_.empty())
      fault_ = fmt::format("call {}: rank {}: {} differs", s.call, rank, difference);
    ++s.call;
    s.phase = Phase::write;
  }

  Cell& entry(int rank, int call) {
    return entries_[2 * static_cast<std::size_t>(rank) + static_cast<std::size_t>(call & 1)];
  }
  [[nodiscard]] std::string describe_actor(int number) const {
    if (number < ranks_) return fmt::format("rank {}", number);
    const int lane = number - ranks_;
    return fmt::format("lane {} of rank {}", lane % static_cast<int>(lanes_),
                       lane / static_cast<int>(lanes_));
  }

  const Interleaving& what_;
  std::optional<LeftOut> left_out_;
  std::mt19937_64 random_;
  int ranks_;
  std::size_t element_;
  std::size_t lanes_ = 1;
  std::vector<State> states_;
  std::vector<Clock> clocks_;
  std::vector<std::unique_ptr<RankMemory>> memory_;
  std::vector<std::vector<std::byte>> scratch_;   ///< of the even and odd calls of each rank
  std::array<std::vector<std::byte*>, 2> bases_;  ///< of the even and odd calls
  std::vector<Region> regions_;
  std::vector<Cell> entries_;                              ///< as scratch
  std::vector<std::vector<Clock>> published_;              ///< by rank, of each call
  std::vector<std::vector<std::vector<Clock>>> progress_;  ///< by lane, of each call's steps
  std::string fault_;
};

}  // namespace

std::string describe(const LeftOut& wait) {
  switch (wait.kind) {
    case LeftOut::Kind::entry:
      return fmt::format("rank {} for the entry of rank {}", wait.rank, wait.index);
    case LeftOut::Kind::op:
      return fmt::format("wait {} of rank {}'s ops", wait.index, wait.rank);
    case LeftOut::Kind::leave:
      return fmt::format("wait {} of rank {} when it leaves", wait.index, wait.rank);
  }
  return {};
}

Interleaving::Interleaving(const TriedCall& call) : call_(call) {
  PlanCache plans;
  const auto compiled = plans.get(call.spec, call.request);
  std::vector<std::size_t> blocks = call.blocks;
  blocks.resize(static_cast<std::size_t>(block_count(call.request)), call.blocks.front());
  const FoldShape values{.type = call.type,
                         .op = call.op,
                         .scalar = call.options(Round::rough).scalar,
                         .ranks = call.request.ranks};
  for (int rank = 0; rank < call.request.ranks; ++rank)
    programs_.push_back(host::Program::bind(compiled, rank, blocks, values));
  for (const Round round : {Round::rough, Round::exact})
    expected_[static_cast<std::size_t>(round)] = by_reference(call, compiled->plan, round);
}

std::vector<LeftOut> Interleaving::waits() const {
  std::vector<LeftOut> all;
  for (int rank = 0; rank < ranks(); ++rank) {
    const host::Program& p = program(rank);
    for (int peer = 0; peer < ranks(); ++peer)
      if (peer != rank) all.push_back({LeftOut::Kind::entry, rank, static_cast<std::size_t>(peer)});
    for (std::size_t i = 0; i < p.waits.size(); ++i) all.push_back({LeftOut::Kind::op, rank, i});
    for (std::size_t i = 0; i < p.leave_waits.size(); ++i)
      all.push_back({LeftOut::Kind::leave, rank, i});
  }
  return all;
}

std::string Interleaving::run(std::uint64_t seed, const std::optional<LeftOut>& left_out) const {
  return Run(*this, seed, left_out).run();
}

}  // namespace ringside::tests
