// SPDX-License-Identifier: MIT
/// Generator: order, laziness, lifetimes, exceptions, moves.
#include "ringside/base/generator.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <numeric>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace ringside {
namespace {

Generator<int> count(int n) {
  for (int i = 0; i < n; ++i) co_yield i;
}

static_assert(std::ranges::input_range<Generator<int>>);
static_assert(!std::is_copy_constructible_v<Generator<int>>);
static_assert(std::is_nothrow_move_constructible_v<Generator<int>>);
static_assert(std::is_same_v<decltype(*std::declval<Generator<int>&>().begin()), const int&>);

TEST(Generator, YieldsEveryItemInOrder) {
  std::vector<int> seen;
  for (int i : count(5)) seen.push_back(i);
  EXPECT_EQ(seen, (std::vector{0, 1, 2, 3, 4}));
}

TEST(Generator, EmptyStreamEndsAtOnce) {
  auto stream = count(0);
  EXPECT_TRUE(stream.begin() == stream.end());
  EXPECT_EQ(stream.next(), nullptr);
}

TEST(Generator, NextReturnsNullAtTheEndAndStaysThere) {
  auto stream = count(2);
  const int* item = stream.next();
  ASSERT_NE(item, nullptr);
  EXPECT_EQ(*item, 0);
  item = stream.next();
  ASSERT_NE(item, nullptr);
  EXPECT_EQ(*item, 1);
  for (int again = 0; again < 3; ++again) EXPECT_EQ(stream.next(), nullptr);
}

Generator<int> recording(std::vector<std::string>& log) {
  log.emplace_back("start");
  co_yield 1;
  log.emplace_back("resumed");
  co_yield 2;
  log.emplace_back("end");
}

TEST(Generator, RunsOnlyWhenPulled) {
  std::vector<std::string> log;
  auto stream = recording(log);
  EXPECT_TRUE(log.empty());
  stream.next();
  EXPECT_EQ(log, (std::vector<std::string>{"start"}));
  stream.next();
  EXPECT_EQ(log, (std::vector<std::string>{"start", "resumed"}));
  stream.next();
  EXPECT_EQ(log, (std::vector<std::string>{"start", "resumed", "end"}));
}

TEST(Generator, BeginOnAStartedStreamContinuesIt) {
  auto stream = count(4);
  stream.next();
  std::vector<int> rest;
  for (int i : stream) rest.push_back(i);
  EXPECT_EQ(rest, (std::vector{1, 2, 3}));
}

Generator<int> failing() {
  co_yield 7;
  throw std::runtime_error("producer failed");
}

TEST(Generator, ExceptionReachesTheConsumerOnceThenTheStreamIsAtItsEnd) {
  auto stream = failing();
  ASSERT_NE(stream.next(), nullptr);
  try {
    stream.next();
    FAIL() << "expected the producer's exception";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "producer failed");
  }
  EXPECT_EQ(stream.next(), nullptr);
}

Generator<int> failing_at_once(bool fail) {
  if (fail) throw std::logic_error("before the first item");
  co_yield 1;
}

TEST(Generator, ExceptionBeforeTheFirstItemComesFromThePullNotFromTheCall) {
  auto stream = failing_at_once(true);  // must not throw
  EXPECT_THROW((void)stream.begin(), std::logic_error);
}

/// A view into the producer's locals, as plan ops are.
struct View {
  int id;
  std::span<const int> items;
};

Generator<View> views() {
  std::array<int, 4> scratch{};
  for (int i = 0; i < 4; ++i) {
    std::iota(scratch.begin(), scratch.end(), i * 10);
    co_yield {.id = i, .items = std::span(scratch).first(static_cast<std::size_t>(i + 1))};
  }
}

TEST(Generator, AViewIntoTheProducersLocalsIsValidUntilTheNextPull) {
  int expected = 0;
  for (const View& view : views()) {
    EXPECT_EQ(view.id, expected);
    ASSERT_EQ(view.items.size(), static_cast<std::size_t>(expected + 1));
    EXPECT_EQ(view.items.back(), expected * 10 + expected);
    ++expected;
  }
  EXPECT_EQ(expected, 4);
}

/// Counts the living instances, so that a leaked or twice destroyed item shows.
struct Counted {
  static inline int alive = 0;
  explicit Counted(int v) : value(std::make_unique<int>(v)) { ++alive; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --alive; }
  std::unique_ptr<int> value;
};

Generator<Counted> counted(int n) {
  const Counted local(-1);
  for (int i = 0; i < n; ++i) co_yield Counted(i);
}

TEST(Generator, ItemsThatCannotBeCopiedAreDestroyedExactlyOnce) {
  int sum = 0;
  for (const Counted& item : counted(10)) {
    EXPECT_EQ(Counted::alive, 2);  // the local and the item
    sum += *item.value;
  }
  EXPECT_EQ(sum, 45);
  EXPECT_EQ(Counted::alive, 0);
}

TEST(Generator, AbandonedStreamDestroysTheProducersLocals) {
  {
    auto stream = counted(10);
    stream.next();
    EXPECT_EQ(Counted::alive, 2);
  }
  EXPECT_EQ(Counted::alive, 0);
}

TEST(Generator, MoveCarriesTheStreamAndLeavesAnEmptyOne) {
  auto first = count(3);
  first.next();
  auto second = std::move(first);
  EXPECT_EQ(first.next(), nullptr);  // NOLINT(bugprone-use-after-move): that is the contract
  ASSERT_NE(second.next(), nullptr);
  second = count(1);
  const int* item = second.next();
  ASSERT_NE(item, nullptr);
  EXPECT_EQ(*item, 0);
  EXPECT_EQ(second.next(), nullptr);
}

Generator<int> twice(int n) {
  for (int i : count(n)) co_yield i;
  for (int i : count(n)) co_yield i;
}

TEST(Generator, NestsByLooping) {
  std::vector<int> seen;
  for (int i : twice(2)) seen.push_back(i);
  EXPECT_EQ(seen, (std::vector{0, 1, 0, 1}));
}

#if !defined(__clang__) || __clang_major__ >= 16  // older ones cannot parse libstdc++'s views
TEST(Generator, WorksWithRangeAdaptors) {
  std::vector<int> seen;
  for (int i : count(10) | std::views::filter([](int i) { return i % 3 == 0; })) seen.push_back(i);
  EXPECT_EQ(seen, (std::vector{0, 3, 6, 9}));
}
#endif

Generator<std::string> strings() {
  co_yield "a literal";
  std::string long_enough(100, 'x');
  co_yield long_enough;
  co_yield long_enough;
}

TEST(Generator, ConvertsWhatIsYieldedAndDoesNotCopyLvalues) {
  auto stream = strings();
  EXPECT_EQ(*stream.next(), "a literal");
  const std::string* first = stream.next();
  const std::string* second = stream.next();
  EXPECT_EQ(first, second);  // both are the producer's own variable
  EXPECT_EQ(second->size(), 100U);
}

}  // namespace
}  // namespace ringside
