// SPDX-License-Identifier: MIT
/// Algorithms that users register: what is wrong with one is told before it does harm.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/dependencies.hpp"
#include "ringside/collectives/reference.hpp"

namespace ringside {
namespace {

Request of_ranks(int ranks) {
  Request request;
  request.ranks = ranks;
  return request;
}

OpStream star(Group g) {
  for (int rank = 1; rank < g.ranks(); ++rank) co_yield g.combine(0, 0, rank, 0);
  for (int rank = 1; rank < g.ranks(); ++rank) co_yield g.copy(0, rank, 0);
}

/// The message of the error that making the plan of such an algorithm ends with.
std::string refusal_of(const Algorithm& algorithm) {
  static int count = 0;
  const std::string name = "own_" + std::to_string(count++);
  register_algorithm(
      {.name = name,
       .summary = "made wrong",
       .make = [algorithm](const Request&, const Parameters&) { return algorithm; }});
  try {
    (void)make_plan(name, of_ranks(3));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
    return error.what();
  }
  return "";
}

void expect_told(const std::string& message, const std::string& part) {
  EXPECT_NE(message.find(part), std::string::npos) << "'" << message << "' lacks '" << part << "'";
}

/// The same for one that writes this op only.
std::string refusal_of_op(const std::function<Op(const Group&)>& op) {
  return refusal_of({.write = [op](Group g) -> OpStream { co_yield op(g); }});
}

TEST(OwnAlgorithm, OneThatIsRightIsNotRefused) { EXPECT_EQ(refusal_of({.write = star}), ""); }

TEST(OwnAlgorithm, WithoutChunksLanesOrOpsItIsRefused) {
  expect_told(refusal_of({.chunks = 0, .write = star}), "less than one chunk");
  for (const int lanes : {-1, 0, most_lanes + 1}) {
    expect_told(refusal_of({.lanes = lanes, .write = star}), "lanes");
    expect_told(refusal_of({.unsliced_lanes = lanes, .write = star}), "lanes");
  }
  expect_told(refusal_of({}), "nothing that writes it");
}

TEST(OwnAlgorithm, RanksAndChunksThatDoNotExistAreNamed) {
  expect_told(refusal_of_op([](const Group& g) { return g.combine(0, 0, 3, 0); }), "no rank 3");
  expect_told(refusal_of_op([](const Group& g) { return g.copy(-1, 0, 0); }), "no rank -1");
  expect_told(refusal_of_op([](const Group& g) { return g.combine(0, 0, 1, 1); }), "no chunk 1");
  expect_told(refusal_of_op([](const Group& g) { return g.copy(0, 1, 1 << 30); }), "no chunk");
  expect_told(refusal_of_op([](const Group& g) { return g.copy(0, 1, 0, 2); }), "2 chunks");
  expect_told(refusal_of_op([](const Group& g) { return g.op(0, {}, {}); }), "reads nothing");
  expect_told(refusal_of_op([](const Group& g) { return g.part(0, 2, 1).copy(0, 1, 0); }),
              "2 chunks from chunk 0 of a group of 1");
}

TEST(OwnAlgorithm, AParameterIsItsOwn) {
  const auto code_of = [](std::vector<ParameterInfo> parameters) {
    try {
      register_algorithm(
          {.name = "own_parameters",
           .summary = "",
           .parameters = std::move(parameters),
           .make = [](const Request&, const Parameters&) { return Algorithm{.write = star}; }});
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::internal;
  };
  EXPECT_EQ(code_of({{"slices", "1", "a common one"}}), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of({{"x", "1", ""}, {"x", "2", ""}}), ErrorCode::invalid_argument);
}

TEST(Registration, NamesThatMeanAChoiceAreReserved) {
  for (const char* name : {"auto", "all"})
    EXPECT_THROW(
        register_algorithm(
            {.name = name,
             .summary = "",
             .make = [](const Request&, const Parameters&) { return Algorithm{.write = star}; }}),
        Error);
}

TEST(Plan, MayRepeatAnOpOfItsOwn) {
  Plan plan(of_ranks(2), {}, "repeated");
  const std::vector<Location> from = {{1, Buffer::input, 0, 0}}, to = {{0, Buffer::output, 0, 0}};
  plan.append({.rank = 0, .lane = 0, .count = 1, .sources = from, .destinations = to});
  for (std::size_t i = 0; i < 100; ++i) plan.append(plan.op(i));
  for (std::size_t i = 0; i < plan.size(); ++i) {
    ASSERT_EQ(plan.op(i).sources.front(), from.front());
    ASSERT_EQ(plan.op(i).destinations.front(), to.front());
  }
}

TEST(PremulSum, OpsOfManySourcesAtDifferentStagesAreRefused) {
  // One group of two, and 65 of one: the outer op adds a partial sum and 65 raw contributions.
  std::string groups = "0-1";
  for (int rank = 2; rank < 67; ++rank) groups += "/" + std::to_string(rank);
  const auto plan = make_plan("hierarchical:groups=" + groups + ",outer=one_shot", of_ranks(67));
  const auto schedule = make_schedule(plan);
  try {
    require_scalable(plan, schedule);
    FAIL() << "it is not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    expect_told(error.what(), "more than 64 sources");
  }
  for (const char* spec : {"one_shot", "two_shot", "ring"}) {
    const auto uniform = make_plan(spec, of_ranks(67));
    EXPECT_NO_THROW(require_scalable(uniform, make_schedule(uniform))) << spec;
  }

  std::vector<float> data(67, 1);
  PlanBuffers buffers;
  std::vector<std::vector<float>> out(67, data);
  for (auto& one : out) {
    buffers.inputs.push_back(reinterpret_cast<const std::byte*>(data.data()));
    buffers.outputs.push_back(reinterpret_cast<std::byte*>(one.data()));
  }
  PlanArguments arguments{.block_elements = {67}, .scalar = 2};
  run_reference(plan, arguments, buffers);
  EXPECT_EQ(out[66][0], 67);
  arguments.op = ReduceOp::premul_sum;
  EXPECT_THROW(run_reference(plan, arguments, buffers), Error);
}

}  // namespace
}  // namespace ringside
