// SPDX-License-Identifier: MIT
/// Faults of ranks that do not come, come late, or go.
#include <chrono>
#include <stdexcept>
#include <thread>

#include "ringside/tests/faults/scene.hpp"

namespace ringside::tests {
namespace {

Seconds never_comes(Actor& actor) {
  if (actor.is_culprit()) {
    std::this_thread::sleep_for(limit * 2);
    const auto late = actor.make();
    demand(late.outcome.code.has_value(), "who comes too late is told nothing");
    demand(late.untouched, "who comes too late has data changed");
    return Seconds{0};
  }
  return expect_blamed(actor.make(), {ErrorCode::timeout}, "rank 1 has not entered");
}

Seconds comes_late(Actor& actor) {
  if (actor.is_culprit()) std::this_thread::sleep_for(limit / 2);
  actor.expect_works();
  return Seconds{0};
}

Seconds returns(Actor& actor) {
  if (actor.is_culprit()) return Seconds{0};
  return expect_blamed(actor.make({.timeout = generous}), {ErrorCode::timeout}, "rank 1", false);
}

Seconds throws(Actor& actor) {
  if (actor.is_culprit()) throw std::runtime_error("out of luck");
  return expect_blamed(actor.make({.timeout = generous}), {ErrorCode::aborted}, "out of luck",
                       false);
}

Seconds aborts_from_another_thread(Actor& actor) {
  if (actor.is_culprit()) {
    std::jthread([&] { actor.comm.abort("a key was pressed"); }).join();
    return Seconds{0};
  }
  return expect_blamed(actor.make({.timeout = generous}), {ErrorCode::aborted}, "a key was pressed",
                       false);
}

const Subject subject{"arrival",
                      {
                          {"a rank never comes", always, never_comes},
                          {"a rank comes late", always, comes_late},
                          {"a rank has returned", always, returns},
                          {"a rank throws", always, throws, "out of luck"},
                          {"aborted from another thread", always, aborts_from_another_thread},
                      }};

}  // namespace
}  // namespace ringside::tests
