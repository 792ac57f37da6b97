// SPDX-License-Identifier: MIT
/// Ranks that share cores and change them in the middle of a call. The system's answer to "which
/// core is this" is this file's, so that the change comes at the worst moment.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <thread>

#include "ringside/base/threads.hpp"
#include "ringside/collectives/world.hpp"

namespace {

using std::chrono::milliseconds;

constexpr int moving_call = 10;
thread_local int this_rank = -1, this_call = 0, seat = 0;

}  // namespace

extern "C" int sched_getcpu() noexcept {
  if (this_rank == 1 && this_call == moving_call) {
    std::this_thread::sleep_for(milliseconds(20));  // it has entered, and tells its core late
    seat = 0;
  }
  return seat;
}

namespace ringside::tests {
namespace {

TEST(Seat, ARankThatComesToTheCoreOfOneThatWaitsForItIsWaitedFor) {
  pin_current_thread(allowed_cpus().front());  // so that ranks outnumber cores on any machine
  World::threads(3).run([](Communicator& comm) {
    this_rank = comm.rank();
    seat = this_rank == 1 ? 1 : 0;
    for (this_call = 1; this_call <= moving_call + 1; ++this_call) {
      // Rank 0 waits for rank 2 while rank 1 moves; rank 1 comes last.
      if (this_call > moving_call && this_rank > 0)
        std::this_thread::sleep_for(milliseconds(this_rank == 2 ? 60 : 200));
      const std::int64_t own = this_call;
      std::int64_t sum = 0;
      comm.all_reduce(std::span(&own, 1), std::span(&sum, 1));
      ASSERT_EQ(sum, 3 * this_call) << "rank " << this_rank << ", call " << this_call;
    }
  });
}

}  // namespace
}  // namespace ringside::tests
