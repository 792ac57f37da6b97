// SPDX-License-Identifier: MIT
/// Much at a time: calls that are under way, several communicators.
#include <chrono>
#include <memory>
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

const Subject subject{"lifetimes",
                      {
                          {"the end with work outstanding", always, ends_with_work_outstanding},
                          {"two communicators interleaved", always, communicators_are_interleaved},
                          {"a part of the ranks fails", always, a_part_fails},
                      }};

}  // namespace
}  // namespace ringside::tests
