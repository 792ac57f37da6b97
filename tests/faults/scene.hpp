// SPDX-License-Identifier: MIT
/// A row of the table of faults: what a scene is, and what its ranks say and expect. To add one,
/// define a Subject in a file of its own and list that in CMakeLists.txt.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/tests/faults/fault_table.hpp"
#include "ringside/tests/support/outcome.hpp"

namespace ringside::tests {

/// Of the world that a scene is played in, and the rank with the fault.
inline constexpr int fault_ranks = 3, culprit = 1;

/// Of calls whose time-out is wanted.
inline constexpr Seconds limit{0.1};
/// The error comes within a second of the limit; what is asserted leaves room for a crowded
/// machine.
inline constexpr Seconds generous{10.0};

/// What was not as it must be.
struct Failure {
  std::string what;
};
/// Throws Failure(what) if it does not hold.
void demand(bool holds, const std::string& what);

/// A rank in a scene.
class Actor {
 public:
  Actor(Communicator& of, const FaultyExecutor& executor, const UniformCall& call)
      : comm(of), executor_(executor), call_(call) {}

  [[nodiscard]] bool is_culprit() const { return comm.rank() == culprit; }
  [[nodiscard]] const UniformCall& call() const { return call_; }
  [[nodiscard]] std::unique_ptr<CallMemory> memory(const UniformCall& call, Communicator& of) const;

  struct Result {
    Outcome outcome;
    bool right = false, untouched = false;
    Seconds took{0};
  };
  using Change = std::function<void(Arguments&)>;
  /// The scene's call, with the short limit if `options` has none, and arguments changed as asked.
  Result make(CallOptions options = {}, const Change& change = {});
  /// Another call instead.
  Result make(const UniformCall& call, CallOptions options, const Change& change = {});

  /// The communicator works: the scene's call gives the right result.
  void expect_works();

  /// Told a call's error: for the table.
  void note(const Outcome& told);
  [[nodiscard]] const std::set<std::string>& told() const { return told_; }

  Communicator& comm;

 private:
  const FaultyExecutor& executor_;
  const UniformCall& call_;
  std::set<std::string> told_;
};

/// What is done by each rank, and said of it.
struct Scene {
  std::string_view name;
  /// Whether the collective has what the fault needs.
  bool (*applies)(Collective);
  /// On each rank. Throws Failure; returns how long an error took beyond the limit.
  Seconds (*act)(Actor&);
  /// What World::run throws then, as words; empty: nothing.
  std::string_view run_throws = {};
};

/// Scenes about one thing. An object of it, in a file of its own, is in the table.
class Subject {
 public:
  Subject(std::string name, std::vector<Scene> scenes);
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;
  ~Subject() = default;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<Scene>& scenes() const { return scenes_; }

  /// By name, so that the order does not depend on the linker.
  [[nodiscard]] static std::vector<const Subject*> all();

 private:
  std::string name_;
  std::vector<Scene> scenes_;
};

/// For `applies`.
[[nodiscard]] inline bool always(Collective) { return true; }
[[nodiscard]] inline bool has_data(Collective collective) {
  return collective != Collective::barrier;
}

/// How late the error was; limited: by the short limit.
[[nodiscard]] Seconds beyond(const Actor::Result& result, bool limited = true);

/// An error of one of these kinds, or what later calls get; its words are there and it blames
/// nobody but the culprit. Returns how late it was.
[[nodiscard]] Seconds expect_blamed(const Actor::Result& result,
                                    std::initializer_list<ErrorCode> codes,
                                    const std::string& words, bool limited = true);

/// All are told of a mismatch that names the culprit, nothing was written, and the communicator
/// works on. Returns how late that was.
[[nodiscard]] Seconds expect_mismatch(Actor& actor, const Actor::Result& result);

}  // namespace ringside::tests
