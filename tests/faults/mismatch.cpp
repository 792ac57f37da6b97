// SPDX-License-Identifier: MIT
/// Faults of ranks that make different calls.
#include <algorithm>
#include <cstddef>

#include "ringside/tests/faults/scene.hpp"

namespace ringside::tests {
namespace {

Seconds calls_another_collective(Actor& actor) {
  UniformCall call = actor.call();
  if (actor.is_culprit()) {
    call.collective =
        call.collective == Collective::all_gather ? Collective::all_reduce : Collective::all_gather;
    call.block = std::max<std::size_t>(call.block, 1);
  }
  return expect_mismatch(actor, actor.make(call, {.timeout = generous}));
}

Seconds has_another_length(Actor& actor) {
  UniformCall call = actor.call();
  if (actor.is_culprit()) ++call.block;
  return expect_mismatch(actor, actor.make(call, {.timeout = generous}));
}

Seconds has_another_type(Actor& actor) {
  return expect_mismatch(actor, actor.make({.timeout = generous}, [&](Arguments& arguments) {
    if (actor.is_culprit()) arguments.type = ElementType::float32;
  }));
}

Seconds has_another_operator(Actor& actor) {
  return expect_mismatch(actor, actor.make({.timeout = generous}, [&](Arguments& arguments) {
    if (actor.is_culprit()) arguments.op = ReduceOp::max;
  }));
}

Seconds has_another_root(Actor& actor) {
  UniformCall call = actor.call();
  if (actor.is_culprit()) call.root = 2;
  return expect_mismatch(actor, actor.make(call, {.timeout = generous}));
}

bool has_two_algorithms(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce ||
         collective == Collective::broadcast || collective == Collective::all_gather ||
         collective == Collective::reduce_scatter;
}

Seconds names_another_algorithm(Actor& actor) {
  const Collective collective = actor.call().collective;
  const bool rooted = has_root(collective);
  const char* one = rooted ? "chain" : "ring";
  const char* another = rooted                                 ? "binomial"
                        : collective == Collective::all_reduce ? "two_shot"
                                                               : "direct";
  return expect_mismatch(
      actor, actor.make({.algorithm = actor.is_culprit() ? another : one, .timeout = generous}));
}

bool may_be_in_place(Collective collective) { return collective == Collective::all_reduce; }

Seconds is_in_place(Actor& actor) {
  return expect_mismatch(actor, actor.make({.timeout = generous}, [&](Arguments& arguments) {
    if (actor.is_culprit()) arguments.input = arguments.output;
  }));
}

bool is_no_all_reduce(Collective collective) { return collective != Collective::all_reduce; }

Seconds calls_in_another_order(Actor& actor) {
  UniformCall reduce = actor.call();
  reduce.collective = Collective::all_reduce;
  reduce.block = 7;
  for (const bool first : {true, false}) {
    const auto result =
        actor.make(first == actor.is_culprit() ? reduce : actor.call(), {.timeout = generous});
    demand(result.outcome.code == ErrorCode::mismatch, "no mismatch: " + result.outcome.what);
    demand(result.untouched, "a call that was refused has written");
  }
  actor.expect_works();
  return Seconds{0};
}

const Subject subject{"mismatch",
                      {
                          {"another collective", always, calls_another_collective},
                          {"another length", has_data, has_another_length},
                          {"another type", has_data, has_another_type},
                          {"another operator", reduces, has_another_operator},
                          {"another root", has_root, has_another_root},
                          {"another algorithm", has_two_algorithms, names_another_algorithm},
                          {"another placement", may_be_in_place, is_in_place},
                          {"another order", is_no_all_reduce, calls_in_another_order},
                      }};

}  // namespace
}  // namespace ringside::tests
