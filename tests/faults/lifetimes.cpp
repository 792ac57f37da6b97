// SPDX-License-Identifier: MIT
/// Much at a time: calls that are under way, several communicators.
#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "ringside/tests/faults/scene.hpp"

namespace ringside::tests {
namespace {

Seconds ends_with_work_outstanding(Actor& actor) {
  constexpr int calls = 4;
  std::vector<std::unique_ptr<CallMemory>> memories;
  for (int i = 0; i < calls; ++i) memories.push_back(actor.memory(actor.call(), actor.comm));
  {
    // Handles that go wait.
    std::vector<Handle> handles;
    for (auto& memory : memories)
      handles.push_back(actor.comm.async().submit(memory->arguments(), {.timeout = generous}));
    if (actor.is_culprit()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  for (auto& memory : memories) demand(memory->right(), "a result is wrong");
  actor.note({});
  return Seconds{0};
}

/// Every call that was under way is told why it came to nothing.
Seconds expect_ended(Actor& actor, std::vector<Handle>& handles, const std::string& words) {
  const Stopwatch watch;
  Seconds late{0};
  for (Handle& handle : handles) {
    Actor::Result result{.outcome = outcome_of([&] { handle.wait(); })};
    result.took = watch.elapsed();
    actor.note(result.outcome);
    late = std::max(late, expect_blamed(result, {ErrorCode::aborted}, words, false));
  }
  return late;
}

Seconds communicators_are_interleaved(Actor& actor) {
  auto part = actor.comm.split(0, -actor.comm.rank());
  demand(part.has_value(), "no part");
  for (int i = 0; i < 3; ++i) {
    const auto here = actor.memory(actor.call(), actor.comm);
    const auto there = actor.memory(actor.call(), *part);
    auto first = actor.comm.async().submit(here->arguments(), {.timeout = generous});
    auto second = part->async().submit(there->arguments(), {.timeout = generous});
    // Waited for in different orders.
    (actor.is_culprit() ? second : first).wait();
    (actor.is_culprit() ? first : second).wait();
    demand(here->right() && there->right(), "a result is wrong");
  }
  actor.note({});
  return Seconds{0};
}

/// A world fails while another is at work, in the middle of whose run it is: one of all ranks where
/// they are processes, else one of every rank's own.
Seconds a_world_fails_beside_another(Actor& actor) {
  actor.expect_works();
  World other = actor.executor().world(fault_ranks);
  Seconds late{0};
  other.run([&](Communicator& comm) {
    Actor inner(comm, actor.executor(), actor.call(), other.ranks_here());
    inner.expect_works();
    const bool is_same = comm.rank() == actor.comm.rank();
    if (is_same && !actor.is_culprit())
      late = expect_blamed(actor.make(), {ErrorCode::timeout}, "rank 1");
    inner.expect_works();
  });
  return late;
}

Seconds a_part_fails(Actor& actor) {
  auto part = actor.comm.split(0);
  if (!actor.is_culprit()) {
    auto memory = actor.memory(actor.call(), *part);
    const auto told = outcome_of([&] { part->submit(memory->arguments(), {.timeout = limit}); });
    actor.note(told);
    demand(told.code == ErrorCode::timeout || told.code == ErrorCode::failed,
           "no time-out: " + told.what);
    demand(told.says("rank 1"), "the culprit is not named: " + told.what);
  } else {
    std::this_thread::sleep_for(limit * 2);
  }
  actor.expect_works();  // the whole has not failed
  return Seconds{0};
}

Seconds goes_with_work_outstanding(Actor& actor) {
  if (actor.is_culprit()) throw std::runtime_error("out of luck");
  const auto first = actor.memory(actor.call(), actor.comm);
  const auto second = actor.memory(actor.call(), actor.comm);
  std::vector<Handle> handles;
  for (const auto& memory : {first.get(), second.get()})
    handles.push_back(actor.comm.async().submit(memory->arguments(), {.timeout = generous}));
  return expect_ended(actor, handles, "out of luck");
}

Seconds is_aborted_with_work_outstanding(Actor& actor) {
  // The culprit's call would come to nothing in any case, so nobody can be done before the abort.
  const auto memory = actor.memory(actor.call(), actor.comm);
  std::vector<Handle> handles;
  if (!actor.is_culprit())
    handles.push_back(actor.comm.async().submit(memory->arguments(), {.timeout = generous}));
  else
    std::jthread([&] { actor.comm.abort("a key was pressed"); }).join();
  return expect_ended(actor, handles, "a key was pressed");
}

Seconds lets_a_communicator_go(Actor& actor) {
  auto part = actor.comm.split(0);
  const auto memory = actor.memory(actor.call(), *part);
  Handle handle = part->async().submit(memory->arguments(), {.timeout = generous});
  part.reset();  // waits
  actor.note(outcome_of([&] { handle.wait(); }));
  demand(memory->right(), "a result is wrong");
  actor.expect_works();
  return Seconds{0};
}

/// The culprit waits for the others on one communicator, they for it on another: that ends with
/// their patience.
Seconds takes_communicators_in_another_order(Actor& actor) {
  auto part = actor.comm.split(0);
  const auto call_on_part = [&] {
    const auto memory = actor.memory(actor.call(), *part);
    const auto met = actor.submit(*part, *memory, {.timeout = generous});
    demand(!met.outcome.code && met.right, "the part has failed, too: " + met.outcome.what);
  };
  if (actor.is_culprit()) {
    call_on_part();
    return expect_blamed(actor.make(), {ErrorCode::failed}, "rank 1", false);
  }
  const Seconds late = expect_blamed(actor.make(), {ErrorCode::timeout}, "rank 1");
  call_on_part();
  return late;
}

/// For scenes that take theirs: a collective of every kind.
bool takes_its_time(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::scatter ||
         collective == Collective::barrier;
}

const Subject subject{
    "lifetimes",
    {
        {"the end with work outstanding", always, ends_with_work_outstanding},
        {"two communicators interleaved", always, communicators_are_interleaved},
        {"a rank goes with work outstanding", always, goes_with_work_outstanding, "out of luck"},
        {"an abort with work outstanding", always, is_aborted_with_work_outstanding},
        {"a communicator goes with work outstanding", always, lets_a_communicator_go},
        {"communicators in another order", takes_its_time, takes_communicators_in_another_order},
        {"a world fails beside another", takes_its_time, a_world_fails_beside_another},
        {"a part of the ranks fails", always, a_part_fails},
    }};

}  // namespace
}  // namespace ringside::tests
