// SPDX-License-Identifier: MIT
/// A bound program orders every two of its steps that touch the same bytes, one of them writing;
/// and none of its waits is implied by the others.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/executors/cuda/order.hpp"
#include "ringside/collectives/executors/cuda/program.hpp"
#include "ringside/collectives/plan_cache.hpp"
#include "ringside/tests/collectives/host/calls_to_try.hpp"

namespace ringside::tests {
namespace {

using cuda::Address;
using cuda::Base;
using cuda::Moment;
using cuda::Program;
using cuda::Step;

struct Touch {
  std::uint32_t base = 0;
  std::size_t begin = 0, end = 0;
  bool writes = false;
};

std::vector<Touch> touches(const Program& program, const Step& step, bool in_place) {
  std::vector<Touch> list;
  for (const auto& run : program.runs_of(step)) {
    const auto addresses = program.addresses_of(step, run);
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      Address at = addresses[i];
      // Calls here are of one block a rank or of equal ones, so that both begin alike.
      if (in_place && at.kind() == Base::input) at.base = Address::number(at.rank(), Base::output);
      list.push_back({at.base, at.offset, at.offset + run.elements * program.element_bytes,
                      i >= step.sources});
    }
  }
  return list;
}

bool conflict(const std::vector<Touch>& a, const std::vector<Touch>& b) {
  for (const auto& one : a)
    for (const auto& other : b)
      if (one.base == other.base && one.begin < other.end && other.begin < one.end &&
          (one.writes || other.writes))
        return true;
  return false;
}

/// The first pair of steps that conflict and are not ordered, in words.
std::string unordered_pair(const Program& program) {
  cuda::StreamOrder order;
  std::vector<Moment> moments;
  std::vector<std::vector<Touch>> touched;
  const bool in_place = program.compiled->plan.request().in_place;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    const int stream = static_cast<int>(step.stream);
    for (const auto before : program.waits_of(step)) {
      if (before >= i) return "a wait for a later step";
      if (!program.steps[before].recorded) return "a wait for a step that is not recorded";
      order.wait(stream, moments[before]);
    }
    touched.push_back(touches(program, step, in_place));
    for (std::size_t j = 0; j < i; ++j)
      if (conflict(touched[j], touched[i]) && !order.is_behind(stream, moments[j].point))
        return "steps " + std::to_string(j) + " (op " + std::to_string(program.steps[j].op) +
               ") and " + std::to_string(i) + " (op " + std::to_string(step.op) + ")";
    moments.push_back(order.append(stream));
  }
  return {};
}

TEST(CudaProgram, OrdersAllStepsThatConflictWhateverIsEmpty) {
  PlanCache plans;
  std::size_t programs = 0;
  for (const int ranks : {2, 3, 4, 5})
    for (const bool in_place : {false, true})
      for (const auto& spec : specs_for(Collective::all_reduce, ranks))
        for (const auto& cut : cuts) {
          const Request request{Collective::all_reduce, ranks, 0, in_place};
          if (spec == "auto" || !supported(spec, request)) continue;
          const auto compiled = plans.get(with_cut(spec, cut), request);
          if (compiled->plan.size() * static_cast<std::size_t>(compiled->plan.shape().slices) > 700)
            continue;  // all pairs are looked at
          for (const std::size_t elements : {1, 3, 40, 301}) {
            const auto program = Program::bind(compiled, std::vector{elements},
                                               {.type = ElementType::int8, .ranks = ranks}, {});
            ++programs;
            EXPECT_EQ(unordered_pair(program), "")
                << compiled->plan.spec() << ", " << ranks << " ranks, " << elements << " elements";
          }
        }
  EXPECT_GT(programs, 500u);
}

TEST(CudaProgram, SlicesThatShareScratchAreOrderedAlsoWhereTheLastOnesAreEmpty) {
  PlanCache plans;
  const Request request{Collective::reduce_scatter, 4, 0, false};
  const auto compiled = plans.get("recursive_halving:slices=4,lanes=4,depth=2", request);
  const auto program = Program::bind(compiled, std::vector<std::size_t>(4, 3),
                                     {.type = ElementType::int8, .ranks = 4}, {});
  EXPECT_EQ(unordered_pair(program), "");
}

}  // namespace
}  // namespace ringside::tests
