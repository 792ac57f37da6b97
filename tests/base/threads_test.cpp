// SPDX-License-Identifier: MIT
/// Threads and clock: affinity, and that sleeping on a word can neither hang nor miss a change.
#include "ringside/base/threads.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <new>
#include <thread>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/base/error.hpp"

namespace ringside {
namespace {

constexpr Seconds long_enough(60);  // a wait that ends by this has hung

TEST(Threads, AllowedCpusAreAscendingAndCounted) {
  const auto cpus = allowed_cpus();
  ASSERT_FALSE(cpus.empty());
  EXPECT_TRUE(std::ranges::is_sorted(cpus));
  EXPECT_EQ(allowed_cpu_count(), static_cast<int>(cpus.size()));
}

TEST(Threads, PinningLeavesExactlyThatCpu) {
  const int last = allowed_cpus().back();
  std::vector<int> seen;
  std::thread([&] {
    pin_current_thread(last);
    seen = allowed_cpus();
  }).join();
  EXPECT_EQ(seen, std::vector{last});
}

TEST(Threads, PinningToAnAbsentCpuIsAnError) {
  EXPECT_THROW(pin_current_thread(-1), Error);
  EXPECT_THROW(pin_current_thread(100'000), Error);
  EXPECT_THROW(pin_current_thread(1 << 30), Error);
}

TEST(Threads, NamesAreCutNotRefused) {
  std::thread([] {
    name_current_thread("a name longer than fifteen bytes");
    char name[16] = {};
    ASSERT_EQ(pthread_getname_np(pthread_self(), name, sizeof name), 0);
    EXPECT_STREQ(name, "a name longer t");
  }).join();
}

TEST(Futex, ReturnsAtOnceWhenTheWordHasChanged) {
  const std::atomic<std::uint32_t> word{2};
  EXPECT_EQ(futex_wait(word, 1, long_enough), FutexResult::changed);
}

TEST(Futex, KeepsTheLimit) {
  const std::atomic<std::uint32_t> word{1};
  const Stopwatch watch;
  while (futex_wait(word, 1, Seconds(0.02)) != FutexResult::timed_out) {
  }
  EXPECT_GE(watch.elapsed(), Seconds(0.02));
  EXPECT_EQ(futex_wait(word, 1, Seconds(-1)), FutexResult::timed_out);
  EXPECT_EQ(futex_wait(word, 1, Seconds(std::nan(""))), FutexResult::timed_out);
}

TEST(Futex, WakesASleeper) {
  std::atomic<std::uint32_t> word{0};
  std::thread sleeper([&] {
    while (word.load(std::memory_order_acquire) == 0)
      EXPECT_NE(futex_wait(word, 0, long_enough), FutexResult::timed_out);
  });
  word.store(1, std::memory_order_release);
  futex_wake_all(word);
  sleeper.join();
}

TEST(Futex, WakeAllCountsThoseItWakes) {
  std::atomic<std::uint32_t> word{0};
  std::atomic<int> up{0};
  const auto sleep_until_woken = [&] {
    while (word.load() == 0) EXPECT_NE(futex_wait(word, 0, long_enough), FutexResult::timed_out);
    ++up;
  };
  std::thread first(sleep_until_woken);
  std::thread second(sleep_until_woken);
  // The word does not change, so whoever is woken goes back to sleep: each call finds a sleeper.
  const Stopwatch watch;
  int woken = 0;
  while (woken < 4 && watch.elapsed() < long_enough) {
    const int now_woken = futex_wake_all(word);
    EXPECT_LE(now_woken, 2);
    woken += now_woken;
    std::this_thread::yield();
  }
  EXPECT_GE(woken, 4);
  EXPECT_EQ(up.load(), 0);
  word = 1;
  futex_wake_all(word);
  first.join();
  second.join();
  EXPECT_EQ(futex_wake_all(word), 0);
}

TEST(Futex, ReachesAnotherProcessThroughSharedMemory) {
  void* page = ::mmap(nullptr, sizeof(std::atomic<std::uint32_t>), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  auto* word = new (page) std::atomic<std::uint32_t>(0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    while (word->load() == 0)
      if (futex_wait(*word, 0, long_enough, FutexScope::processes) == FutexResult::timed_out)
        ::_exit(1);
    ::_exit(0);
  }
  // Wait until it really sleeps (a wake is counted), then release it.
  const Stopwatch watch;
  while (futex_wake_all(*word, FutexScope::processes) == 0 && watch.elapsed() < long_enough)
    std::this_thread::yield();
  word->store(1);
  futex_wake_all(*word, FutexScope::processes);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  ::munmap(page, sizeof(std::atomic<std::uint32_t>));
}

TEST(Clock, NeverGoesBackAndStopwatchRestarts) {
  const Seconds before = now();
  Stopwatch watch;
  const Seconds first = watch.restart();
  EXPECT_GE(first, Seconds(0));
  EXPECT_GE(watch.elapsed(), Seconds(0));
  EXPECT_GE(now() - before, first);
}

}  // namespace
}  // namespace ringside
