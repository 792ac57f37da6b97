// SPDX-License-Identifier: MIT
/// The predicted choice: what it takes on machines whose answers are known, and what it says of it.
#include "ringside/collectives/selector/predicted_choice.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "preset_machines.hpp"
#include "ringside/base/error.hpp"
#include "ringside/collectives/selector/nccl_comparison.hpp"
#include "ringside/collectives/spec.hpp"

namespace ringside::tests {
namespace {

constexpr std::uint64_t kib = 1024, mib = 1024 * kib;

PredictedChoice choice_on(std::string_view preset, std::uint64_t bytes, bool others = false) {
  const Machine machine = machine_of(preset);
  Predictor::Settings settings;
  settings.others = others;
  return Predictor(machine, {}, settings).choose(all_reduce_of(machine, bytes));
}

int slices_of(const std::string& spec) {
  for (const auto& [name, value] : parse_spec(spec).parameters)
    if (name == "slices") return std::stoi(value);
  return 1;
}

TEST(PredictedChoice, IsHierarchicalWhereTheSocketLinkIsSlow) {
  const Machine machine = machine_of("8gpu-two-sockets");
  Predictor predictor(machine);
  const Question question = all_reduce_of(machine, 256 * mib);
  const PredictedChoice choice = predictor.choose(question);
  EXPECT_EQ(parse_spec(choice.spec).name, "hierarchical");
  EXPECT_GE(slices_of(choice.spec), 16);
  EXPECT_EQ(choice.limit, "numa0 - numa1");
  EXPECT_GE(predictor.predict(question, "ring"), 1.6 * choice.seconds);
  EXPECT_LE(choice.seconds, 1.1 * choice.bound_seconds);
}

TEST(PredictedChoice, BeatsTheRingOnFourGpusOfTwoSocketsToo) {
  const Machine machine = machine_of("4gpu-pcie4-two-sockets");
  Predictor predictor(machine);
  const Question question = all_reduce_of(machine, 256 * mib);
  const PredictedChoice choice = predictor.choose(question);
  EXPECT_GE(predictor.predict(question, "ring"), 1.4 * choice.seconds);
}

TEST(PredictedChoice, DependsOnTheLinks) {
  for (const std::uint64_t bytes : {mib, 64 * mib})
    EXPECT_NE(choice_on("dgx-h100", bytes).spec, choice_on("8gpu-two-sockets", bytes).spec);
}

TEST(PredictedChoice, OfSmallMessagesHasFewStepsAndNoSlices) {
  for (const auto* name : {"4gpu-pcie4-one-root", "dgx-h100"}) {
    const auto choice = choice_on(name, kib);
    EXPECT_EQ(choice.spec, "one_shot") << name;
    EXPECT_EQ(choice.limit, "issuing ops") << name;
  }
}

TEST(PredictedChoice, IsNeverBelowWhatNoPlanCanBeat) {
  for (const auto* name : {"4gpu-pcie4-x4-slot", "dgx1v", "p3.8xlarge"})
    for (const std::uint64_t bytes : {kib, mib, 64 * mib}) {
      const auto choice = choice_on(name, bytes);
      EXPECT_GT(choice.bound_seconds, 0);
      EXPECT_GE(choice.seconds, choice.bound_seconds * (1 - 1e-9)) << name << " " << choice.spec;
    }
}

TEST(PredictedChoice, IsAtMostALittleSlowerThanTheOthersThatItTellsOf) {
  const auto choice = choice_on("8gpu-two-switches", mib, true);
  const SearchSettings settings;
  ASSERT_FALSE(choice.others.empty());
  for (const Rejected& other : choice.others) {
    if (!other.seconds) continue;
    EXPECT_GE(*other.seconds * (1 + settings.tie), choice.seconds) << other.spec;
    EXPECT_GE(*other.seconds, other.at_least * (1 - 1e-9)) << other.spec;
    EXPECT_FALSE(other.why.empty());
  }
}

TEST(PredictedChoice, TellsTheBestOfEveryOtherAlgorithmOnce) {
  const auto choice = choice_on("4gpu-pcie4-two-sockets", mib, true);
  std::vector<std::string> names = {parse_spec(choice.spec).name};
  for (const Rejected& other : choice.others) names.push_back(parse_spec(other.spec).name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  EXPECT_EQ(std::count(names.begin(), names.end(), "ring"), 1);
}

TEST(PredictedChoice, IsTheSameWhateverWasAskedBefore) {
  const Machine machine = machine_of("4gpu-nvlink-pairs");
  Predictor used(machine);
  for (const std::uint64_t bytes : {64 * mib, kib, mib}) {
    const Question question = all_reduce_of(machine, bytes);
    const auto choice = used.choose(question);
    const auto fresh = Predictor(machine).choose(question);
    EXPECT_EQ(choice.spec, fresh.spec);
    EXPECT_EQ(choice.seconds, fresh.seconds);
    EXPECT_EQ(choice.why, fresh.why);
  }
}

TEST(PredictedChoice, IsOneForBothPlacementsWhereRanksMayDifferInTheirs) {
  const Machine machine = machine_of("4gpu-pcie4-two-sockets");
  Predictor predictor(machine);
  Question question{.request = {Collective::broadcast, 4, 1}, .bytes = mib};
  const auto out = predictor.choose(question);
  question.request.in_place = true;
  EXPECT_EQ(predictor.choose(question).spec, out.spec);
}

TEST(PredictedChoice, IsThereForEveryCollectiveAndAwkwardSizes) {
  const Machine machine = machine_of("4gpu-pcie4-x4-slot");
  Predictor predictor(machine);
  for (const auto collective : {Collective::all_reduce, Collective::reduce_scatter,
                                Collective::all_gather, Collective::broadcast, Collective::reduce,
                                Collective::gather, Collective::scatter, Collective::all_to_all})
    for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{4}, 1000 * kib + 12}) {
      const auto choice = predictor.choose({.request = {collective, 4}, .bytes = bytes});
      EXPECT_FALSE(choice.spec.empty()) << to_string(collective) << " " << bytes;
      EXPECT_GT(choice.seconds, 0);
    }
}

TEST(PredictedChoice, HoldsForRanksOnSomeGpusAndForSeveralOnOne) {
  const Machine machine = machine_of("8gpu-two-sockets");
  const Question four{.request = {Collective::all_reduce, 4}, .bytes = 64 * mib};
  const auto inside = Predictor(machine, {0, 1, 2, 3}).choose(four);
  const auto across = Predictor(machine, {0, 1, 4, 5}).choose(four);
  EXPECT_LT(inside.seconds, across.seconds);
  EXPECT_EQ(parse_spec(across.spec).name, "hierarchical");
  EXPECT_FALSE(Predictor(machine, {0, 0, 0, 0}).choose(four).spec.empty());
}

TEST(PredictedChoice, OfARankThatIsNowhereIsRefused) {
  const Machine machine = machine_of("4gpu-pcie4-one-root");
  EXPECT_THROW(Predictor(machine, {0, 4}), Error);
  EXPECT_THROW(
      (void)Predictor(machine).choose({.request = {Collective::all_reduce, 3}, .bytes = 4}), Error);
  EXPECT_THROW((void)Predictor(machine).choose({.request = {Collective::barrier, 4}, .bytes = 4}),
               Error);
}

TuningTable measured(const std::string& backend, int ranks) {
  return {.name = "test table",
          .origin = {},
          .rows = {{.backend = backend,
                    .collective = Collective::all_reduce,
                    .ranks = ranks,
                    .cores = 2,
                    .in_place = std::nullopt,
                    .ranges = {{0, "one_shot"}, {mib, "ring:slices=4"}},
                    .measured = {}}}};
}

TEST(PredictedChoice, GivesWayToWhatWasMeasured) {
  const Machine machine = machine_of("4gpu-pcie4-two-sockets");
  Predictor predictor(machine);
  const Question question = all_reduce_of(machine, 64 * mib);
  const auto table = measured("cuda", 4);
  const auto choice = predictor.choose(question, &table, {"cuda", 2});
  EXPECT_TRUE(choice.measured);
  EXPECT_EQ(choice.spec, "ring:slices=4");
  EXPECT_NE(choice.why.find("test table"), std::string::npos);
  EXPECT_EQ(choice.seconds, predictor.predict(question, "ring:slices=4"));
}

TEST(PredictedChoice, DoesNotGiveWayToOtherBackendsAndNumbersOfRanks) {
  const Machine machine = machine_of("4gpu-pcie4-two-sockets");
  Predictor predictor(machine);
  const Question question = all_reduce_of(machine, 64 * mib);
  for (const auto& table : {measured("host", 4), measured("cuda", 8)})
    EXPECT_FALSE(predictor.choose(question, &table, {"cuda", 2}).measured);
}

// --- NCCL ----------------------------------------------------------------------------------------

TEST(NcclComparison, SaysWhatTheLikeOfItWouldTakeHere) {
  const Machine machine = machine_of("8gpu-two-sockets");
  const Question question = all_reduce_of(machine, 256 * mib);
  const auto choice = Predictor(machine).choose(question);
  const auto nccl = compare_with_nccl(machine, all_gpus(machine), question, choice);
  ASSERT_TRUE(nccl);
  EXPECT_NE(nccl->pick.find("Ring/Simple"), std::string::npos) << nccl->pick;
  EXPECT_NE(nccl->difference.find("times as long"), std::string::npos) << nccl->difference;
}

TEST(NcclComparison, IsThereOnlyWhereNcclHasAChoice) {
  const Machine machine = machine_of("4gpu-pcie4-one-root");
  const Question gather{.request = {Collective::gather, 4}, .bytes = mib};
  const std::vector<int> gpus = all_gpus(machine), some = {0, 1};
  EXPECT_FALSE(compare_with_nccl(machine, gpus, gather, {}));
  const Question two{.request = {Collective::all_reduce, 2}, .bytes = mib};
  EXPECT_FALSE(compare_with_nccl(machine, some, two, {}));
}

}  // namespace
}  // namespace ringside::tests
