// SPDX-License-Identifier: MIT
/// The policies. PCT: S. Burckhardt, P. Kothari, M. Musuvathi, S. Nagarakatte: A randomized
/// scheduler with probabilistic guarantees of finding bugs, ASPLOS 2010; here with change points at
/// random distances, as a run's length is not known in advance.
#include "ringside/tests/fakecuda/scheduler.hpp"

#include <algorithm>
#include <stdexcept>

namespace ringside::tests::fakecuda {
namespace {

/// Mean distance of PCT's change points in operations: some in each run of about a hundred.
constexpr std::uint64_t change_distance = 64;

/// Priorities above are drawn, those below are given by change points, each lower than the last.
constexpr std::uint64_t change_base = std::uint64_t{1} << 32;

}  // namespace

void Scheduler::reset(const std::string& policy) {
  const auto colon = policy.find(':');
  const std::string name = policy.substr(0, colon);
  const bool seeded = colon != std::string::npos;
  if (name == "eager" && !seeded)
    policy_ = Policy::eager;
  else if (name == "lazy" && !seeded)
    policy_ = Policy::lazy;
  else if (name == "random" && seeded)
    policy_ = Policy::random;
  else if (name == "pct" && seeded)
    policy_ = Policy::pct;
  else
    throw std::invalid_argument("scheduler '" + policy + "': eager, lazy, random:SEED or pct:SEED");
  state_ = seeded ? std::stoull(policy.substr(colon + 1)) : 1;
  active_.clear();
  lowest_ = change_base;
  host_priority_ = change_base + (random() >> 1);
  until_change_ = 1 + random() % (2 * change_distance);
}

std::uint64_t Scheduler::random() {  // SplitMix64
  std::uint64_t x = state_ += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

void Scheduler::add_lane(Lane& lane) { lane.priority = change_base + (random() >> 1); }

void Scheduler::enqueue(Lane& lane, Operation operation) {
  lane.queue.push_back(std::move(operation));
  if (lane.listed) return;
  lane.listed = true;
  const auto place = std::upper_bound(active_.begin(), active_.end(), &lane,
                                      [](const Lane* a, const Lane* b) { return a->id < b->id; });
  active_.insert(place, &lane);
}

Lane* Scheduler::choose() {
  Lane* chosen = nullptr;
  std::uint64_t runnable = 0;
  for (Lane* lane : active_) {
    if (!lane->runnable()) continue;
    ++runnable;
    switch (policy_) {
      case Policy::eager:
      case Policy::lazy:
        return lane;
      case Policy::random:  // each of those seen so far with the same probability
        if (random() % runnable == 0) chosen = lane;
        break;
      case Policy::pct:
        if (chosen == nullptr || lane->priority > chosen->priority) chosen = lane;
        break;
    }
  }
  return chosen;
}

void Scheduler::run(Lane& lane, Lock& lock) {
  if (policy_ == Policy::pct && --until_change_ == 0) {
    until_change_ = 1 + random() % (2 * change_distance);
    if (random() % 4 == 0)
      host_priority_ = --lowest_;
    else
      lane.priority = --lowest_;
  }
  const Operation operation = std::move(lane.queue[lane.head]);
  lane.running = true;
  perform_(lane, operation, lock);
  lane.running = false;
  lane.completed = operation.index;
  if (++lane.head == lane.queue.size()) {
    lane.queue.clear();
    lane.head = 0;
    lane.listed = false;
    active_.erase(std::find(active_.begin(), active_.end(), &lane));
  }
}

bool Scheduler::step(Lock& lock) {
  Lane* lane = choose();
  if (lane == nullptr) return false;
  run(*lane, lock);
  return true;
}

void Scheduler::let_run(Lock& lock) {
  if (active_.empty()) return;
  switch (policy_) {
    case Policy::eager:
      while (step(lock)) {
      }
      break;
    case Policy::lazy:
      break;
    case Policy::random:
      while (random() % 2 == 0 && step(lock)) {
      }
      break;
    case Policy::pct:
      for (Lane* lane = choose(); lane != nullptr && lane->priority > host_priority_;
           lane = choose())
        run(*lane, lock);
      break;
  }
}

void Scheduler::release_hangs(cudaError_t fault) {
  for (Lane* lane : active_)
    for (std::size_t i = lane->head; i < lane->queue.size(); ++i) {
      Operation& operation = lane->queue[i];
      if (!operation.hangs) continue;
      operation.hangs = false;
      operation.work = nullptr;
      operation.fault = fault;
    }
}

}  // namespace ringside::tests::fakecuda
