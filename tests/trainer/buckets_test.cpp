// SPDX-License-Identifier: MIT
/// Buckets: every gradient is in one, last tensors first, in runs of memory of the size asked for.
#include "ringside/trainer/buckets.hpp"

#include <gtest/gtest.h>

#include "ringside/trainer/models.hpp"

namespace ringside::tests {
namespace {

using trainer::Bucket;
using trainer::make_buckets;
using trainer::Model;
using trainer::TensorLayout;

const TensorLayout& lenet() {
  static const TensorLayout layout = trainer::tensors_of({.model = Model::lenet}).parameters;
  return layout;
}

TEST(Buckets, HoldEveryTensorOnceFromTheLastToTheFirst) {
  for (const std::uint64_t bytes : {1ULL, 1000ULL, 64'000ULL, 500'000ULL, 1ULL << 40U}) {
    std::size_t next = lenet().size();
    for (const Bucket& bucket : make_buckets(lenet(), ElementType::float32, {bytes, 0})) {
      EXPECT_EQ(bucket.last + 1, next);
      next = bucket.first;
      EXPECT_EQ(bucket.extent.offset, lenet().extent(bucket.first).offset);
      EXPECT_EQ(bucket.extent.offset + bucket.extent.length,
                lenet().extent(bucket.last).offset + lenet().extent(bucket.last).length);
    }
    EXPECT_EQ(next, 0U) << bytes;
  }
}

TEST(Buckets, CloseWhenTheyHaveTheBytesAskedFor) {
  EXPECT_EQ(make_buckets(lenet(), ElementType::float32, {1, 0}).size(), lenet().size());
  EXPECT_EQ(make_buckets(lenet(), ElementType::float32, {1ULL << 30U, 0}).size(), 1U);
  for (const Bucket& bucket : make_buckets(lenet(), ElementType::float32, {50'000, 0}))
    EXPECT_TRUE(bucket.first == 0 || bucket.extent.length * 4 >= 50'000);
}

TEST(Buckets, OfLenetByDefaultAreItsDenseLayersAndItsConvolutions) {
  const auto buckets = make_buckets(lenet(), ElementType::float32, {});
  ASSERT_EQ(buckets.size(), 3U);
  EXPECT_EQ(lenet()[buckets[0].first].name, "fc1.weight");
  EXPECT_EQ(lenet()[buckets[1].first].name, "conv2.weight");
}

TEST(Buckets, TheFirstToTravelMayBeSmaller) {
  const auto buckets = make_buckets(lenet(), ElementType::float32, {1ULL << 30U, 1});
  ASSERT_EQ(buckets.size(), 2U);
  EXPECT_EQ(buckets[0].tensors(), 1U);
}

TEST(Runs, AreTheWholeMemoryOnceFromItsEndToItsBeginning) {
  for (const trainer::BucketSizes& sizes :
       {trainer::BucketSizes{}, {1, 0}, {400, 0}, {400, 100}, {1ULL << 40U, 0}}) {
    std::size_t next = 1000;
    for (const Extent& run : trainer::make_runs(1000, ElementType::float32, sizes)) {
      EXPECT_EQ(run.offset + run.length, next);
      next = run.offset;
    }
    EXPECT_EQ(next, 0U);
  }
}

TEST(Runs, HaveTheBytesAskedFor) {
  const auto runs = trainer::make_runs(1000, ElementType::float32, {400, 100});
  ASSERT_EQ(runs.size(), 11U);
  EXPECT_EQ(runs[0].length, 25U);
  EXPECT_EQ(runs[1].length, 100U);
  EXPECT_EQ(runs.back().length, 75U);
  EXPECT_EQ(trainer::make_runs(3200, ElementType::float32, {}).size(), 32U);
}

}  // namespace
}  // namespace ringside::tests
