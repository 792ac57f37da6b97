// SPDX-License-Identifier: MIT
/// Faults of algorithms that are not ours: of a plug-in, and registered by the program.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/plugin/plugin.hpp"
#include "ringside/tests/faults/scene.hpp"

namespace ringside::tests {
namespace {

// --- the algorithms ------------------------------------------------------------------------------

/// What the registered algorithms are told: to go on, in how many pieces to cut the data, in one
/// more every time.
std::atomic<int> let_go{0}, chunks_here{1}, more_chunks{0};

OpStream write_and_throw(Group g) {
  co_yield g.copy(0, 0, 0);
  throw std::runtime_error("out of its depth");
}

OpStream write_without_end(Group g) {
  const std::vector<Location> many(1024, g.cur(0, 0));
  while (true) {
    const Location to = g.next(0, 0);
    co_yield g.op(0, many, {&to, 1});
  }
}

OpStream write_nothing_for_ever(Group g) {
  const int before = let_go;
  while (let_go == before) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  co_yield g.copy(0, 0, 0);
}

OpStream write_star(Group g) {
  for (int chunk = 0; chunk < g.chunks(); ++chunk) {
    for (int rank = 1; rank < g.ranks(); ++rank) co_yield g.combine(0, 0, rank, chunk);
    for (int rank = 1; rank < g.ranks(); ++rank) co_yield g.copy(0, rank, chunk);
  }
}

int one_chunk() { return 1; }

void register_one(const char* name, OpStream (*write)(Group), int (*chunks)() = one_chunk) {
  AlgorithmInfo info{.name = name, .summary = "what registered algorithms do wrong", .make = {}};
  info.collectives = {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather,
                      Collective::broadcast,  Collective::reduce,         Collective::gather,
                      Collective::scatter,    Collective::all_to_all};
  info.make = [=](const Request&, const Parameters&) {
    return Algorithm{.chunks = chunks(), .write = write};
  };
  register_algorithm(std::move(info));
}

/// The plug-in is loaded and the rest is registered when the first scene asks for it.
class Outside {
 public:
  static Outside& get() {
    static Outside instance;
    return instance;
  }
  /// Makes whatever is stuck return.
  void release() {
    ++let_go;
    plugin_let_go_();
  }
  /// Of all that is local to a process.
  void set_chunks(int chunks, int more = 0) {
    chunks_here = chunks;
    more_chunks = more;
    plugin_set_chunks_(chunks);
  }

 private:
  Outside() {
    (void)load_plugin(RINGSIDE_FAULTY_PLUGIN);
    void* const library = ::dlopen(RINGSIDE_FAULTY_PLUGIN, RTLD_NOW | RTLD_NOLOAD);
    plugin_let_go_ = reinterpret_cast<void (*)()>(::dlsym(library, "faulty_plugin_let_go"));
    plugin_set_chunks_ =
        reinterpret_cast<void (*)(std::int32_t)>(::dlsym(library, "faulty_plugin_set_chunks"));
    register_one("registered_throws", write_and_throw);
    register_one("registered_endless", write_without_end);
    register_one("registered_stuck", write_nothing_for_ever);
    register_one("registered_local", write_star, [] { return chunks_here.fetch_add(more_chunks); });
  }

  void (*plugin_let_go_)();
  void (*plugin_set_chunks_)(std::int32_t);
};

// --- answers that are refused --------------------------------------------------------------------

/// To fill much memory, on a machine that has other things to do.
constexpr Seconds long_enough{100.0};

/// All ranks are told, nothing was written, and the communicator works on.
Seconds expect_refused(Actor& actor, const std::string& algorithm, const std::string& words,
                       Seconds patience = generous) {
  (void)Outside::get();
  const auto result = actor.make({.algorithm = algorithm, .timeout = patience});
  const Outcome& told = result.outcome;
  demand(told.code == ErrorCode::bad_input, "not refused: " + told.what);
  demand(told.says(algorithm), "the algorithm is not named: " + told.what);
  demand(told.says(words), fmt::format("told \"{}\", not \"{}\"", told.what, words));
  demand(result.untouched, "a call that was refused has written");
  actor.expect_works();
  return std::max(result.took - patience, Seconds{0});
}

Seconds plugin_throws(Actor& actor) {
  return expect_refused(actor, "plugin_throws", "threw an exception: out of its depth");
}
Seconds plugin_throws_a_number(Actor& actor) {
  return expect_refused(actor, "plugin_throws_a_number",
                        "threw something that is no std::exception");
}
Seconds plugin_fails(Actor& actor) {
  return expect_refused(actor, "plugin_fails", "not in the mood");
}
Seconds plugin_is_wrong(Actor& actor) { return expect_refused(actor, "plugin_wrong", "rank"); }
Seconds plugin_drifts(Actor& actor) {
  return expect_refused(actor, "plugin_drifts", "answers differently");
}
Seconds plugin_is_endless(Actor& actor) {
  return expect_refused(actor, "plugin_endless", "locations", long_enough);
}
Seconds registered_throws(Actor& actor) {
  return expect_refused(actor, "registered_throws", "threw an exception: \"out of its depth\"");
}
Seconds registered_is_endless(Actor& actor) {
  return expect_refused(actor, "registered_endless", "locations", long_enough);
}

// --- no answer -----------------------------------------------------------------------------------

/// What is stuck goes on when all ranks of this process were told.
class Release {
 public:
  explicit Release(const Actor& actor) : ranks_(actor.ranks_here()) {}
  ~Release() {
    if (++told % ranks_ == 0) Outside::get().release();
  }
  Release(const Release&) = delete;
  Release& operator=(const Release&) = delete;

