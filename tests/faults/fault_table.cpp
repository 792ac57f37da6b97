// SPDX-License-Identifier: MIT
#include "ringside/tests/faults/fault_table.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>

#include "ringside/base/clock.hpp"
#include "ringside/tests/support/outcome.hpp"

namespace ringside::tests {
namespace {

using std::chrono::milliseconds;

constexpr int ranks = 3, culprit = 1;
constexpr std::array collectives = {
    Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather,
    Collective::broadcast,  Collective::reduce,         Collective::gather,
    Collective::scatter,    Collective::all_to_all,     Collective::barrier};
/// Elements of a block: one that travels in the call where there is such a thing, and one that a
/// plan moves.
constexpr std::array<std::size_t, 2> lengths = {3, 5000};

constexpr Seconds limit{0.1};
/// The error comes within a second of the limit; what is asserted leaves room for a crowded
/// machine.
constexpr Seconds generous{10.0};

struct Failure {
  std::string what;
};
void demand(bool holds, const std::string& what) {
  if (!holds) throw Failure{what};
}

/// A rank in a scene.
class Actor {
 public:
  Actor(Communicator& of, const FaultyExecutor& executor, const UniformCall& call)
      : comm(of), executor_(executor), call_(call) {}

  [[nodiscard]] bool is_culprit() const { return comm.rank() == culprit; }

  /// The scene's call, changed as asked; `options` without a limit: the short one.
  struct Result {
    Outcome outcome;
    bool right = false, untouched = false;
    Seconds took{0};
  };
  Result make(
      CallOptions options = {}, const std::function<void(Arguments&)>& change = [](Arguments&) {},
      std::optional<UniformCall> other = std::nullopt) {
    const UniformCall& call = other ? *other : call_;
    if (!options.timeout) options.timeout = limit;
    auto memory = executor_.memory(call, comm.rank(), comm.size());
    Arguments arguments = memory->arguments();
    change(arguments);
    const Stopwatch watch;
    Result result;
    result.outcome = outcome_of([&] { comm.submit(arguments, options); });
    result.took = watch.elapsed();
    result.right = memory->right();
    result.untouched = memory->untouched();
    return result;
  }

  /// The communicator works.
  void expect_works() {
    const auto result = make({.timeout = generous});
    demand(!result.outcome.code, "the next call fails: " + result.outcome.what);
    demand(result.right, "the next call's result is wrong");
  }

  [[nodiscard]] std::unique_ptr<CallMemory> memory(const UniformCall& call,
                                                   Communicator& of) const {
    return executor_.memory(call, of.rank(), of.size());
  }
  [[nodiscard]] const UniformCall& call() const { return call_; }

  Communicator& comm;

