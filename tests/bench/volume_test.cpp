// SPDX-License-Identifier: MIT
/// Counts, sizes and bandwidth factors against nccl-tests' own arithmetic, worked out by hand.
#include "ringside/bench/volume.hpp"

#include <gtest/gtest.h>

#include "ringside/base/error.hpp"

namespace ringside::bench {
namespace {

constexpr auto float32 = ElementType::float32;

struct Counted {
  Operation collective;
  std::uint64_t count, bytes;
};

TEST(Volume, TheSizeIsThatOfTheLongerBufferAndTheCountThatOfABlock) {
  // 1,000 bytes are 250 floats; a fourth of them are 62, rounded down to 60.
  for (const auto& [collective, count, bytes] : {
           Counted{Collective::all_reduce, 250, 1000},
           {Collective::broadcast, 250, 1000},
           {Collective::reduce, 250, 1000},
           {Collective::reduce_scatter, 60, 960},
           {Collective::all_gather, 60, 960},
           {Collective::gather, 60, 960},
           {Collective::scatter, 60, 960},
           {Collective::all_to_all, 60, 960},
           {Collective::barrier, 0, 0},
           {Operation::sendrecv(), 250, 1000},
       }) {
    const auto volume = volume_of(collective, 4, float32, 1000, false);
    EXPECT_EQ(volume.count, count) << to_string(collective);
    EXPECT_EQ(volume.bytes, bytes) << to_string(collective);
  }
}

TEST(Volume, BlocksAreRoundedDownTo16BytesUnlessCountsAreExact) {
  const auto all_gather = Collective::all_gather;
  EXPECT_EQ(volume_of(all_gather, 2, float32, 8, false).count, 0U);
  EXPECT_EQ(volume_of(all_gather, 2, float32, 8, false).bytes, 0U);
  EXPECT_EQ(volume_of(all_gather, 2, float32, 8, true).count, 1U);
  EXPECT_EQ(volume_of(all_gather, 2, float32, 8, true).bytes, 8U);
  EXPECT_EQ(volume_of(all_gather, 3, ElementType::int8, 100, false).count, 32U);
  EXPECT_EQ(volume_of(all_gather, 3, ElementType::int8, 100, true).bytes, 99U);
  EXPECT_EQ(volume_of(all_gather, 2, ElementType::float64, 80, false).count, 4U);
  EXPECT_EQ(volume_of(Collective::all_reduce, 2, float32, 7, false).bytes, 4U);
}

TEST(Volume, EveryTypeDividesTheAlignment) {
  for (const auto type : all_element_types) {
    const auto volume = volume_of(Collective::scatter, 2, type, 1024, false);
    EXPECT_EQ(volume.bytes, 1024U) << to_string(type);
    EXPECT_EQ(volume.count * size_of(type), 512U) << to_string(type);
  }
}

TEST(Volume, BusFactorsAreThoseOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_reduce, 4), 1.5);
  for (const auto collective : {Collective::reduce_scatter, Collective::all_gather,
                                Collective::all_to_all, Collective::gather, Collective::scatter})
    EXPECT_DOUBLE_EQ(bus_factor(collective, 4), 0.75) << to_string(collective);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::broadcast, 4), 1.0);
  EXPECT_DOUBLE_EQ(bus_factor(Operation::sendrecv(), 4), 1.0);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::reduce, 4), 1.0);
}

TEST(Volume, ColumnsOfCollectivesWithoutOperatorOrRoot) {
  EXPECT_EQ(redop_name(Collective::reduce_scatter, ReduceOp::premul_sum), "mulsum");
  EXPECT_EQ(redop_name(Collective::broadcast, ReduceOp::sum), "none");
  EXPECT_EQ(root_column(Collective::gather, 3), 3);
  EXPECT_EQ(root_column(Collective::all_gather, 0), -1);
  EXPECT_EQ(nccl_tests_name(Operation(Collective::all_to_all)), "alltoall");
  EXPECT_EQ(redop_name(Operation::sendrecv(), ReduceOp::sum), "none");
  EXPECT_EQ(root_column(Operation::sendrecv(), 0), -1);
}

TEST(Operation, EveryNameIsReadAndSendrecvIsNoCollective) {
  for (const auto operation : all_operations()) {
    EXPECT_EQ(parse_operation(to_string(operation)), operation);
    EXPECT_EQ(parse_operation(nccl_tests_name(operation)), operation);
  }
  EXPECT_EQ(parse_operation("sendrevc"), std::nullopt);
  EXPECT_THROW((void)static_cast<Collective>(Operation::sendrecv()), Error);
  EXPECT_FALSE(Operation::sendrecv() == Collective::all_reduce);
}

}  // namespace
}  // namespace ringside::bench