 private:
  static inline std::atomic<int> told{0};
  int ranks_;
};

/// All ranks ask it. Whoever is first to lose patience is named.
Seconds expect_stuck(Actor& actor, const std::string& algorithm) {
  (void)Outside::get();
  const Release release(actor);
  const auto result = actor.make({.algorithm = algorithm});
  const Outcome& told = result.outcome;
  demand(told.code == ErrorCode::timeout || told.code == ErrorCode::failed,
         "no time-out: " + told.what);
  demand(told.says("planning") && told.says(algorithm), "nobody is planning: " + told.what);
  demand(told.peer.has_value(), "nobody is named: " + told.what);
  demand(result.untouched, "a call without a plan has written");
  return beyond(result);
}

/// The culprit asks it, and the others wait for the culprit.
Seconds expect_one_stuck(Actor& actor, const std::string& algorithm) {
  (void)Outside::get();
  const Release release(actor);
  const auto result = actor.make({.algorithm = actor.is_culprit() ? algorithm : ""});
  demand(result.untouched, "a call without a plan has written");
  demand(result.outcome.says("planning") && result.outcome.says(algorithm),
         "nobody is planning: " + result.outcome.what);
  return expect_blamed(result, {ErrorCode::timeout}, "rank 1");
}

Seconds plugin_is_stuck(Actor& actor) { return expect_stuck(actor, "plugin_stuck"); }
Seconds registered_is_stuck(Actor& actor) { return expect_stuck(actor, "registered_stuck"); }
Seconds one_plugin_is_stuck(Actor& actor) { return expect_one_stuck(actor, "plugin_stuck"); }
Seconds one_registered_is_stuck(Actor& actor) {
  return expect_one_stuck(actor, "registered_stuck");
}

// --- different answers ---------------------------------------------------------------------------

/// The culprit's process has another plan than the others'. In a process of all ranks there is one.
Seconds expect_different(Actor& actor, const std::string& algorithm) {
  const bool apart = actor.ranks_here() == 1;
  Outside::get().set_chunks(apart && actor.is_culprit() ? 2 : 1);
  const auto result = actor.make({.algorithm = algorithm, .timeout = generous});
  if (apart) return expect_mismatch(actor, result);
  demand(!result.outcome.code && result.right, "the one plan is not run: " + result.outcome.what);
  return Seconds{0};
}

Seconds plugin_differs(Actor& actor) { return expect_different(actor, "plugin_local"); }
Seconds registered_differs(Actor& actor) { return expect_different(actor, "registered_local"); }

/// The culprit's process would get another plan if it asked again: what was agreed on is run.
Seconds registered_drifts(Actor& actor) {
  const bool apart = actor.ranks_here() == 1;
  Outside::get().set_chunks(1, apart && actor.is_culprit() ? 1 : 0);
  const auto result = actor.make({.algorithm = "registered_local", .timeout = generous});
  demand(!result.outcome.code, "refused: " + result.outcome.what);
  demand(result.right, "another plan is run than was agreed on");
  return Seconds{0};
}

// -------------------------------------------------------------------------------------------------

bool all_reduce(Collective collective) { return collective == Collective::all_reduce; }
/// One of every kind: what is waited for takes its time.
bool some(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::broadcast ||
         collective == Collective::all_to_all;
}

const Subject subject{
    "algorithms from outside",
    {
        {"a plug-in throws an exception", has_data, plugin_throws},
        {"a plug-in throws a number", some, plugin_throws_a_number},
        {"a plug-in reports an error", has_data, plugin_fails},
        {"a plug-in's plan is wrong", has_data, plugin_is_wrong},
        {"a plug-in answers differently when asked again", has_data, plugin_drifts},
        {"a plug-in answers differently on a rank", all_reduce, plugin_differs},
        {"a plug-in adds ops without end", all_reduce, plugin_is_endless},
        {"a plug-in never answers", some, plugin_is_stuck},
        {"a plug-in never answers on one rank", some, one_plugin_is_stuck},
        {"a registered one throws an exception", has_data, registered_throws},
        {"a registered one answers differently on a rank", all_reduce, registered_differs},
        {"a registered one would answer differently again", all_reduce, registered_drifts},
        {"a registered one writes ops without end", all_reduce, registered_is_endless},
        {"a registered one never answers", some, registered_is_stuck},
        {"a registered one never answers on one rank", some, one_registered_is_stuck},
    }};

}  // namespace
}  // namespace ringside::tests
