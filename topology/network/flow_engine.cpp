// SPDX-License-Identifier: MIT
/// Virtual time over max-min fair rates.
///
/// Flows with the same bottleneck have the same rate. So a bottleneck keeps one sum of what a flow
/// that it limits has moved so far: a path ends its next flow when that sum comes to a mark, which
/// stays where it is when the rate changes. A change of rate moves one entry of the queue, however
/// many flows are concerned. Likewise among the flows of one path.
#include "ringside/topology/network/flow_engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/topology/network/indexed_heap.hpp"
#include "ringside/topology/network/limit_book.hpp"
#include "ringside/topology/network/path_table.hpp"
#include "ringside/topology/network/sharing.hpp"

namespace ringside {
namespace {

using network::HeapPlaces;
using network::IndexedHeap;
using network::LimitBook;
using network::PathTable;
using network::Sharing;

/// What ends within this part of the time since the start ends at one moment: symmetric flows
/// whose ends differ by rounding only stay in step.
constexpr double same_moment = 1e-12;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

void check(std::span<const Resource> resources) {
  for (const Resource& resource : resources) {
    if (!(resource.capacity > 0))
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{} has a capacity of {}; capacities are above 0", resource.name,
                              resource.capacity));
    double before = 1;
    for (const double part : resource.efficiency) {
      if (!(part > 0 && part <= before))
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{} has an efficiency of {} after {}; efficiencies are in (0, 1] "
                                "and never rise",
                                resource.name, part, before));
      before = part;
    }
  }
}

void check_delay(double delay) {
  if (!(delay >= 0) || !std::isfinite(delay))
    throw Error(ErrorCode::invalid_argument, fmt::format("a delay of {} s", delay));
}

/// When something happens, and, at the same time, in which order.
struct Moment {
  double time;
  std::int64_t order;

