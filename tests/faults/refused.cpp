// SPDX-License-Identifier: MIT
/// Faults of one rank's own, which it is told of before there is a call.
#include "ringside/tests/faults/scene.hpp"

namespace ringside::tests {
namespace {

Seconds asks_for_nonsense(Actor& actor) {
  if (actor.is_culprit()) {
    const auto refused = actor.make({.timeout = generous}, [](Arguments& arguments) {
      arguments.collective = static_cast<Collective>(99);
    });
    demand(refused.outcome.code == ErrorCode::invalid_argument,
           "not refused: " + refused.outcome.what);
    demand(refused.untouched, "a call that was refused has written");
  }
  actor.expect_works();  // a call that was refused is none
  return Seconds{0};
}

Seconds names_no_algorithm(Actor& actor) {
  const auto refused = actor.make({.algorithm = "no_such_thing", .timeout = generous});
  if (actor.call().collective != Collective::barrier)
    demand(refused.outcome.code == ErrorCode::bad_input, "not refused: " + refused.outcome.what);
  demand(refused.untouched || !refused.outcome.code, "a call that was refused has written");
  actor.expect_works();
  return Seconds{0};
}

const Subject subject{"refused",
                      {
                          {"a call that makes no sense", always, asks_for_nonsense},
                          {"an algorithm that is not there", always, names_no_algorithm},
                      }};

}  // namespace
}  // namespace ringside::tests
