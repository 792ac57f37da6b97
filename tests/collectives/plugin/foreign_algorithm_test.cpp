// SPDX-License-Identifier: MIT
/// What a plug-in describes and writes is checked, and refused in words that name the file, the
/// algorithm and the fault; what passes is replayed exactly.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/plugin/foreign_algorithm.hpp"
#include "ringside/collectives/prover.hpp"
#include "ringside/tests/support/outcome.hpp"

namespace ringside::tests {
namespace {

using Build = int32_t (*)(const ringside_request_v1*, const ringside_argument_v1*, size_t,
                          ringside_sink_v1*);
using Supports = const char* (*)(const ringside_request_v1*);

constexpr ringside_location_v1 running(int rank, int chunk = 0) {
  return {rank, RINGSIDE_RUNNING, 0, chunk};
}

int32_t one_chunk(ringside_sink_v1* sink) {
  const ringside_shape_v1 shape = {sizeof shape, 1, 1, 1};
  return sink->set_shape(sink, &shape);
}

/// An op of `rank` in lane 0 for one chunk.
int32_t add_op(ringside_sink_v1* sink, int rank, const std::vector<ringside_location_v1>& sources,
               const std::vector<ringside_location_v1>& destinations, int lane = 0, int count = 1) {
  const ringside_op_v1 op = {sizeof op,
                             rank,
                             lane,
                             count,
                             static_cast<uint32_t>(sources.size()),
                             static_cast<uint32_t>(destinations.size()),
                             sources.data(),
                             destinations.data()};
  return sink->add_op(sink, &op);
}

int32_t star(const ringside_request_v1* request, const ringside_argument_v1*, size_t,
             ringside_sink_v1* sink) {
  one_chunk(sink);
  for (int rank = 1; rank < request->ranks; ++rank)
    add_op(sink, 0, {running(0), running(rank)}, {running(0)});
  for (int rank = 1; rank < request->ranks; ++rank)
    add_op(sink, rank, {running(0)}, {running(rank)});
  return RINGSIDE_BUILD_OK;
}

ringside_algorithm_v1 described(Build build = star) {
  return {sizeof(ringside_algorithm_v1),
          RINGSIDE_ALGORITHM_VERSION,
          "foreign",
          "for a test",
          nullptr,
          RINGSIDE_SERVES(RINGSIDE_ALL_REDUCE),
          0,
          nullptr,
          nullptr,
          build};
}

std::shared_ptr<PluginFile> file() { return std::make_shared<PluginFile>("./x.so"); }

/// The words after the file's with which a description is refused.
std::string refusal_of(const ringside_algorithm_v1* description) {
  const auto [code, what] = error_of([&] { (void)foreign_algorithm(description, file()); });
  EXPECT_EQ(code, ErrorCode::bad_input) << what;
  const std::string head = "plug-in \"./x.so\": ";
  EXPECT_TRUE(what.starts_with(head)) << what;
  return what.substr(std::min(what.size(), head.size()));
}
std::string refusal_of(const std::function<void(ringside_algorithm_v1&)>& spoil) {
  auto description = described();
  spoil(description);
  return refusal_of(&description);
}

Algorithm make(const ringside_algorithm_v1& description, const Request& request,
               const Spec& spec = {"foreign", {}}) {
  return foreign_algorithm(&description, file()).make(request, Parameters(spec));
}

/// The words with which what `build` writes for 3 ranks is refused.
std::string refusal_of_build(Build build) {
  const auto [code, what] = error_of([&] { (void)make(described(build), {.ranks = 3}); });
  EXPECT_EQ(code, ErrorCode::bad_input) << what;
  const std::string head = "plug-in \"./x.so\": foreign, all_reduce on 3 ranks, out of place: ";
  EXPECT_TRUE(what.starts_with(head)) << what;
  return what.substr(std::min(what.size(), head.size()));
}

TEST(Description, OfAnotherVersionIsRefusedBeforeAnythingElseIsRead) {
  EXPECT_EQ(refusal_of([](auto& d) {
              d.version = 2;
              d.size = 1;
              d.name = nullptr;
            }),
            "it is of version 2 of the interface for algorithms: this library knows version 1");
}

TEST(Description, TooShortIsRefused) {
  EXPECT_EQ(refusal_of([](auto& d) { d.size = 40; }),
            "it describes an algorithm in 40 bytes: version 1 has " +
                std::to_string(sizeof(ringside_algorithm_v1)));
}

TEST(Description, LongerIsOneOfALaterHeaderAndTaken) {
  auto description = described();
  description.size += 64;
  EXPECT_EQ(foreign_algorithm(&description, file()).name, "foreign");
}

TEST(Description, WhatIsMissingIsNamed) {
  EXPECT_EQ(refusal_of(nullptr), "it lists an algorithm that is NULL");
  EXPECT_EQ(refusal_of([](auto& d) { d.name = nullptr; }), "the name of an algorithm is NULL");
  EXPECT_EQ(refusal_of([](auto& d) { d.summary = nullptr; }), "the summary of foreign is NULL");
  EXPECT_EQ(refusal_of([](auto& d) { d.build = nullptr; }), "foreign has no function build");
  EXPECT_EQ(refusal_of([](auto& d) { d.parameter_count = 2; }), "foreign has 2 parameters at NULL");
  static const ringside_parameter_v1 unnamed[] = {{"a", "1", "first"}, {nullptr, "", ""}};
  EXPECT_EQ(refusal_of([](auto& d) { d.parameter_count = 2, d.parameters = unnamed; }),
            "the name of parameter 1 of foreign is NULL");
}

TEST(Description, TextsAreOneLine) {
  EXPECT_EQ(refusal_of([](auto& d) { d.summary = "two\nlines"; }),
            "the summary of foreign has a control character");
  static const std::string endless(5000, 'x');
  EXPECT_EQ(refusal_of([](auto& d) { d.reference = endless.c_str(); }),
            "the reference of foreign is longer than 4096 characters");
}

TEST(Description, CollectivesAreKnownOnes) {
  EXPECT_EQ(refusal_of([](auto& d) { d.collectives = 0; }), "foreign serves no collective");
  EXPECT_EQ(refusal_of([](auto& d) { d.collectives = 1u << 9 | 1u; }),
            "foreign serves collectives that this library does not know (bits 0x201)");
  EXPECT_EQ(refusal_of([](auto& d) { d.collectives = RINGSIDE_SERVES(RINGSIDE_BARRIER); }),
            "foreign serves barrier, which moves no data and has no plan");
  auto several = described();
  several.collectives = RINGSIDE_SERVES(RINGSIDE_ALL_REDUCE) | RINGSIDE_SERVES(RINGSIDE_GATHER);
  EXPECT_EQ(foreign_algorithm(&several, file()).collectives,
            (std::vector{Collective::all_reduce, Collective::gather}));
}

TEST(Description, SaysWhereItIsFrom) {
  const auto description = described();
  EXPECT_EQ(foreign_algorithm(&description, file()).origin, "./x.so");
}

TEST(Build, IsReplayedExactly) {
  auto description = described();
  description.name = "foreign_star";
  register_algorithm(foreign_algorithm(&description, file()));
  for (const bool in_place : {false, true})
    for (const int ranks : {1, 2, 3, 8}) {
      const Request request{.ranks = ranks, .in_place = in_place};
      const Plan plan = make_plan("foreign_star", request);
      EXPECT_EQ(plan.hash(), make_plan("naive", request).hash());
      EXPECT_EQ(make_plan("foreign_star:slices=4", request).shape().slices, 4);
    }
}

TEST(Build, HasScratchLanesChunksAndAllBuffers) {
  // Every rank has a chunk: it gathers the others' in scratch, adds them up, and pushes the sum.
  auto description = described([](const ringside_request_v1* request, const ringside_argument_v1*,
                                  size_t, ringside_sink_v1* sink) -> int32_t {
    const int n = request->ranks;
    const ringside_shape_v1 shape = {sizeof shape, n, 2, 1};
    sink->set_shape(sink, &shape);
    for (int rank = 0; rank < n; ++rank) {
      std::vector<ringside_location_v1> terms = {{rank, RINGSIDE_INPUT, 0, rank}};
      std::vector<ringside_location_v1> outputs = {{rank, RINGSIDE_OUTPUT, 0, rank}};
      for (int peer = 0; peer < n; ++peer) {
        if (peer == rank) continue;
        const int slot = sink->add_scratch(sink, rank, rank, 1);
        terms.push_back({rank, RINGSIDE_SCRATCH, slot, rank});
        add_op(sink, rank, {{peer, RINGSIDE_INPUT, 0, rank}}, {terms.back()});
        outputs.push_back({peer, RINGSIDE_OUTPUT, 0, rank});
      }
      add_op(sink, rank, terms, outputs, 1);
    }
    return RINGSIDE_BUILD_OK;
  });
  description.name = "foreign_scratch";
  register_algorithm(foreign_algorithm(&description, file()));
  for (const bool in_place : {false, true}) {
    const Plan plan = make_plan("foreign_scratch:slices=3", {.ranks = 4, .in_place = in_place});
    const Proof proof = require_proof(plan, true);
    EXPECT_TRUE(proof.facts.one_rounding);
    EXPECT_EQ(plan.shape().lanes, 2);
    EXPECT_EQ(plan.scratch(1).size(), 3U);
    EXPECT_EQ(make_plan("foreign_scratch", plan.request()).shape().lanes, 1);
  }
}

TEST(Build, MayBeALevelOfAHierarchy) {
  auto description = described();
  description.name = "foreign_level";
  register_algorithm(foreign_algorithm(&description, file()));
  for (const bool in_place : {false, true})
    (void)require_proof(make_plan("hierarchical:groups=0-1-2/3-4-5,outer=foreign_level",
                                  {.ranks = 6, .in_place = in_place}),
                        true);
}

TEST(Build, GetsTheRequestAndItsOwnArguments) {
  static std::string seen;
  static const ringside_parameter_v1 parameters[] = {{"a", "1", "first"}, {"b", "2", "second"}};
  auto description = described([](const ringside_request_v1* r, const ringside_argument_v1* given,
                                  size_t count, ringside_sink_v1* sink) -> int32_t {
    seen = std::to_string(r->collective) + " " + std::to_string(r->ranks) + " " +
           std::to_string(r->root) + " " + std::to_string(r->in_place) + ":";
    for (size_t i = 0; i < count; ++i)
      seen += std::string(" ") + given[i].name + "=" + given[i].value;
    EXPECT_EQ(r->size, sizeof *r);
    EXPECT_EQ(sink->size, sizeof *sink);
    EXPECT_EQ(sink->version, 1U);
    return one_chunk(sink);
  });
  description.name = "foreign_arguments";
  description.parameters = parameters;
  description.parameter_count = 2;
  description.collectives = RINGSIDE_SERVES(RINGSIDE_BROADCAST);
  register_algorithm(foreign_algorithm(&description, file()));
  (void)make_plan("foreign_arguments:slices=2,b=x/y,a=(p,q)",
                  {.collective = Collective::broadcast, .ranks = 3, .root = 2, .in_place = true});
  EXPECT_EQ(seen, "3 3 2 1: a=(p,q) b=x/y");
}

TEST(Build, IsNotAskedForOneRank) {
  static int calls = 0;
  calls = 0;
  const auto description = described([](const ringside_request_v1*, const ringside_argument_v1*,
                                        size_t, ringside_sink_v1*) -> int32_t {
    ++calls;
    return RINGSIDE_BUILD_FAILED;
  });
  EXPECT_NO_THROW((void)make(description, {.ranks = 1}));
  EXPECT_EQ(calls, 0);
}

TEST(Build, ThatAnswersDifferentlyIsRefusedWithTheFirstDifference) {
  static int calls;
  calls = 0;
  EXPECT_EQ(refusal_of_build([](const ringside_request_v1*, const ringside_argument_v1*, size_t,
                                ringside_sink_v1* sink) -> int32_t {
              one_chunk(sink);
              const int first = calls++ % 2 == 0 ? 1 : 2;
              add_op(sink, 0, {running(0), running(1)}, {running(0)});
              add_op(sink, first, {running(0)}, {running(first)});
              return RINGSIDE_BUILD_OK;
            }),
            "it answers differently when it is asked again, so ranks would run different plans: op "
            "1 was (rank 1, lane 0: running[0] of rank 1 <- running[0] of rank 0), then (rank 2, "
            "lane 0: running[0] of rank 2 <- running[0] of rank 0)");
  calls = 0;
  EXPECT_EQ(refusal_of_build([](const ringside_request_v1*, const ringside_argument_v1*, size_t,
                                ringside_sink_v1* sink) -> int32_t {
              one_chunk(sink);
              for (int i = calls++; i < 3; ++i) add_op(sink, 0, {running(1)}, {running(0)});
              return RINGSIDE_BUILD_OK;
            }),
            "it answers differently when it is asked again, so ranks would run different plans: 3 "
            "ops, then 2");
  calls = 0;
  EXPECT_EQ(refusal_of_build([](const ringside_request_v1*, const ringside_argument_v1*, size_t,
                                ringside_sink_v1* sink) -> int32_t {
              const ringside_shape_v1 shape = {sizeof shape, ++calls, 1, 1};
              return sink->set_shape(sink, &shape);
            }),
            "it answers differently when it is asked again, so ranks would run different plans: 1 "
            "chunks and 1 lanes, then 2 chunks and 1 lanes");
}

TEST(Build, IsAskedTwiceAndThenKept) {
  static int calls;
  calls = 0;
  const auto description =
      described([](const ringside_request_v1* request, const ringside_argument_v1* arguments,
                   size_t count, ringside_sink_v1* sink) -> int32_t {
        ++calls;
        return star(request, arguments, count, sink);
      });
  const auto info = foreign_algorithm(&description, file());
  for (int i = 0; i < 5; ++i) (void)info.make({.ranks = 3}, Parameters({"foreign", {}}));
  EXPECT_EQ(calls, 2);
  (void)info.make({.ranks = 4}, Parameters({"foreign", {}}));
  EXPECT_EQ(calls, 4);
}

TEST(Build, ItsErrorsAreToldWithItsReason) {
  const auto with_status = [](Build build, ErrorCode code, const std::string& words) {
    const auto [got, what] = error_of([&] { (void)make(described(build), {.ranks = 3}); });
    EXPECT_EQ(got, code) << what;
    EXPECT_EQ(what, words);
  };
  const std::string head = "plug-in \"./x.so\": foreign, all_reduce on 3 ranks, out of place: ";
  with_status([](auto*, auto*, size_t, auto*) -> int32_t { return 7; }, ErrorCode::bad_input,
              head + "build failed with status 7");
  with_status(
      [](auto*, auto*, size_t, ringside_sink_v1* sink) -> int32_t {
        sink->explain(sink, "out of\nluck");
        return RINGSIDE_BUILD_FAILED;
      },
      ErrorCode::bad_input, head + "build failed with status 1: out of luck");
  with_status(
      [](auto*, auto*, size_t, ringside_sink_v1* sink) -> int32_t {
        sink->explain(sink, "needs a power of two");
        return RINGSIDE_BUILD_UNSUPPORTED;
      },
      ErrorCode::unsupported, "foreign: needs a power of two");
  with_status([](auto*, auto*, size_t, auto*) -> int32_t { return RINGSIDE_BUILD_UNSUPPORTED; },
              ErrorCode::unsupported, "foreign: does not do all_reduce on 3 ranks, out of place");
  with_status([](auto*, auto*, size_t, auto*) -> int32_t { return RINGSIDE_BUILD_BAD_ARGUMENT; },
              ErrorCode::bad_input, "foreign: a parameter's value makes no sense");
  with_status([](auto*, auto*, size_t, auto*) -> int32_t { return RINGSIDE_BUILD_OK; },
              ErrorCode::bad_input, head + "build has set no shape");
  with_status([](auto*, auto*, size_t, auto*) -> int32_t { throw std::runtime_error("oh"); },
              ErrorCode::bad_input, head + "build threw an exception: oh");
  with_status([](auto*, auto*, size_t, auto*) -> int32_t { throw 7; }, ErrorCode::bad_input,
              head + "build threw something that is no std::exception");
}

TEST(Build, MayBeToldNoBySupports) {
  auto description = described();
  description.supports = [](const ringside_request_v1* r) -> const char* {
    return r->in_place ? "not in place" : nullptr;
  };
  EXPECT_NO_THROW((void)make(description, {.ranks = 2}));
  const auto [code, what] =
      error_of([&] { (void)make(description, {.ranks = 2, .in_place = true}); });
  EXPECT_EQ(code, ErrorCode::unsupported);
  EXPECT_EQ(what, "foreign: not in place");
}

TEST(Sink, RefusesWhatDoesNotExistAndNamesTheOp) {
  const auto second_op = [](Build build) { return refusal_of_build(build); };
  EXPECT_EQ(second_op([](auto*, auto*, size_t, ringside_sink_v1* sink) -> int32_t {
              one_chunk(sink);
              add_op(sink, 0, {running(1)}, {running(0)});
              EXPECT_LT(add_op(sink, 0, {running(3)}, {running(0)}), 0);
              EXPECT_LT(add_op(sink, 0, {running(1)}, {running(0)}), 0);  // from then on, all
              return RINGSIDE_BUILD_OK;
            }),
            "op 1: there is no rank 3: ranks are 0 to 2");
  EXPECT_EQ(second_op([](auto*, auto*, size_t, ringside_sink_v1* sink) -> int32_t {
              one_chunk(sink);
              return add_op(sink, -1, {running(1)}, {running(0)});
            }),
            "op 0: there is no rank -1: ranks are 0 to 2");
  EXPECT_EQ(second_op([](auto*, auto*, size_t, ringside_sink_v1* sink) -> int32_t {
              one_chunk(sink);
              return add_op(sink, 0, {running(1, 1)}, {running(0, 1)});
            }),
            "op 0: 1 chunks from chunk 1: chunks are 0 to 0");
  EXPECT_EQ(second_op([](auto*, auto*, size_t, ringside_sink_v1* sink) -> int32_t {
              one_chunk(sink);
              return add_op(sink, 0, {running(1)}, {running(0)}, 0, 2147483647);
            }),
            "op 0: 2147483647 chunks from chunk 0: chunks are 0 to 0");
  EXPECT_EQ(second_op([](auto*, auto*, size_t, ringside_sink_v1* sink) -> int32_t {
              one_chunk(sink);
              return add_op(sink, 0, {running(1)}, {running(0)}, 0, 0);
            }),
            "op 0: 0 chunks from chunk 0: chunks are 0 to 0");
  EXPECT_EQ(second_op([](auto*, auto*, size_t, ringside_sink_v1* sink) -> int32_t {
              one_chunk(sink);
              return add_op(sink, 0, {running(1)}, {running(0)}, 1);
            }),
            "op 0: there is no lane 1: the shape has 1");
  EXPECT_EQ(second_op([](auto*, auto*, size_t, ringside_sink_v1* sink) -> int32_t {
              one_chunk(sink);
              return add_op(sink, 0, {{1, 4, 0, 0}}, {running(0)});
            }),
            "op 0: there is no buffer 4");
  EXPECT_EQ(second_op([](auto*, auto*, size_t, ringside_sink_v1* sink) -> int32_t {
              one_chunk(sink);
              return add_op(sink, 0, {{1, RINGSIDE_INPUT, 1, 0}}, {running(0)});
            }),
            "op 0: slot 1 of what is no scratch");
}

TEST(Sink, RefusesScratchThatIsNotThere) {
  EXPECT_EQ(refusal_of_build([](auto*, auto*, size_t, ringside_sink_v1* sink) -> int32_t {
              one_chunk(sink);
              EXPECT_EQ(sink->add_scratch(sink, 1, 0, 1), 0);
              EXPECT_EQ(sink->add_scratch(sink, 1, 0, 1), 1);
              EXPECT_EQ(sink->add_scratch(sink, 2, 0, 1), 0);
              return add_op(sink, 0, {{1, RINGSIDE_SCRATCH, 2, 0}}, {running(0)});
            }),
            "op 0: rank 1 has no scratch slot 2");
  EXPECT_EQ(refusal_of_build([](auto*, auto*, size_t, ringside_sink_v1* sink) -> int32_t {
              const ringside_shape_v1 shape = {sizeof shape, 4, 1, 1};
              sink->set_shape(sink, &shape);
              sink->add_scratch(sink, 0, 1, 2);
              return add_op(sink, 0, {running(1, 2)}, {{0, RINGSIDE_SCRATCH, 0, 2}}, 0, 2);
            }),
            "op 0: scratch slot 0 of rank 0 holds chunks 1 to 2, not 2 from 2");
  EXPECT_EQ(refusal_of_build([](auto*, auto*, size_t, ringside_sink_v1* sink) -> int32_t {
              one_chunk(sink);
              return sink->add_scratch(sink, 0, 0, 2);
            }),
            "add_scratch: 2 chunks from chunk 0: chunks are 0 to 0");
}

TEST(Sink, RefusesStructsAndListsThatAreNotThere) {
  EXPECT_EQ(refusal_of_build([](auto*, auto*, size_t, ringside_sink_v1* sink) -> int32_t {
              return add_op(sink, 0, {running(1)}, {running(0)});
            }),
            "op 0: set_shape must be called first");
  EXPECT_EQ(refusal_of_build([](auto*, auto*, size_t, ringside_sink_v1* sink) -> int32_t {
              one_chunk(sink);
              return one_chunk(sink);
            }),
            "set_shape is called twice");
  EXPECT_EQ(refusal_of_build([](auto*, auto*, size_t, ringside_sink_v1* sink) -> int32_t {
              return sink->set_shape(sink, nullptr);
            }),
            "set_shape is given NULL");
  EXPECT_EQ(refusal_of_build([](auto*, auto*, size_t, ringside_sink_v1* sink) -> int32_t {
              const ringside_shape_v1 shape = {sizeof shape, 0, 1, 1};
              return sink->set_shape(sink, &shape);
            }),
            "0 chunks per block: 1 to 1048576 are possible");
  EXPECT_EQ(refusal_of_build([](auto*, auto*, size_t, ringside_sink_v1* sink) -> int32_t {
              const ringside_shape_v1 shape = {sizeof shape, 1, 17, 1};
              return sink->set_shape(sink, &shape);
            }),
            "17 lanes: 1 to 16 are possible");
  EXPECT_EQ(refusal_of_build([](auto*, auto*, size_t, ringside_sink_v1* sink) -> int32_t {
              const ringside_shape_v1 shape = {8, 1, 1, 1};
              return sink->set_shape(sink, &shape);
            }),
            "set_shape is given a struct of 8 bytes: version 1 has 16");
  EXPECT_EQ(refusal_of_build([](auto*, auto*, size_t, ringside_sink_v1* sink) -> int32_t {
              one_chunk(sink);
              return sink->add_op(sink, nullptr);
            }),
            "op 0: it is NULL");
  EXPECT_EQ(refusal_of_build([](auto*, auto*, size_t, ringside_sink_v1* sink) -> int32_t {
              one_chunk(sink);
              return add_op(sink, 0, {running(1)}, {});
            }),
            "op 0: it has 0 destinations: 1 to 1024 are possible");
  EXPECT_EQ(refusal_of_build([](auto*, auto*, size_t, ringside_sink_v1* sink) -> int32_t {
              one_chunk(sink);
              const ringside_location_v1 at = running(0);
              const ringside_op_v1 op = {sizeof op, 0, 0, 1, 1, 1, nullptr, &at};
              return sink->add_op(sink, &op);
            }),
            "op 0: its sources are NULL");
  EXPECT_EQ(refusal_of_build([](auto*, auto*, size_t, ringside_sink_v1* sink) -> int32_t {
              one_chunk(sink);
              const ringside_location_v1 at = running(0);
              const ringside_op_v1 op = {sizeof op, 0, 0, 1, 0xffffffffU, 1, &at, &at};
              return sink->add_op(sink, &op);
            }),
            "op 0: it has 4294967295 sources: 1 to 1024 are possible");
}

}  // namespace
}  // namespace ringside::tests
