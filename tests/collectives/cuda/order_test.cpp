// SPDX-License-Identifier: MIT
/// What a stream need not wait for, because its order says so already.
#include "ringside/collectives/executors/cuda/order.hpp"

#include <gtest/gtest.h>

namespace ringside::tests {
namespace {

using cuda::Moment;
using cuda::needed_waits;
using cuda::StreamOrder;

TEST(StreamOrder, AStreamIsBehindItsOwnOperationsAndThoseItWaitedFor) {
  StreamOrder order;
  const Moment a = order.append(0);
  EXPECT_TRUE(order.is_behind(0, a.point));
  EXPECT_FALSE(order.is_behind(1, a.point));
  order.wait(1, a);
  const Moment b = order.append(1);
  order.wait(2, b);
  EXPECT_TRUE(order.is_behind(2, a.point)) << "by way of stream 1";
  const Moment later = order.append(0);
  EXPECT_FALSE(order.is_behind(2, later.point));
}

TEST(StreamOrder, AReplacedStreamKnowsNothingAndIsNotTakenForTheOldOne) {
  StreamOrder order;
  const Moment a = order.append(0);
  const Moment old = order.append(1);
  order.wait(1, a);
  order.replace(1);
  EXPECT_FALSE(order.is_behind(1, a.point));
  order.wait(2, old);
  const Moment fresh = order.append(1);
  EXPECT_FALSE(order.is_behind(2, fresh.point));
}

TEST(NeededWaits, LeavesOutWhatTheStreamIsBehindAndWhatAnotherImplies) {
  StreamOrder order;
  const Moment a = order.append(0);
  order.wait(1, a);
  const Moment b = order.append(1);
  const Moment c = order.append(2);
  EXPECT_EQ(needed_waits(order, 3, {&a, &b, &c}), (std::vector<const Moment*>{&b, &c}));
  EXPECT_EQ(needed_waits(order, 1, {&a, &b}), std::vector<const Moment*>{});
  const Moment same = a;
  EXPECT_EQ(needed_waits(order, 3, {&a, &same}).size(), 1u);
}

TEST(NeededWaits, WhatImpliesByALaterClockIsNotLeftOutForItsEarlierPoint) {
  // An event of stream 1 behind an operation of stream 0 stands for an earlier point of stream 1,
  // which stream 2's event covers; but that does not cover stream 0's.
  StreamOrder order;
  const Moment early = order.append(1);
  order.wait(2, early);
  const Moment two = order.append(2);
  const Moment zero = order.append(0);
  order.wait(1, zero);
  const Moment late = order.append(1);
  const Moment stands_for_early{early.point, late.clock};
  const auto needed = needed_waits(order, 3, {&two, &zero, &stands_for_early});
  for (const Moment* wait : needed) order.wait(3, *wait);
  for (const Moment* wanted : {&two, &zero, &early}) EXPECT_TRUE(order.is_behind(3, wanted->point));
}

}  // namespace
}  // namespace ringside::tests
