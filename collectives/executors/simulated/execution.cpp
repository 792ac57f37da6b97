// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/simulated/execution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ringside/base/error.hpp"

namespace ringside::simulated {
namespace {

/// Ops under way from which on it pays to count what each stream has left: pulling on for one that
/// has nothing left would store the plan.
constexpr std::size_t many_live = std::size_t{1} << 16;

std::vector<Resource> copy_of(std::span<const Resource> resources) {
  return {resources.begin(), resources.end()};
}

std::string words_of(const Op& op) {
  constexpr std::size_t shown = 4;
  const auto ranks = [](std::span<const Location> locations) {
    std::string text;
    for (std::size_t i = 0; i < locations.size() && i < shown; ++i)
      text += fmt::format("{}{}", i > 0 ? "," : "", locations[i].rank);
    if (locations.size() > shown) text += fmt::format(",... ({})", locations.size());
    return text;
  };
  return fmt::format("{} {} -> {}", op.sources.size() > 1 ? "fold" : "copy", ranks(op.sources),
                     ranks(op.destinations));
}

}  // namespace

Execution::Execution(const Machine& machine, OpSource& source, const SimulatedCall& call,
                     const SimulationWanted& wanted)
    : overheads_(machine.overheads()),
      wanted_(wanted),
      source_(source),
      engine_(copy_of(machine.resources()),
              {.limits = wanted.critical_path, .usage = wanted.resources}),
      routes_(machine, engine_, call.gpus, source.streams()),
      conflicts_(source.request(), source.shape(), source.chunks()),
      slice_bytes_(source.shape(), call.block_elements, call.element_bytes),
      streams_(source.streams(), Stream{.end = overheads_.call}),
      hungry_(streams_.size()),
      end_(overheads_.call) {}

std::optional<Simulation> Execution::run() {
  while (true) {
    do {
      settle();
      retire();
      fill();
    } while (!instant_.empty());
    if (unreached_) return std::nullopt;
    if (wanted_.give_up_after && std::max(engine_.now(), overheads_.call) > *wanted_.give_up_after)
      result_.gave_up = true;
    if (result_.gave_up || !engine_.advance(tokens_)) break;
    for (const auto token : tokens_) end_op(static_cast<int>(token));
  }
  return result();
}

// --- pulling ops ---------------------------------------------------------------------------------

bool Execution::is_hungry(const Stream& stream) const {
  if (stream.first != none) return false;
  if (ops_of_slice_.empty()) return true;
  const auto number = static_cast<std::size_t>(&stream - streams_.data());
  return stream.pulled < ops_of_slice_[number] * static_cast<std::uint64_t>(source_.shape().slices);
}

void Execution::learn_counts(std::vector<std::uint64_t> of_slice) {
  ops_of_slice_ = std::move(of_slice);
  hungry_ = static_cast<std::size_t>(std::count_if(
      streams_.begin(), streams_.end(), [&](const Stream& stream) { return is_hungry(stream); }));
}

void Execution::fill() {
  while (hungry_ > 0 && !exhausted_ && !unreached_) {
    if (ops_of_slice_.empty() && live_.size() - free_.size() > many_live)
      learn_counts(source_.ops_of_streams());
    else if (!pull())
      exhausted_ = true;
  }
}

bool Execution::pull() {
  const Op* op = source_.next();
  if (op == nullptr) return false;
  if (ops_of_slice_.empty() && source_.slice() > 0) {
    std::vector<std::uint64_t> counts;
    for (const Stream& stream : streams_) counts.push_back(stream.pulled);
    learn_counts(std::move(counts));
  }
  take(*op);
  return true;
}

int Execution::new_live() {
  if (free_.empty()) {
    live_.emplace_back();
    return static_cast<int>(live_.size()) - 1;
  }
  const int id = free_.back();
  free_.pop_back();
  live(id) = {};
  return id;
}

void Execution::take(const Op& op) {
  ++result_.ops;
  const auto slots = [&](int rank) { return source_.slots(rank); };
  const int id = new_live();
  Live& taken = live(id);
  taken.index = source_.index();
  taken.slice = source_.slice();
  taken.rank = op.rank;
  taken.lane = op.lane;
  taken.stream = source_.stream_of(op);
  taken.bytes = slice_bytes_(op.chunk(), op.count, taken.slice);
  taken.route = &routes_.of(op, taken.stream, slots);
  if (!taken.route->reached) {
    unreached_ = true;
    return;
  }
  if (wanted_.timeline) {
    words_.resize(live_.size());
    words_[static_cast<std::size_t>(id)] = words_of(op);
  }
  follow_stream(id);
  follow_conflicts(id, op);
  if (taken.waits_for == 0) begin(id);
}

void Execution::follow_stream(int id) {
  Live& taken = live(id);
  Stream& stream = streams_[taken.stream];
  if (stream.first == none) {
    if (is_hungry(stream)) --hungry_;
    stream.first = id;
    seen_to_end(taken, stream.end, stream.end, stream.record);
  } else {
    live(stream.last).next_in_stream = id;
    ++taken.waits_for;
  }
  stream.last = id;
  ++stream.pulled;
}

void Execution::follow_conflicts(int id, const Op& op) {
  before_.clear();
  conflicts_.add(
      id, op, source_.slice(), [&](int rank) { return source_.slots(rank); }, before_);
  Live& taken = live(id);
  for (const int number : before_) {
    const Live& before = live(number);
    if (before.stream == taken.stream) continue;
    if (before.has_ended)
      seen_to_end(taken, before.end, before.end + overheads_.wait, before.record);
    else
      add_dependent(number, id);
  }
}

void Execution::add_dependent(int of, int id) {
  Live& before = live(of);
  if (before.newest_dependent == id) return;  // they conflict in several places
  before.newest_dependent = id;
  int number = static_cast<int>(dependents_.size());
  if (free_dependents_.empty()) {
    dependents_.emplace_back();
  } else {
    number = free_dependents_.back();
    free_dependents_.pop_back();
  }
  dependents_[static_cast<std::size_t>(number)] = {id, before.first_dependent};
  before.first_dependent = number;
  ++live(id).waits_for;
}

// --- beginning and ending them -------------------------------------------------------------------

void Execution::begin(int id) {
  const Live& op = live(id);
  const double until_ready = std::max(op.ready - engine_.now(), 0.0);
  if (op.bytes > 0)
    engine_.start(op.route->path, op.bytes, until_ready + op.route->overhead + op.route->latency,
                  id);
  else if (until_ready > 0)
    engine_.start_timer(until_ready, id);
  else
    instant_.push_back(id);
}

void Execution::settle() {
  for (std::size_t i = 0; i < instant_.size(); ++i) end_op(instant_[i]);
  instant_.clear();
}

/// `waiting` follows an op that ended at `end`, which it sees at `seen`.
void Execution::seen_to_end(Live& waiting, double end, double seen, Causes::Id record) {
  if (seen < waiting.ready || (seen == waiting.ready && waiting.cause != Causes::start)) return;
  waiting.ready = seen;
  waiting.cause_end = end;
  if (!wanted_.critical_path) return;
  const Causes::Id cause = causes_.share(record);
  causes_.release(std::exchange(waiting.cause, cause));
}

void Execution::end_op(int id) {
  Live& op = live(id);
  op.has_ended = true;
  op.end = engine_.now();
  end_ = std::max(end_, op.end);
  note_end(id);

  Stream& stream = streams_[op.stream];
  stream.first = op.next_in_stream;
  stream.end = op.end;
  if (wanted_.critical_path) {
    const Causes::Id record = causes_.share(op.record);
    causes_.release(std::exchange(stream.record, record));
  }
  if (stream.first == none) {
    stream.last = none;
    if (is_hungry(stream)) ++hungry_;
  } else {
    Live& next = live(stream.first);
    seen_to_end(next, op.end, op.end, op.record);
    if (--next.waits_for == 0) begin(stream.first);
  }
  tell_dependents(id);
  ended_.push_back(id);
}

void Execution::tell_dependents(int id) {
  const Live& op = live(id);
  for (int at = op.first_dependent; at != none;) {
    const Dependent dependent = dependents_[static_cast<std::size_t>(at)];
    free_dependents_.push_back(at);
    at = dependent.next;
    Live& waiting = live(dependent.op);
    seen_to_end(waiting, op.end, op.end + overheads_.wait, op.record);
    if (--waiting.waits_for == 0) begin(dependent.op);
  }
}

/// Forgets the ops that all streams have seen to end.
void Execution::retire() {
  while (!ended_.empty()) {
    const int id = ended_.front();
    if (live(id).end + overheads_.wait > engine_.now()) return;
    conflicts_.remove(id);
    causes_.release(live(id).record);
    free_.push_back(id);
    ended_.pop_front();
  }
}

// --- what is told --------------------------------------------------------------------------------

std::optional<ResourceId> Execution::limit_of(int id) const {
  const auto limits = engine_.limits(id);
  const auto longest =
      std::max_element(limits.begin(), limits.end(),
                       [](const Limit& a, const Limit& b) { return a.seconds < b.seconds; });
  return longest == limits.end() ? std::nullopt : std::optional(longest->resource);
}

void Execution::note_end(int id) {
  Live& op = live(id);
  const bool moved = op.bytes > 0;
  if (wanted_.critical_path) {
    EndedOp ended;
    ended.op = op.index;
    ended.slice = op.slice;
    ended.rank = op.rank;
    ended.end = op.end;
    ended.overhead = op.ready - op.cause_end + (moved ? op.route->overhead : 0);
    if (moved) {
      ended.latency = op.route->latency;
      ended.limit = limit_of(id);
    }
    op.record = causes_.add(ended, op.cause);
    if (last_ == Causes::start || op.end >= end_) {
      const Causes::Id record = causes_.share(op.record);
      causes_.release(std::exchange(last_, record));
    }
  }
  if (wanted_.timeline)
    result_.timeline.push_back(
        {.op = op.index,
         .slice = op.slice,
         .rank = op.rank,
         .lane = op.lane,
         .ready = op.ready,
         .begin = std::min(op.ready + (moved ? op.route->overhead + op.route->latency : 0), op.end),
         .end = op.end,
         .bytes = op.bytes,
         .what = std::move(words_[static_cast<std::size_t>(id)])});
}

Simulation Execution::result() {
  result_.seconds = result_.gave_up ? std::max(engine_.now(), overheads_.call) : end_;
  if (wanted_.resources) result_.resources = engine_.usage();
  if (wanted_.critical_path) result_.critical_path = causes_.path(last_, overheads_.call);
  return std::move(result_);
}

}  // namespace ringside::simulated
