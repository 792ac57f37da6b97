// SPDX-License-Identifier: MIT
/// Shared objects: a right one is an algorithm like any other, the others are refused with the file
/// and the reason.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ringside/base/file.hpp"
#include "ringside/base/options.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/plugin/plugin.hpp"
#include "ringside/collectives/prover.hpp"
#include "ringside/collectives/world.hpp"
#include "ringside/tests/support/outcome.hpp"

namespace ringside::tests {
namespace {

const std::string star_file = RINGSIDE_PLUGIN_FOLDER "/plugin_star.so";

std::string refused_file(const std::string& fault) {
  return RINGSIDE_PLUGIN_FOLDER "/refused_" + fault + ".so";
}

/// Loads what every test may rely on; a second time changes nothing.
void load_misbehaving() { (void)load_plugin(RINGSIDE_PLUGIN_FOLDER "/misbehaving.so"); }

bool is_registered(const std::string& name) {
  const auto all = registered_algorithms();
  return std::any_of(all.begin(), all.end(),
                     [&](const AlgorithmInfo& info) { return info.name == name; });
}

float sum_with(Communicator& comm, const std::string& algorithm) {
  std::vector<float> data(37, static_cast<float>(comm.rank() + 1));
  comm.all_reduce(std::span(data), ReduceOp::sum, {.algorithm = algorithm});
  return std::all_of(data.begin(), data.end(), [&](float v) { return v == data.front(); })
             ? data.front()
             : -1;
}

/// What all ranks of a world are told when they call with this algorithm; then they work on.
std::pair<ErrorCode, std::string> refusal_of(const std::string& algorithm, int ranks = 3) {
  std::vector<std::pair<ErrorCode, std::string>> told(static_cast<std::size_t>(ranks));
  World::threads(ranks).run([&](Communicator& comm) {
    told[static_cast<std::size_t>(comm.rank())] =
        error_of([&] { (void)sum_with(comm, algorithm); });
    EXPECT_EQ(sum_with(comm, "ring"), static_cast<float>(ranks * (ranks + 1)) / 2);
  });
  for (const auto& one : told) EXPECT_EQ(one, told.front());
  return told.front();
}

TEST(Plugin, ARightOneIsProvenAndRuns) {
  EXPECT_EQ(load_plugin(star_file), std::vector<std::string>{"star"});
  EXPECT_EQ(find_algorithm("star").origin, star_file);
  for (const int ranks : {1, 2, 3, 5, 16})
    for (const bool in_place : {false, true})
      (void)require_proof(make_plan("star", {.ranks = ranks, .in_place = in_place}), true);
  World::threads(4).run([](Communicator& comm) {
    EXPECT_EQ(sum_with(comm, "star"), 10);
    EXPECT_EQ(sum_with(comm, "star:centre=2,slices=3"), 10);
    EXPECT_EQ(comm.algorithm_for(Collective::all_reduce, 148, true,
                                 {.algorithm = "star:slices=3,centre=2"}),
              "star:centre=2,slices=3");
  });
}

TEST(Plugin, LoadedTwiceIsThere) {
  const auto names = load_plugin(star_file);
  EXPECT_EQ(load_plugin(star_file), names);
  const auto all = registered_algorithms();
  EXPECT_EQ(std::count_if(all.begin(), all.end(),
                          [](const AlgorithmInfo& info) { return info.name == "star"; }),
            1);
}

TEST(Plugin, AnOptionChoosesItLikeAnyOther) {
  (void)load_plugin(star_file);
  const ScopedOption algorithm("algorithm", "star:centre=1");
  World::threads(2).run([](Communicator& comm) {
    EXPECT_EQ(sum_with(comm, ""), 3);
    EXPECT_EQ(comm.algorithm_for(Collective::all_reduce, 4, false), "star:centre=1");
  });
}

TEST(Plugin, TheOptionPluginsLoadsThem) {
  {
    const ScopedOption plugins("plugins", "/nowhere/x.so:" + star_file);
    const auto [code, what] = error_of([] { (void)registered_algorithms(); });
    EXPECT_EQ(code, ErrorCode::io);
    EXPECT_EQ(what, "plug-in \"/nowhere/x.so\": no such file or directory");
  }
  const ScopedOption plugins("plugins", star_file + ":" RINGSIDE_PLUGIN_FOLDER "/misbehaving.so");
  EXPECT_TRUE(is_registered("star"));
  EXPECT_TRUE(is_registered("drifting"));
}

TEST(Plugin, OneThatIsNoneIsRefusedWithTheReason) {
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"wrong_version",
       "it is of version 2 of the interface for algorithms: this library knows version 1"},
      {"no_symbol",
       "it has no function ringside_algorithms_v1: it is no plug-in, or one for another version of "
       "ringside_algorithm.h"},
      {"null_function", "faulty has no function build"},
      {"taken_name", "an algorithm named 'ring' is registered already"},
      {"bad_name", "'./ring' is no algorithm name"},
      {"nothing_listed", "ringside_algorithms_v1 lists no algorithms"},
  };
  for (const auto& [fault, reason] : faults)
    for (int attempt = 0; attempt < 2; ++attempt) {
      const std::string file = refused_file(fault);
      const auto [code, what] = error_of([&] { (void)load_plugin(file); });
      EXPECT_EQ(code, ErrorCode::bad_input) << what;
      EXPECT_TRUE(what.starts_with("plug-in \"")) << what;
      EXPECT_TRUE(what.ends_with("refused_" + fault + ".so\": " + reason)) << what;
    }
  EXPECT_FALSE(is_registered("companion")) << "of a plug-in, all algorithms are taken or none";
  EXPECT_FALSE(is_registered("faulty"));
}