 private:
  const FaultyExecutor& executor_;
  const UniformCall& call_;
};

/// What a scene is told and tells.
struct Scene {
  std::string_view name;
  /// Whether the collective has what the fault needs.
  bool (*applies)(Collective);
  /// On each rank. Throws Failure; returns how long an error took beyond the limit.
  Seconds (*act)(Actor&);
  /// What World::run throws then, as words; empty: nothing.
  std::string_view run_throws = {};
};

bool always(Collective) { return true; }
bool has_data(Collective collective) { return collective != Collective::barrier; }
bool has_operator(Collective collective) { return reduces(collective); }
bool takes_root(Collective collective) { return has_root(collective); }

Seconds beyond(const Actor::Result& result, bool limited = true) {
  const Seconds late = limited ? result.took - limit : result.took;
  demand(late < generous, fmt::format("told after {:.1f} s", result.took.count()));
  return std::max(late, Seconds{0});
}

/// An error of those that wait for the culprit, who is named.
Seconds expect_blamed(const Actor::Result& result, std::initializer_list<ErrorCode> codes,
                      const std::string& words, bool limited = true) {
  const auto& told = result.outcome;
  demand(told.code.has_value(), "no error");
  demand(std::find(codes.begin(), codes.end(), *told.code) != codes.end() ||
             *told.code == ErrorCode::failed,
         "another error: " + told.what);
  demand(told.says(words), fmt::format("told \"{}\", not \"{}\"", told.what, words));
  demand(!told.peer || *told.peer == culprit, "another rank is blamed: " + told.what);
  return beyond(result, limited);
}

// --- ranks that do not come ----------------------------------------------------------------------

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

// --- ranks that disagree -------------------------------------------------------------------------

/// All are told, nothing was written, and the communicator works on.
Seconds expect_mismatch(Actor& actor, const Actor::Result& result) {
  const auto& told = result.outcome;
  demand(told.code == ErrorCode::mismatch, "no mismatch: " + told.what);
  demand(told.says("rank 1"), "the culprit is not named: " + told.what);
  demand(result.untouched, "a call that was refused has written");
  actor.expect_works();
  return beyond(result);
}

Seconds calls_another_collective(Actor& actor) {
  std::optional<UniformCall> other;
  if (actor.is_culprit()) {
    other = actor.call();
    other->collective = actor.call().collective == Collective::all_gather ? Collective::all_reduce
                                                                          : Collective::all_gather;
    other->block = std::max<std::size_t>(other->block, 1);
  }
  return expect_mismatch(actor, actor.make(
                                    {.timeout = generous}, [](Arguments&) {}, other));
}

Seconds has_another_length(Actor& actor) {
  std::optional<UniformCall> other;
  if (actor.is_culprit()) {
    other = actor.call();
    ++other->block;
  }
  return expect_mismatch(actor, actor.make(
                                    {.timeout = generous}, [](Arguments&) {}, other));
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
  std::optional<UniformCall> other;
  if (actor.is_culprit()) {
    other = actor.call();
    other->root = 2;
  }
  return expect_mismatch(actor, actor.make(
                                    {.timeout = generous}, [](Arguments&) {}, other));
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
    const bool the_reduce = first == actor.is_culprit();
    const auto result = actor.make(
        {.timeout = generous}, [](Arguments&) {},
        the_reduce ? std::optional(reduce) : std::nullopt);
    demand(result.outcome.code == ErrorCode::mismatch, "no mismatch: " + result.outcome.what);
    demand(result.untouched, "a call that was refused has written");
  }
  actor.expect_works();
  return Seconds{0};
}

// --- one rank's own fault ------------------------------------------------------------------------

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

// --- much at a time ------------------------------------------------------------------------------

Seconds ends_with_work_outstanding(Actor& actor) {
  constexpr int calls = 4;
  std::vector<std::unique_ptr<CallMemory>> memories;
  for (int i = 0; i < calls; ++i) memories.push_back(actor.memory(actor.call(), actor.comm));
  {
    // Handles that go wait.
    std::vector<Handle> handles;
    for (auto& memory : memories)
      handles.push_back(actor.comm.async().submit(memory->arguments(), {.timeout = generous}));
    if (actor.is_culprit()) std::this_thread::sleep_for(milliseconds(20));
  }
  for (auto& memory : memories) demand(memory->right(), "a result is wrong");
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
  return Seconds{0};
}

Seconds a_part_fails(Actor& actor) {
  auto part = actor.comm.split(0);
  if (!actor.is_culprit()) {
    auto memory = actor.memory(actor.call(), *part);
    const auto told = outcome_of([&] { part->submit(memory->arguments(), {.timeout = limit}); });
    demand(told.code == ErrorCode::timeout || told.code == ErrorCode::failed,
           "no time-out: " + told.what);
    demand(told.says("rank 1"), "the culprit is not named: " + told.what);
  } else {
    std::this_thread::sleep_for(limit * 2);
  }
  actor.expect_works();  // the whole has not failed
  return Seconds{0};
}

constexpr std::array scenes = {
    Scene{"a rank never comes", always, never_comes},
    Scene{"a rank comes late", always, comes_late},
    Scene{"a rank has returned", always, returns},
    Scene{"a rank throws", always, throws, "out of luck"},
    Scene{"aborted from another thread", always, aborts_from_another_thread},
    Scene{"another collective", always, calls_another_collective},
    Scene{"another length", has_data, has_another_length},
    Scene{"another type", has_data, has_another_type},
    Scene{"another operator", has_operator, has_another_operator},
    Scene{"another root", takes_root, has_another_root},
    Scene{"another algorithm", has_two_algorithms, names_another_algorithm},
    Scene{"another placement", may_be_in_place, is_in_place},
    Scene{"another order", is_no_all_reduce, calls_in_another_order},
    Scene{"a call that makes no sense", always, asks_for_nonsense},
    Scene{"an algorithm that is not there", always, names_no_algorithm},
    Scene{"the end with work outstanding", always, ends_with_work_outstanding},
    Scene{"two communicators interleaved", always, communicators_are_interleaved},
    Scene{"a part of the ranks fails", always, a_part_fails},
};

/// Nothing, or what was not as it must be.
struct Cell {
  std::optional<std::string> fault;
  Seconds beyond{0};
};

Cell run_cell(const FaultyExecutor& executor, const Scene& scene, const UniformCall& call) {
  std::mutex mutex;
  Cell cell;
  const auto note = [&](const std::string& fault) {
    const std::lock_guard lock(mutex);
    if (!cell.fault) cell.fault = fault;
  };
  {
    World world = executor.world(ranks);
    std::string thrown;
    try {
      world.run([&](Communicator& comm) {
        Actor actor(comm, executor, call);
        try {
          const Seconds late = scene.act(actor);
          const std::lock_guard lock(mutex);
          cell.beyond = std::max(cell.beyond, late);
        } catch (const Failure& failure) {
          note(fmt::format("rank {}: {}", comm.rank(), failure.what));
        }
      });
    } catch (const std::exception& error) {
      thrown = error.what();
    }
    const bool thrown_here = world.ranks_here() > 1 || world.first_rank_here() == culprit;
    if (thrown_here && thrown.find(scene.run_throws) == std::string::npos)
      note(fmt::format("run threw \"{}\"", thrown));
    if (scene.run_throws.empty() && !thrown.empty()) note(fmt::format("run threw \"{}\"", thrown));
  }
  // A new world works at once.
  World world = executor.world(ranks);
  world.run([&](Communicator& comm) {
    Actor actor(comm, executor, call);
    try {
      actor.expect_works();
    } catch (const Failure& failure) {
      note(fmt::format("rank {}, in a new world: {}", comm.rank(), failure.what));
    }
  });
  return cell;
}

}  // namespace

