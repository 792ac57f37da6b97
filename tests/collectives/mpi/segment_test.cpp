// SPDX-License-Identifier: MIT
/// Memory that processes share, within one process and with a child.
#include "ringside/collectives/executors/mpi/segment.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/tests/support/sanitizers.hpp"

namespace ringside::mpi {
namespace {

constexpr std::size_t megabyte = 1 << 20;
/// The thread sanitizer's shadow leaves less of the address space.
constexpr std::size_t far_beyond_memory = std::size_t{1} << (tests::thread_sanitizer ? 36 : 39);

std::shared_ptr<Arena> arena_of(std::size_t bytes) {
  return std::make_shared<Arena>(Segment::create(bytes));
}

TEST(Segment, WhatOneMappingHoldsTheOtherDoes) {
  const Segment own = Segment::create(megabyte);
  const Segment other = Segment::attach(::getpid(), own.descriptor(), megabyte);
  EXPECT_NE(own.data(), other.data());
  own.data()[megabyte - 1] = std::byte{7};
  EXPECT_EQ(other.data()[megabyte - 1], std::byte{7});
  EXPECT_TRUE(own.contains(own.data() + megabyte - 1));
  EXPECT_FALSE(own.contains(own.data() + megabyte));
}

TEST(Segment, OutlivesTheProcessThatMadeItAndIsGoneWithTheLast) {
  int ready[2], leave[2];
  ASSERT_EQ(::pipe(ready) | ::pipe(leave), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const Segment segment = Segment::create(megabyte);
    segment.data()[5] = std::byte{42};
    const int descriptor = segment.descriptor();
    (void)!::write(ready[1], &descriptor, sizeof(descriptor));
    char end = 0;
    (void)!::read(leave[0], &end, 1);
    ::_exit(0);
  }
  int descriptor = -1;
  ASSERT_EQ(::read(ready[0], &descriptor, sizeof(descriptor)),
            static_cast<ssize_t>(sizeof(descriptor)));
  const Segment segment = Segment::attach(child, descriptor, megabyte);
  ASSERT_EQ(::write(leave[1], "x", 1), 1);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(segment.data()[5], std::byte{42});
  EXPECT_THROW((void)Segment::attach(child, descriptor, megabyte), Error);
}

TEST(Segment, AReserveFarBeyondMemoryTakesNone) {
  const std::size_t bytes = far_beyond_memory;
  const auto arena = arena_of(2 * bytes);
  const auto memory = Arena::allocate(arena, bytes);
  memory.get()[bytes - 1] = std::byte{1};
}

TEST(Arena, WhatIsGivenBackIsDealtOutAgainAndReadsAsZero) {
  const auto arena = arena_of(4 * megabyte);
  for (int round = 0; round < 5; ++round) {
    auto a = Arena::allocate(arena, megabyte);
    auto b = Arena::allocate(arena, 2 * megabyte - 100);
    auto c = Arena::allocate(arena, megabyte);
    for (const auto* memory : {&a, &b, &c}) {
      EXPECT_EQ((*memory).get()[100], std::byte{0});
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->get()) % 4096, 0u);
      std::memset(memory->get(), 1, megabyte);
    }
    EXPECT_THROW((void)Arena::allocate(arena, 1), Error);
    b.reset();
    a.reset();  // adjoins b: together they are one piece of 3 MB
    EXPECT_NO_THROW((void)Arena::allocate(arena, 3 * megabyte));
  }
}

TEST(Arena, NothingIsClearedOnceItIsClosed) {
  const auto arena = arena_of(megabyte);
  auto memory = Arena::allocate(arena, 100);
  std::byte* const at = memory.get();
  *at = std::byte{3};
  arena->close();
  memory.reset();
  EXPECT_EQ(*at, std::byte{3});
}

}  // namespace
}  // namespace ringside::mpi