TEST(Plugin, AFileThatCannotBeLoadedIsRefusedByName) {
  const auto refusal = [](const std::string& path) {
    const auto [code, what] = error_of([&] { (void)load_plugin(path); });
    EXPECT_EQ(code, ErrorCode::io);
    return what;
  };
  EXPECT_EQ(refusal("/nowhere/x.so"), "plug-in \"/nowhere/x.so\": no such file or directory");
  EXPECT_EQ(refusal(""), "plug-in \"\": it is no file");
  EXPECT_EQ(refusal(RINGSIDE_PLUGIN_FOLDER),
            "plug-in \"" RINGSIDE_PLUGIN_FOLDER "\": it is no file");
  // No folder is searched: libm.so.6 would be found in one.
  EXPECT_EQ(refusal("libm.so.6"), "plug-in \"libm.so.6\": no such file or directory");
  const std::string text = testing::TempDir() + "ringside_no_plugin.so";
  write_file(text, "This is no shared object, and long enough to be read as the head of one.\n");
  EXPECT_TRUE(
      refusal(text).ends_with(": invalid ELF header: not a shared object; compile it first"))
      << refusal(text);
}

TEST(Plugin, AWrongPlanIsRefusedWithTheProversWords) {
  load_misbehaving();
  const auto [code, what] = refusal_of("wrong");
  EXPECT_EQ(code, ErrorCode::bad_input);
  EXPECT_EQ(what,
            "the plan 'wrong' of 3 ranks is wrong: no op stores output[0] of rank 2 (chunk 0); the "
            "last on that chunk is op 2 (rank 1: output[0] of rank 1 <- output[0] of rank 0)");
}

TEST(Plugin, OneThatAnswersDifferentlyOnRanksIsRefused) {
  load_misbehaving();
  const auto [code, what] = refusal_of("drifting");
  EXPECT_EQ(code, ErrorCode::bad_input);
  EXPECT_NE(
      what.find("misbehaving.so\": drifting, all_reduce on 3 ranks, in place: it answers "
                "differently when it is asked again, so ranks would run different plans: op 0 "
                "was (rank "),
      std::string::npos)
      << what;
}

TEST(Plugin, RanksThatGotDifferentPlansAreToldAndTouchNothing) {
  load_misbehaving();
  World::threads(3).run([](Communicator& comm) {
    const std::vector<float> in(37, 1);
    std::vector<float> out(37, -1);
    const std::string mine = comm.rank() == 2 ? "local:centre=2" : "local";
    const auto [code, what] = error_of([&] {
      comm.all_reduce(std::span<const float>(in), std::span(out), ReduceOp::sum,
                      {.algorithm = mine});
    });
    EXPECT_EQ(code, ErrorCode::mismatch);
    EXPECT_NE(what.find("they differ in algorithm (local and local:centre=2)"), std::string::npos)
        << what;
    EXPECT_EQ(out, std::vector<float>(37, -1));
    EXPECT_EQ(sum_with(comm, "local:centre=1"), 6);
  });
}

TEST(Plugin, WhatItReturnsOrDoesWrongIsToldOnAllRanks) {
  load_misbehaving();
  (void)load_plugin(star_file);
  const auto expect = [](const std::string& algorithm, ErrorCode code, const std::string& end) {
    const auto [got, what] = refusal_of(algorithm);
    EXPECT_EQ(got, code) << what;
    EXPECT_TRUE(what.ends_with(end)) << what;
  };
  expect("failing", ErrorCode::bad_input,
         "misbehaving.so\": failing, all_reduce on 3 ranks, in place: build failed with status 1: "
         "not in the mood");
  expect(
      "stray", ErrorCode::bad_input,
      "misbehaving.so\": stray, all_reduce on 3 ranks, in place: op 0: there is no rank 3: ranks "
      "are 0 to 2");
  expect("pairs", ErrorCode::unsupported, "pairs: needs an even number of ranks");
  expect("star:centre=3", ErrorCode::bad_input, "star:centre=3: centre must be a rank");
}

}  // namespace
}  // namespace ringside::tests