std::string run_fault_table(const FaultyExecutor& executor) {
  std::string table = fmt::format(
      "{}, {} ranks; cells that held, of those that there are; the "
      "longest time to an error beyond the limit (measured)\n",
      executor.name, ranks);
  int all = 0;
  for (const Scene& scene : scenes) {
    int cells = 0, held = 0;
    Seconds beyond{0};
    for (const Collective collective : collectives) {
      if (!scene.applies(collective)) continue;
      ++cells;
      bool holds = true;
      for (const std::size_t length : lengths) {
        const bool has_length = collective != Collective::barrier;
        if (!has_length && length != lengths.front()) continue;
        const UniformCall call{collective, has_length ? length : 0, 0, {}, length};
        const Cell cell = run_cell(executor, scene, call);
        beyond = std::max(beyond, cell.beyond);
        if (!cell.fault) continue;
        holds = false;
        ADD_FAILURE() << executor.name << ", " << scene.name << ", " << to_string(collective)
                      << " of " << length << ": " << *cell.fault;
      }
      held += holds ? 1 : 0;
    }
    all += cells;
    table +=
        fmt::format("  {:32} {} of {}{}\n", scene.name, held, cells,
                    beyond.count() > 0 ? fmt::format("   {:.0f} ms", 1e3 * beyond.count()) : "");
  }
  return table + fmt::format("  {} cells\n", all);
}

}  // namespace ringside::tests