  auto operator<=>(const Moment&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// A flow whose delay is not over, or (without a path) what ends with it. One that nothing limits
/// takes no other time either.
struct Arrival {
  Moment moment;
  double bytes;
  FlowEngine::Token token;
  PathId path;

  bool operator>(const Arrival& other) const { return moment > other.moment; }
};

struct Flow {
  double mark;   // ends when a flow of its path has moved so much
  double bytes;  // in all
  std::int64_t order;
  FlowEngine::Token token;
  int note;  // of the limit book; -1 without one

  bool operator>(const Flow& other) const {
    return std::tie(mark, order) > std::tie(other.mark, other.order);
  }
};

struct PathRun {
  double moved = 0;         // by a flow on it from the time at which it was idle until `joined`
  double joined = 0;        // sum of its bottleneck
  ResourceId limit = -1;    // its bottleneck
  double done = 0;          // bytes of flows that have ended
  std::vector<Flow> flows;  // a heap
};

/// At which sum of its bottleneck a path ends its next flow.
struct Mark {
  double sum;
  std::int64_t order;  // of the flow

  auto operator<=>(const Mark&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// The paths that a resource limits.
struct Limited {
  double rate = 0;
  double moved = 0;  // by a flow on them until `since`
  double since = 0;  // seconds
  IndexedHeap<Mark> paths;
  bool stale = false;  // what is queued of its ends

  [[nodiscard]] double moved_at(double time) const { return moved + rate * (time - since); }
};

struct ResourceRecord {
  double busy = 0, saturated = 0;                // seconds, without the stretch that lasts
  double busy_since = -1, saturated_since = -1;  // -1: is not
};

/// What the last advance() tells of, with its part of the list of limits.
struct Ended {
  std::int64_t order;
  FlowEngine::Token token;
  std::size_t first_limit, limits;
};

/// Begins or ends a stretch of time.
void follow(bool is, double now, double& since, double& sum) {
  if (is == (since >= 0)) return;
  if (!is) sum += now - since;
  since = is ? now : -1;
}

}  // namespace

struct FlowEngine::State {
  std::vector<Resource> resources;
  FlowAccounts accounts;
  PathTable table;
  Sharing sharing;
  LimitBook book;

  double now = 0;
  std::int64_t begun = 0;
  bool changed = false;  // since the rates were worked out
  std::vector<PathRun> paths;
  std::vector<ResourceRecord> records;
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> arrivals;
  std::vector<Arrival> arrived;  // at this moment
  std::vector<Limited> limited;  // by resource
  HeapPlaces path_places;        // in these
  IndexedHeap<Moment> ends;      // of each resource that limits paths: the next end there
  HeapPlaces end_places;
  std::vector<ResourceId> stale;

  std::vector<Ended> ended;
  std::vector<Limit> limits;
  std::size_t asked = 0;  // where in `ended` the caller asked last

  State(std::vector<Resource> given, FlowAccounts wanted)
      : resources(std::move(given)),
        accounts(wanted),
        table(static_cast<int>(resources.size())),
        sharing(resources, wanted.usage),
        records(resources.size()),
        limited(resources.size()) {}

  void begin(const Arrival& arrival);
  void bring_up(PathRun& path) const;
  void join(PathId id);
  void leave(PathId id);
  void mark_stale(ResourceId id);
  void queue_end(ResourceId id);
  void share();
  void take_records();
  void step();
  void end_arrivals(double horizon, double& latest);
  void end_flows(double horizon, double& latest);
};

/// To the present moment.
void FlowEngine::State::bring_up(PathRun& path) const {
  if (path.limit < 0) return;
  const double sum = limited[at(path.limit)].moved_at(now);
  path.moved += sum - path.joined;
  path.joined = sum;
}

/// The delay of a flow is over.
void FlowEngine::State::begin(const Arrival& arrival) {
  PathRun& path = paths[at(arrival.path)];
  if (path.flows.empty())
    path.moved = 0;
  else
    bring_up(path);
  const int note = accounts.limits ? book.open(arrival.path, now) : -1;
  path.flows.push_back(
      {path.moved + arrival.bytes, arrival.bytes, arrival.moment.order, arrival.token, note});
  std::push_heap(path.flows.begin(), path.flows.end(), std::greater<>());
  sharing.change(arrival.path, 1);
  changed = true;
}

/// The path gets its place among those of its bottleneck.
void FlowEngine::State::join(PathId id) {
  PathRun& path = paths[at(id)];
  path.limit = sharing.bottleneck(id);
  Limited& others = limited[at(path.limit)];
  if (others.paths.empty()) {
    others.moved = 0;
    others.since = now;
  }
  path.joined = others.moved_at(now);
  const Flow& next = path.flows.front();
  others.paths.set(id, {path.joined + (next.mark - path.moved), next.order}, path_places);
  mark_stale(path.limit);
}

void FlowEngine::State::leave(PathId id) {
  PathRun& path = paths[at(id)];
  if (path.limit < 0) return;
  bring_up(path);
  limited[at(path.limit)].paths.erase(id, path_places);
  mark_stale(path.limit);
  path.limit = -1;
}

/// Its next end will be another one.
void FlowEngine::State::mark_stale(ResourceId id) {
  if (!std::exchange(limited[at(id)].stale, true)) stale.push_back(id);
}

void FlowEngine::State::queue_end(ResourceId id) {
  const Limited& those = limited[at(id)];
  if (those.paths.empty()) return ends.erase(id, end_places);
  const Mark& next = those.paths.top().key;
  const double left = std::max(0.0, next.sum - those.moved);
  ends.set(id, {those.since + left / those.rate, next.order}, end_places);
}

/// Works out the rates from now on.
void FlowEngine::State::share() {
  changed = false;
  const std::span<const PathId> moving = sharing.settle();
  for (const PathId id : moving) leave(id);
  for (const ResourceId id : sharing.moved()) {
    Limited& those = limited[at(id)];
    those.moved = those.moved_at(now);
    those.since = now;
    those.rate = sharing.level(id);
    mark_stale(id);
  }
  for (const PathId id : moving) {
    if (!paths[at(id)].flows.empty()) join(id);
    if (accounts.limits) book.set_limit(id, sharing.bottleneck(id), now);
  }
  for (const ResourceId id : stale) {
    limited[at(id)].stale = false;
    queue_end(id);
  }
  stale.clear();
  if (accounts.usage) take_records();
}

void FlowEngine::State::take_records() {
  for (const ResourceId id : sharing.touched()) {
    ResourceRecord& record = records[at(id)];
    follow(sharing.flows(id) > 0, now, record.busy_since, record.busy);
    follow(sharing.full(id), now, record.saturated_since, record.saturated);
  }
}

void FlowEngine::State::end_arrivals(double horizon, double& latest) {
  while (!arrivals.empty() && arrivals.top().moment.time <= horizon) {
    const Arrival& arrival = arrivals.top();
    latest = std::max(latest, arrival.moment.time);
    const bool instant = arrival.path < 0 || !sharing.limits(arrival.path);
    if (instant && arrival.path >= 0) paths[at(arrival.path)].done += arrival.bytes;
    if (instant)
      ended.push_back({arrival.moment.order, arrival.token, 0, 0});
    else
      arrived.push_back(arrival);
    arrivals.pop();
  }
}

void FlowEngine::State::end_flows(double horizon, double& latest) {
  while (!ends.empty() && ends.top().key.time <= horizon) {
    const double time = ends.top().key.time;
    const ResourceId limit = ends.top().id;
    IndexedHeap<Mark>& marks = limited[at(limit)].paths;
    const PathId id = marks.top().id;
    latest = std::max(latest, time);

    PathRun& path = paths[at(id)];
    const Flow flow = path.flows.front();
    std::pop_heap(path.flows.begin(), path.flows.end(), std::greater<>());
    path.flows.pop_back();
    path.joined = marks.top().key.sum;
    path.moved = flow.mark;
    path.done += flow.bytes;
    if (path.flows.empty()) {
      marks.erase(id, path_places);
      path.limit = -1;
    } else {
      const Flow& next = path.flows.front();
      marks.set(id, {path.joined + (next.mark - path.moved), next.order}, path_places);
    }
    queue_end(limit);

    const std::size_t first = limits.size();
    if (accounts.limits) book.close(id, flow.note, time, limits);
    ended.push_back({flow.order, flow.token, first, limits.size() - first});
    sharing.change(id, -1);
    changed = true;
  }
}

/// Goes to the next moment at which something happens.
void FlowEngine::State::step() {
  double first = std::numeric_limits<double>::infinity();
  if (!arrivals.empty()) first = arrivals.top().moment.time;
  if (!ends.empty()) first = std::min(first, ends.top().key.time);
  const double horizon = first * (1 + same_moment);
  double latest = first;
  end_arrivals(horizon, latest);
  end_flows(horizon, latest);
  now = std::max(now, latest);
  for (const Arrival& arrival : arrived) begin(arrival);
  arrived.clear();
}

// ---- the interface ----------------------------------------------------------------------------

FlowEngine::FlowEngine(std::vector<Resource> resources, FlowAccounts accounts) {
  check(resources);
  state_ = std::make_unique<State>(std::move(resources), accounts);
}

FlowEngine::FlowEngine(FlowEngine&&) noexcept = default;
FlowEngine::~FlowEngine() = default;

PathId FlowEngine::add_path(std::span<const Use> uses) {
  State& state = *state_;
  const PathId id = state.table.add(uses);
  if (at(id) < state.paths.size()) return id;
  const std::span<const Use> kept = state.table.uses(id);
  state.sharing.add_path(kept);
  if (state.accounts.limits) state.book.add_path(kept);
  state.paths.emplace_back();
  return id;
}

double FlowEngine::now() const { return state_->now; }

std::span<const Resource> FlowEngine::resources() const { return state_->resources; }

void FlowEngine::start(PathId path, double bytes, double delay, Token token) {
  State& state = *state_;
  if (path < 0 || at(path) >= state.paths.size())
    throw Error(ErrorCode::invalid_argument, fmt::format("there is no path {}", path));
  if (!(bytes >= 0) || !std::isfinite(bytes))
    throw Error(ErrorCode::invalid_argument, fmt::format("a flow of {} bytes", bytes));
  if (bytes == 0) return start_timer(delay, token);
  check_delay(delay);
  const Arrival arrival{{state.now + delay, state.begun++}, bytes, token, path};
  if (delay == 0 && state.sharing.limits(path))
    state.begin(arrival);
  else
    state.arrivals.push(arrival);
}

void FlowEngine::start_timer(double delay, Token token) {
  State& state = *state_;
  check_delay(delay);
  state.arrivals.push({{state.now + delay, state.begun++}, 0, token, -1});
}

bool FlowEngine::advance(std::vector<Token>& ended) {
  State& state = *state_;
  ended.clear();
  state.ended.clear();
  state.limits.clear();
  state.asked = 0;
  while (state.ended.empty()) {
    if (state.changed) state.share();
    if (state.arrivals.empty() && state.ends.empty()) return false;
    state.step();
  }
  const auto begun_before = [](const Ended& a, const Ended& b) { return a.order < b.order; };
  if (!std::ranges::is_sorted(state.ended, begun_before))
    std::ranges::sort(state.ended, begun_before);
  for (const Ended& one : state.ended) ended.push_back(one.token);
  return true;
}

std::span<const Limit> FlowEngine::limits(Token token) const {
  State& state = *state_;
  // Callers ask in the order in which they were told.
  for (std::size_t i = 0; i < state.ended.size(); ++i) {
    const Ended& one = state.ended[state.asked];
    if (one.token == token) return std::span(state.limits).subspan(one.first_limit, one.limits);
    if (++state.asked == state.ended.size()) state.asked = 0;
  }
  return {};
}

std::vector<ResourceUsage> FlowEngine::usage() const {
  const State& state = *state_;
  if (!state.accounts.usage) return {};
  std::vector<ResourceUsage> usage(state.records.size());
  for (std::size_t i = 0; i < usage.size(); ++i) {
    const ResourceRecord& record = state.records[i];
    usage[i].busy = record.busy + (record.busy_since >= 0 ? state.now - record.busy_since : 0);
    usage[i].saturated =
        record.saturated + (record.saturated_since >= 0 ? state.now - record.saturated_since : 0);
  }
  for (std::size_t i = 0; i < state.paths.size(); ++i) {
    const PathRun& path = state.paths[i];
    double moved = path.moved;
    if (path.limit >= 0) moved += state.limited[at(path.limit)].moved_at(state.now) - path.joined;
    double bytes = path.done;
    for (const Flow& flow : path.flows)
      bytes += std::min(flow.bytes, moved - (flow.mark - flow.bytes));
    for (const Use& use : state.table.uses(static_cast<PathId>(i)))
      usage[at(use.resource)].bytes += bytes * use.weight;
  }
  return usage;
}

}  // namespace ringside
