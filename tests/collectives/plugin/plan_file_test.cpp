// SPDX-License-Identifier: MIT
/// A plan file stands wherever a spec does: it runs its plan, once that is proven, for the request
/// that it is for, and for no other.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <functional>
#include <latch>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ringside/base/file.hpp"
#include "ringside/base/options.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/executors/host/signature.hpp"
#include "ringside/collectives/plan_io.hpp"
#include "ringside/collectives/plugin/plan_file.hpp"
#include "ringside/collectives/world.hpp"
#include "ringside/tests/support/outcome.hpp"

namespace ringside::tests {
namespace {

namespace fs = std::filesystem;

/// A folder of its own for a test, gone with it. Files are read once per process, so that no two
/// tests may use one path.
class PlanFile : public testing::Test {
 protected:
  PlanFile() { fs::create_directories(folder_); }
  ~PlanFile() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  std::string write(const std::string& name, const std::string& text) {
    std::string path = folder_ / name;
    write_file(path, text);
    return path;
  }
  std::string write(const std::string& name, const std::string& spec, const Request& request) {
    return write(name, plan_to_json(make_plan(spec, request)));
  }

  fs::path folder_ = fs::path(testing::TempDir()) /
                     fmt::format("plan_file_{}_{}", getpid(),
                                 testing::UnitTest::GetInstance()->current_test_info()->name());
};

/// Every rank calls with its rank + 1 in 37 elements and returns what all of them then are, or -1.
float sum_with(Communicator& comm, const std::string& algorithm) {
  const std::vector<float> in(37, static_cast<float>(comm.rank() + 1));
  std::vector<float> out(37);
  comm.all_reduce(std::span<const float>(in), std::span(out), ReduceOp::sum,
                  {.algorithm = algorithm});
  for (const float value : out)
    if (value != out.front()) return -1;
  return out.front();
}

TEST_F(PlanFile, IsThePlanOfItsPath) {
  for (const char* spec : {"ring:slices=4", "one_shot", "hierarchical:groups=0-1/2-3,slices=2"})
    for (const bool in_place : {false, true}) {
      const Request request{.ranks = 4, .in_place = in_place};
      const auto path =
          write(fmt::format("{}{}.json", std::string(spec, 4), in_place), spec, request);
      const Plan plan = make_plan(path, request);
      EXPECT_EQ(plan.hash(), make_plan(spec, request).hash());
      EXPECT_EQ(plan.spec(), path);
    }
}

TEST_F(PlanFile, RunsWhereACallNamesIt) {
  const auto path = write("x.json", "ring", {.ranks = 3});
  World::threads(3).run([&](Communicator& comm) {
    EXPECT_EQ(sum_with(comm, path), 6);
    EXPECT_EQ(comm.algorithm_for(Collective::all_reduce, 37 * 4, false, {.algorithm = path}), path);
  });
}

TEST_F(PlanFile, RunsWhereTheOptionNamesIt) {
  const auto path = write("x.json", "chain", {.ranks = 2});
  const ScopedOption algorithm("algorithm", path);
  World::threads(2).run([&](Communicator& comm) {
    EXPECT_EQ(sum_with(comm, ""), 3);
    EXPECT_EQ(comm.algorithm_for(Collective::all_reduce, 4, false), path);
  });
}

TEST_F(PlanFile, OfOneRankIsItsOwnPlan) {
  const auto path = write("x.json", "ring", {.ranks = 1});
  World::threads(1).run([&](Communicator& comm) { EXPECT_EQ(sum_with(comm, path), 1); });
}

TEST_F(PlanFile, IsRefusedForAnotherRequestWithWordsForBoth) {
  const auto path = write("x.json", "ring", {.ranks = 4});
  const auto from_root =
      write("y.json", "binomial",
            {.collective = Collective::broadcast, .ranks = 4, .root = 2, .in_place = true});
  const auto refusal = [](const std::string& file, const Request& request) {
    const auto [code, what] = error_of([&] { (void)make_plan(file, request); });
    EXPECT_EQ(code, ErrorCode::unsupported);
    return what;
  };
  const std::string head = fmt::format("\"{}\" is a plan for ", path);
  EXPECT_EQ(refusal(path, {.ranks = 3}), head +
                                             "all_reduce on 4 ranks, out of place, not for "
                                             "all_reduce on 3 ranks, out of place");
  EXPECT_EQ(refusal(path, {.ranks = 4, .in_place = true}),
            head + "all_reduce on 4 ranks, out of place, not for all_reduce on 4 ranks, in place");
  EXPECT_EQ(refusal(path, {.collective = Collective::all_gather, .ranks = 4}),
            head +
                "all_reduce on 4 ranks, out of place, not for all_gather on 4 ranks, out of "
                "place");
  EXPECT_EQ(refusal(from_root, {.collective = Collective::broadcast, .ranks = 4, .in_place = true}),
            fmt::format("\"{}\" is a plan for broadcast on 4 ranks from root 2, in place, not for "
                        "broadcast on 4 ranks from root 0, in place",
                        from_root));
  EXPECT_THROW((void)make_plan(path, {.ranks = 0}), Error);
}

TEST_F(PlanFile, WithARootServesBothPlacements) {
  // Only the root knows the placement: the other ranks have to be ready for either.
  const auto path =
      write("x.json", "binomial", {.collective = Collective::broadcast, .ranks = 3, .root = 1});
  World::threads(3).run([&](Communicator& comm) {
    for (const bool in_place : {false, true}) {
      const float mine = comm.rank() == 1 ? 7.0F : 1.0F;
      std::vector<float> in(100, mine), out(100, mine);
      float* to = in_place ? in.data() : out.data();
      comm.broadcast(in.data(), to, 100, ElementType::float32, 1, {.algorithm = path});
      EXPECT_EQ(std::vector<float>(to, to + 100), std::vector<float>(100, 7.0F));
    }
  });
}

TEST_F(PlanFile, ACallThatItIsNotForMovesNothingAndTheCommunicatorWorksOn) {
  const auto path = write("x.json", "ring", {.ranks = 2, .in_place = true});
  World::threads(2).run([&](Communicator& comm) {
    EXPECT_EQ(error_of([&] { (void)sum_with(comm, path); }).first, ErrorCode::unsupported);
    EXPECT_EQ(sum_with(comm, "ring"), 3);
  });
}

TEST_F(PlanFile, ThatIsWrongIsRefusedWithTheProversWords) {
  const std::string data = RINGSIDE_TEST_DATA "/plans/";
  World::threads(2).run([&](Communicator& comm) {
    const auto [code, what] = error_of([&] { (void)sum_with(comm, data + "pair_wrong.json"); });
    EXPECT_EQ(code, ErrorCode::bad_input);
    EXPECT_NE(what.find("pair_wrong.json' of 2 ranks is wrong: op 1"), std::string::npos) << what;
    EXPECT_NE(what.find("without the contribution of rank 0"), std::string::npos) << what;
    EXPECT_EQ(sum_with(comm, data + "pair_right.json"), 3);
  });
}

TEST_F(PlanFile, ThatCannotBeReadIsRefusedByName) {
  const std::string damaged = RINGSIDE_TEST_DATA "/plans/pair_damaged.json";
  const Request request{.ranks = 2};
  const auto [code, what] = error_of([&] { (void)make_plan(damaged, request); });
  EXPECT_EQ(code, ErrorCode::bad_input);
  EXPECT_NE(what.find("pair_damaged.json\""), std::string::npos) << what;
  const std::string path = folder_ / "absent.json";
  const auto absent = error_of([&] { (void)make_plan(path, request); });
  EXPECT_EQ(absent.first, ErrorCode::io);
  EXPECT_NE(absent.second.find("absent.json"), std::string::npos) << absent.second;
}

TEST_F(PlanFile, ThatCouldNotBeReadIsTriedAgain) {
  const std::string path = folder_ / "late.json";
  EXPECT_EQ(error_of([&] { (void)make_plan(path, {.ranks = 2}); }).first, ErrorCode::io);
  (void)write("late.json", "ring", {.ranks = 2});
  EXPECT_NO_THROW((void)make_plan(path, {.ranks = 2}));
}

TEST_F(PlanFile, IsReadOnce) {
  const Request request{.ranks = 2};
  const auto path = write("x.json", "ring", request);
  const auto hash = make_plan(path, request).hash();
  (void)write("x.json", "one_shot", request);
  EXPECT_EQ(make_plan(path, request).hash(), hash);
  World::threads(2).run([&](Communicator& comm) { EXPECT_EQ(sum_with(comm, path), 3); });
}

TEST_F(PlanFile, RanksThatReadItBeforeAndAfterAChangeAreTold) {
  // Two ways to write the path stand for two processes: each reads the file for itself.
  const auto path = write("x.json", "ring", {.ranks = 2});
  const std::string other = folder_ / "." / "x.json";
  std::latch first_has_read(1);
  World::threads(2).run([&](Communicator& comm) {
    if (comm.rank() == 0) {
      (void)make_plan(path, {.ranks = 2});
      (void)write("x.json", "naive", {.ranks = 2});
      first_has_read.count_down();
    } else {
      first_has_read.wait();
    }
    const auto [code, what] =
        error_of([&] { (void)sum_with(comm, comm.rank() == 0 ? path : other); });
    EXPECT_EQ(code, ErrorCode::mismatch);
    EXPECT_NE(what.find(fmt::format("they differ in algorithm ({} and {})", path, other)),
              std::string::npos)
        << what;
    EXPECT_EQ(sum_with(comm, "ring"), 3);
  });
}

TEST_F(PlanFile, OneFileByTwoPathsIsOnePlan) {
  const auto path = write("x.json", "ring", {.ranks = 2});
  const std::string other = folder_ / "." / "x.json";
  World::threads(2).run(
      [&](Communicator& comm) { EXPECT_EQ(sum_with(comm, comm.rank() == 0 ? path : other), 3); });
}

TEST(Signature, NamesThePlanWhereTheSameWordsMeanDifferentPlans) {
  const std::vector<std::size_t> blocks = {100};
  const CallOptions options;
  const Call call{.blocks = blocks, .options = &options};
  const auto mine = host::Signature::of(call, 2, 0x12, "./x.json");
  const auto theirs = host::Signature::of(call, 2, 0x34, "./x.json");
  EXPECT_NE(digest_of(mine), digest_of(theirs));
  EXPECT_EQ(differences(mine, theirs),
            "the plan that ./x.json names (hashes 0000000000000012 and 0000000000000034: another "
            "file, plug-in or version)");
}

TEST_F(PlanFile, WithMoreLanesOrSlicesThanAnExecutorHasIsNotRun) {
  for (const char* shape : {"\"lanes\": 17", "\"slices\": 5000"}) {
    std::string text = plan_to_json(make_plan("ring", {.ranks = 2}));
    const std::string_view field(shape, std::string_view(shape).find(':'));
    const auto at = text.find(fmt::format("{}: 1", field));
    ASSERT_NE(at, std::string::npos);
    text.replace(at, field.size() + 3, shape);
    const auto path = write(fmt::format("{}.json", shape[1]), text);
    World::threads(2).run([&](Communicator& comm) {
      const auto [code, what] = error_of([&] { (void)sum_with(comm, path); });
      EXPECT_EQ(code, ErrorCode::unsupported);
      EXPECT_NE(what.find("are run"), std::string::npos) << what;
    });
  }
}

TEST_F(PlanFile, IsNoAlgorithm) {
  const auto path = write("x.json", "ring", {.ranks = 2});
  EXPECT_THROW((void)find_algorithm(path), Error);
  EXPECT_THROW((void)make_plan("hierarchical:inner=" + path, {.ranks = 4}), Error);
  EXPECT_THROW(
      register_algorithm({.name = "./x.json",
                          .summary = "",
                          .make = [](const Request&, const Parameters&) { return Algorithm{}; }}),
      Error);
}

}  // namespace
}  // namespace ringside::tests
