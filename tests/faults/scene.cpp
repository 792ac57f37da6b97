// SPDX-License-Identifier: MIT
#include "ringside/tests/faults/scene.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ringside::tests {

void demand(bool holds, const std::string& what) {
  if (!holds) throw Failure{what};
}

std::unique_ptr<CallMemory> Actor::memory(const UniformCall& call, Communicator& of) const {
  return executor_.memory(call, of.rank(), of.size());
}

Actor::Result Actor::make(CallOptions options, const Change& change) {
  return make(call_, std::move(options), change);
}

Actor::Result Actor::make(const UniformCall& call, CallOptions options, const Change& change) {
  if (!options.timeout) options.timeout = limit;
  const auto passed = memory(call, comm);
  Arguments arguments = passed->arguments();
  if (change) change(arguments);
  const Stopwatch watch;
  Result result;
  result.outcome = outcome_of([&] { comm.submit(arguments, options); });
  result.took = watch.elapsed();
  result.right = passed->right();
  result.untouched = passed->untouched();
  note(result.outcome);
  return result;
}

void Actor::expect_works() {
  const auto result = make({.timeout = generous});
  demand(!result.outcome.code, "the next call fails: " + result.outcome.what);
  demand(result.right, "the next call's result is wrong");
}

void Actor::note(const Outcome& told) {
  told_.insert(told.code ? std::string(to_string(*told.code)) : "works");
}

namespace {
std::vector<const Subject*>& subjects() {
  static std::vector<const Subject*> all;
  return all;
}
}  // namespace

Subject::Subject(std::string name, std::vector<Scene> scenes)
    : name_(std::move(name)), scenes_(std::move(scenes)) {
  subjects().push_back(this);
}

std::vector<const Subject*> Subject::all() {
  auto sorted = subjects();
  std::sort(sorted.begin(), sorted.end(),
            [](const Subject* a, const Subject* b) { return a->name() < b->name(); });
  return sorted;
}

Seconds beyond(const Actor::Result& result, bool limited) {
  const Seconds late = limited ? result.took - limit : result.took;
  demand(late < generous, fmt::format("told after {:.1f} s", result.took.count()));
  return std::max(late, Seconds{0});
}

Seconds expect_blamed(const Actor::Result& result, std::initializer_list<ErrorCode> codes,
                      const std::string& words, bool limited) {
  const auto& told = result.outcome;
  demand(told.code.has_value(), "no error");
  demand(std::find(codes.begin(), codes.end(), *told.code) != codes.end() ||
             *told.code == ErrorCode::failed,
         "another error: " + told.what);
  demand(told.says(words), fmt::format("told \"{}\", not \"{}\"", told.what, words));
  demand(!told.peer || *told.peer == culprit, "another rank is blamed: " + told.what);
  return beyond(result, limited);
}

Seconds expect_mismatch(Actor& actor, const Actor::Result& result) {
  const auto& told = result.outcome;
  demand(told.code == ErrorCode::mismatch, "no mismatch: " + told.what);
  demand(told.says("rank 1"), "the culprit is not named: " + told.what);
  demand(result.untouched, "a call that was refused has written");
  actor.expect_works();
  return beyond(result);
}

}  // namespace ringside::tests
