// SPDX-License-Identifier: MIT
/// The contributions of checked calls: exact ones are exact in whatever order they are combined,
/// and both kinds notice what they are there to notice.
#include "ringside/bench/inputs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "ringside/bench/checked_data.hpp"
#include "ringside/collectives/reduction/fold.hpp"

namespace ringside::bench {
namespace {

using Bytes = std::vector<std::byte>;

std::vector<Bytes> contributions(const ExactInputs& inputs, ElementType type, int ranks,
                                 std::size_t elements) {
  std::vector<Bytes> all;
  for (int rank = 0; rank < ranks; ++rank) {
    all.emplace_back(elements * size_of(type));
    inputs.fill(rank, all.back().data(), elements);
  }
  return all;
}

/// Folds one at a time, rounding to the type after every step, as a plan of pairwise ops does.
Bytes pairwise(const std::vector<Bytes>& inputs, const std::vector<int>& order, ElementType type,
               ReduceOp op, std::size_t elements) {
  const int ranks = static_cast<int>(inputs.size());
  Bytes value = inputs[static_cast<std::size_t>(order[0])];
  for (std::size_t i = 1; i < order.size(); ++i) {
    const std::byte* const sources[] = {value.data(),
                                        inputs[static_cast<std::size_t>(order[i])].data()};
    std::byte* const destination = value.data();
    reference_fold({.sources = sources,
                    .destinations = {&destination, 1},
                    .elements = elements,
                    .type = type,
                    .op = op,
                    .raw_mask = i == 1 ? 3U : 2U,
                    .scalar = checked_scalar,
                    .completes = i + 1 == order.size(),
                    .ranks = ranks});
  }
  return value;
}

TEST(ExactInputs, EveryOrderOfPairwiseRoundingGivesTheSameBits) {
  std::mt19937 random(7);
  constexpr std::size_t elements = 200;
  for (const auto type : all_element_types)
    for (const auto op : all_reduce_ops)
      for (const int ranks : {2, 3, 16, 100, 300}) {
        const ExactInputs inputs(type, op, ranks, 1);
        const auto all = contributions(inputs, type, ranks, elements);
        std::vector<int> order(static_cast<std::size_t>(ranks));
        std::iota(order.begin(), order.end(), 0);
        for (int trial = 0; trial < 2; ++trial) {
          const auto result = pairwise(all, order, type, op, elements);
          EXPECT_EQ(inputs.wrong(result.data(), elements), 0U)
              << to_string(type) << " " << to_string(op) << " of " << ranks;
          std::shuffle(order.begin(), order.end(), random);
        }
      }
}

TEST(ExactInputs, TheSumIsTheSumInDoublePrecision) {
  constexpr std::size_t elements = 20'000;  // more than two periods
  constexpr int ranks = 7;
  const ExactInputs inputs(ElementType::float32, ReduceOp::sum, ranks, 2);
  const auto all = contributions(inputs, ElementType::float32, ranks, elements);
  std::vector<float> sums(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    double sum = 0;
    for (const auto& row : all) {
      float value = 0;
      std::memcpy(&value, row.data() + i * sizeof value, sizeof value);
      sum += value;
    }
    sums[i] = static_cast<float>(sum);
    ASSERT_EQ(static_cast<double>(sums[i]), sum);
  }
  EXPECT_EQ(inputs.wrong(reinterpret_cast<const std::byte*>(sums.data()), elements), 0U);
}

TEST(ExactInputs, AMissingContributionIsNoticedForEveryTypeAndOperator) {
  constexpr std::size_t elements = 1000;
  for (const auto type : all_element_types)
    for (const auto op : all_reduce_ops)
      for (const int ranks : {2, 3, 8, 40})
        for (const int dropped : {0, ranks - 1}) {
          const ExactInputs inputs(type, op, ranks, 1);
          const auto all = contributions(inputs, type, ranks, elements);
          std::vector<int> order;
          for (int rank = 0; rank < ranks; ++rank)
            if (rank != dropped) order.push_back(rank);
          if (order.size() == 1) order.push_back(order[0]);  // one counted twice instead
          const auto result = pairwise(all, order, type, op, elements);
          EXPECT_GT(inputs.wrong(result.data(), elements), 0U)
              << to_string(type) << " " << to_string(op) << " of " << ranks << " without "
              << dropped;
        }
}

TEST(ExactInputs, WrongElementsAreCountedOneByOne) {
  constexpr std::size_t elements = 3 * ExactInputs::period + 11;
  const ExactInputs inputs(ElementType::int32, ReduceOp::sum, 2, 1);
  const auto all = contributions(inputs, ElementType::int32, 2, elements);
  auto result = pairwise(all, {0, 1}, ElementType::int32, ReduceOp::sum, elements);
  for (const std::size_t element : {std::size_t{0}, ExactInputs::period, elements - 1})
    result[4 * element] ^= std::byte{1};
  EXPECT_EQ(inputs.wrong(result.data(), elements), 3U);
  EXPECT_EQ(inputs.wrong(result.data(), 0), 0U);
}

TEST(ExactInputs, DataInTheWrongPlaceAreNoticed) {
  constexpr std::size_t elements = 1 << 16;
  const ExactInputs inputs(ElementType::float32, ReduceOp::sum, 4, 1);
  const auto all = contributions(inputs, ElementType::float32, 4, elements);
  auto result = pairwise(all, {0, 1, 2, 3}, ElementType::float32, ReduceOp::sum, elements);
  const auto middle = result.begin() + static_cast<std::ptrdiff_t>(result.size() / 2);
  std::swap_ranges(result.begin(), middle, middle);
  EXPECT_GT(inputs.wrong(result.data(), elements), elements * 9 / 10);
}

TEST(ExactInputs, ChangedInputsAreNoticed) {
  const ExactInputs inputs(ElementType::float16, ReduceOp::sum, 3, 1);
  auto row = contributions(inputs, ElementType::float16, 3, 9000)[1];
  EXPECT_EQ(inputs.changed(1, row.data(), 9000), 0U);
  EXPECT_GT(inputs.changed(2, row.data(), 9000), 0U);
  row[2 * 8999] ^= std::byte{1};
  EXPECT_EQ(inputs.changed(1, row.data(), 9000), 1U);
}

TEST(ExactInputs, AResultIsCheckedFromAnyElementOfTheMessage) {
  constexpr std::size_t elements = 3 * ExactInputs::period;
  const ExactInputs inputs(ElementType::int32, ReduceOp::sum, 2, 1);
  const auto result = pairwise(contributions(inputs, ElementType::int32, 2, elements), {0, 1},
                               ElementType::int32, ReduceOp::sum, elements);
  for (const std::size_t first : {1UL, 8190UL, 8191UL, 10'000UL}) {
    EXPECT_EQ(inputs.wrong(result.data() + 4 * first, elements - first, first), 0U);
    EXPECT_GT(inputs.wrong(result.data() + 4 * first, elements - first, first + 1), 1000U);
  }
}

TEST(CheckedData, OfCopiedBlocksEveryOneDiffersFromTheOthersAndFromTheNextSeed) {
  const Request request{
      .collective = Collective::all_to_all, .ranks = 3, .root = 0, .in_place = false};
  constexpr std::size_t count = 10'000;
  for (const auto type : all_element_types) {
    const CheckedData data(request, type, ReduceOp::sum, 1);
    const CheckedData next(request, type, ReduceOp::sum, 2);
    const std::size_t block = count * size_of(type);
    std::vector<Bytes> inputs;
    for (int rank = 0; rank < 3; ++rank) {
      inputs.emplace_back(3 * block);
      data.fill(rank, inputs.back().data(), count);
      EXPECT_EQ(data.changed(rank, inputs.back().data(), count), 0U);
      EXPECT_GT(next.changed(rank, inputs.back().data(), count), 2 * count);
    }
    // Rank 1 gets block 1 of everybody.
    Bytes output(3 * block);
    for (std::size_t from = 0; from < 3; ++from)
      std::memcpy(output.data() + from * block, inputs[from].data() + block, block);
    EXPECT_EQ(data.wrong(1, output.data(), count), 0U);
    EXPECT_GT(data.wrong(0, output.data(), count), 2 * count);
    output[5] ^= std::byte{1};
    EXPECT_EQ(data.wrong(1, output.data(), count), 1U);
  }
}

TEST(RoundingInputs, TheOrderOfFloatingPointAdditionsShows) {
  constexpr std::size_t elements = 1000;
  for (const auto type : all_element_types) {
    if (!is_floating(type)) continue;
    for (const auto op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::avg}) {
      std::vector<Bytes> all;
      for (int rank = 0; rank < 4; ++rank) {
        all.emplace_back(elements * size_of(type));
        fill_rounding(type, op, 3, rank, all.back().data(), elements);
      }
      const auto one = pairwise(all, {0, 1, 2, 3}, type, op, elements);
      const auto other = pairwise(all, {3, 1, 0, 2}, type, op, elements);
      EXPECT_GT(count_different(one.data(), other.data(), elements, size_of(type)), elements / 10)
          << to_string(type) << " " << to_string(op);
    }
  }
}

TEST(RoundingInputs, ContributionsAreFiniteAndNotZero) {
  std::vector<float> values(10'000);
  fill_rounding(ElementType::float32, ReduceOp::sum, 3, 5,
                reinterpret_cast<std::byte*>(values.data()), values.size());
  for (const float value : values) {
    EXPECT_TRUE(std::abs(value) >= 0.25F && std::abs(value) < 4.0F) << value;
  }
}

}  // namespace
}  // namespace ringside::bench
