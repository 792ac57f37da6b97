// SPDX-License-Identifier: MIT
/// Error: what it carries survives being caught as a standard exception.
#include "ringside/base/error.hpp"

#include <gtest/gtest.h>

#include <exception>
#include <set>
#include <string>

namespace ringside {
namespace {

TEST(Error, CarriesCodeRankPeerAndStep) {
  try {
    throw Error(ErrorCode::timeout, "rank 2 has not entered").at_rank(1).with_peer(2).at_step(7);
  } catch (const std::exception& caught) {
    EXPECT_STREQ(caught.what(), "rank 2 has not entered");
    const auto* error = dynamic_cast<const Error*>(&caught);
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(error->code(), ErrorCode::timeout);
    EXPECT_EQ(error->rank(), 1);
    EXPECT_EQ(error->peer(), 2);
    EXPECT_EQ(error->step(), 7);
  }
}

TEST(Error, EveryCodeHasItsOwnName) {
  std::set<std::string> names;
  for (int code = 1; code <= 9; ++code) names.emplace(to_string(static_cast<ErrorCode>(code)));
  EXPECT_EQ(names.size(), 9U);
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_EQ(to_string(static_cast<ErrorCode>(0)), "unknown");
}

}  // namespace
}  // namespace ringside
