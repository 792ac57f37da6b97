// SPDX-License-Identifier: MIT
/// What the twin adds to a diagnosis: prices of findings, what was measured beside what is
/// predicted, advice for training.
#include <gtest/gtest.h>

#include <cmath>

#include "ringside/collectives/selector/measured_and_predicted.hpp"
#include "ringside/collectives/selector/mend_prices.hpp"
#include "ringside/collectives/selector/training_advice.hpp"
#include "ringside/topology/diagnose/evidence.hpp"
#include "ringside/topology/model/link_model.hpp"
#include "ringside/topology/presets/presets.hpp"

namespace ringside::tests {
namespace {

constexpr double bytes = 45 << 20;

Diagnosis finding(Mend mend, Certainty certainty = Certainty::certain) {
  Diagnosis found;
  found.certainty = certainty;
  found.mend = std::move(mend);
  return found;
}

MachineDescription description_of(const std::string& preset) {
  auto topology = make_preset(preset).value();
  auto model = *link_model_for(topology).model;
  return {std::move(topology), std::move(model), {}};
}

TEST(MendPrices, AWiderSlotIsPricedAgainstTheMachineAsItIs) {
  const auto topology = make_preset("4gpu-pcie4-x4-slot").value();
  const std::vector<Diagnosis> found = {finding({.mended = {"slot:GPU3=x16"}})};
  const auto prices = price_mends(topology, found, bytes);
  ASSERT_TRUE(prices.each.at(0));
  EXPECT_GT(prices.each[0]->slowdown(), 2);
  EXPECT_EQ(prices.each[0]->gpus, 4);
  EXPECT_FALSE(prices.together) << "one finding is not a sum";
}

TEST(MendPrices, WhatMakesTheMachineAsItIsIsTakenAwayByTheCure) {
  const auto topology = make_preset("4gpu-pcie4-two-switches").value();
  const std::vector<Diagnosis> found = {finding({.as_is = {"p2p=off"}}),
                                        finding({.as_is = {"acs=on"}}, Certainty::possible)};
  const auto prices = price_mends(topology, found, bytes);
  ASSERT_TRUE(prices.each.at(0));
  EXPECT_GT(prices.each[0]->as_is, prices.each[0]->mended);
  const auto as_found = machine_as_found(topology, found);
  EXPECT_EQ(as_found.settings.peer_access, false);
  EXPECT_EQ(machine_mended(topology, found).settings.peer_access, std::nullopt);
}

TEST(MendPrices, ACallOnSomeGpusIsPricedOnThese) {
  const auto topology = make_preset("4gpu-nvlink-pairs").value();
  const std::vector<Diagnosis> found = {finding({.gpus = {0, 1, 2}, .other_algorithm = true})};
  const auto prices = price_mends(topology, found, bytes);
  ASSERT_TRUE(prices.each.at(0));
  EXPECT_EQ(prices.each[0]->gpus, 3);
  EXPECT_FALSE(prices.each[0]->mended_by.empty());
}

TEST(MendPrices, FindingsAreRankedByCertaintyHarmAndCost) {
  std::vector<Diagnosis> found(4);
  for (auto& each : found) each.certainty = Certainty::certain;
  found[0].id = "cheap";
  found[1].id = "dear";
  found[2].id = "possible";
  found[2].certainty = Certainty::possible;
  found[3].id = "hang";
  found[3].harm = Harm::hang;
  MendPrices prices;
  prices.each = {MendPrice{.as_is = 1, .mended = 0.9}, MendPrice{.as_is = 3, .mended = 1},
                 MendPrice{.as_is = 9, .mended = 1}, std::nullopt};
  rank_by_cost(found, prices);
  EXPECT_EQ(found[0].id, "hang");
  EXPECT_EQ(found[1].id, "dear");
  EXPECT_EQ(found[2].id, "cheap");
  EXPECT_EQ(found[3].id, "possible");
  EXPECT_FALSE(prices.each[0]);
  EXPECT_EQ(prices.each[1]->as_is, 3);
}

TEST(MendPrices, ACureWithoutGainHasNoPriceAndMakesNothingSlow) {
  std::vector<Diagnosis> found(3);
  MendPrices prices;
  prices.each = {MendPrice{.as_is = 1, .mended = 1}, MendPrice{.as_is = 1, .mended = 2},
                 MendPrice{.as_is = 1, .mended = 1}};
  prices.each[2]->as_is_measured = 3;
  drop_without_gain(found, prices);
  EXPECT_FALSE(prices.each[0]);
  EXPECT_FALSE(prices.each[1]) << "a cure that harms";
  EXPECT_EQ(found[0].harm, Harm::risk);
  ASSERT_TRUE(prices.each[2]) << "slower than predicted, as measured";
  EXPECT_EQ(found[2].harm, Harm::slow);
}

std::vector<Reading> table_of(std::uint64_t size, double algbw, int ranks) {
  CollectiveRows table;
  table.ranks = ranks;
  table.collective = "all_reduce";
  CollectiveRow row;
  row.size = size;
  row.out_of_place = CollectiveTiming{};
  row.out_of_place->algbw = algbw;
  table.rows = {row};
  std::vector<Reading> readings(1);
  readings[0].facts = std::move(table);
  return readings;
}

TEST(MeasuredAllReduce, GoesAtTheRateOfTheNearestRowOfAsManyRanks) {
  const auto readings = table_of(64 << 20, 2.0, 4);
  const auto seconds = measured_all_reduce_seconds(readings, 4, bytes);
  ASSERT_TRUE(seconds);
  EXPECT_DOUBLE_EQ(*seconds, bytes / 2.0e9);
  EXPECT_FALSE(measured_all_reduce_seconds(readings, 8, bytes));
  EXPECT_FALSE(measured_all_reduce_seconds(table_of(1 << 20, 2.0, 4), 4, bytes));
  EXPECT_FALSE(measured_all_reduce_seconds(readings, 4, 1 << 20)) << "small messages are slower";
  EXPECT_DOUBLE_EQ(measured_all_reduce_seconds(readings, 4, 2e9).value(), 1.0)
      << "larger ones are not";
}

TEST(CompareMeasured, AFigureThatIsHalfOfThePredictionIsHalf) {
  const auto machine = description_of("4gpu-pcie4-one-root");
  Measurements measured;
  const auto copy = [](double value) {
    return PairMeasurement{.from = 0, .to = 1, .peer_access = true, .value = value, .source = {}};
  };
  measured.pairs = {copy(20)};
  const auto full = compare_measured(machine, measured, {});
  ASSERT_EQ(full.size(), 1U);
  measured.pairs = {copy(10)};
  const auto half = compare_measured(machine, measured, {});
  ASSERT_EQ(half.size(), 1U);
  EXPECT_DOUBLE_EQ(half[0].predicted, full[0].predicted);
  EXPECT_DOUBLE_EQ(2 * half[0].ratio(), full[0].ratio());
  EXPECT_FALSE(worst_of({}));
  EXPECT_FALSE(covers(full, 4)) << "one pair of six";
  EXPECT_TRUE(covers(full, 2));
  EXPECT_FALSE(why_not_compared(machine, {}, {}).empty());
}

/// t <= 0.1 (t + k s)
TEST(TrainingAdvice, AccumulatesAsManyStepsAsBringItUnderATenth) {
  const auto machine = description_of("4gpu-pcie4-one-root");
  const TrainedModel model{.parameters = 350e6, .step_seconds = 0.25};
  const auto advice = advise(machine, bytes, model);
  ASSERT_EQ(advice.gradients.size(), 2U);
  for (const auto& cost : advice.gradients) {
    const double with = cost.seconds / (cost.seconds + cost.accumulation * model.step_seconds);
    EXPECT_LE(with, tolerable_share);
    if (cost.accumulation > 1) {
      const double fewer = cost.accumulation - 1;
      EXPECT_GT(cost.seconds / (cost.seconds + fewer * model.step_seconds), tolerable_share);
    }
    EXPECT_DOUBLE_EQ(cost.share, cost.seconds / (cost.seconds + model.step_seconds));
  }
  const auto measured = at_measured_rates(advice.gradients, model, table_of(64 << 20, 1.4, 4), 4);
  EXPECT_TRUE(measured[0].measured);
  EXPECT_DOUBLE_EQ(measured[0].seconds, 1.0);  // 350e6 x 4 bytes
  EXPECT_EQ(measured[0].accumulation, 36);     // 9 x 1 s / 0.25 s
  EXPECT_NEAR(advice.gradients[1].seconds / advice.gradients[0].seconds, 0.5, 0.05);
  EXPECT_FALSE(advice.choice.spec.empty());
}

}  // namespace
}  // namespace ringside::tests
