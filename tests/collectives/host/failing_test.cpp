// SPDX-License-Identifier: MIT
/// A communicator that fails in the middle of things: a call that throws has given its buffers
/// back, so that they may be overwritten and freed at once while other ranks are inside their ops;
/// a call that returns has the right result, whatever became of the others; and nobody is left
/// waiting.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/collectives/world.hpp"
#include "ringside/tests/collectives/host/uniform_call.hpp"
#include "ringside/tests/collectives/host/works.hpp"
#include "ringside/tests/support/elements.hpp"
#include "ringside/tests/support/outcome.hpp"

namespace ringside::tests {
namespace {

/// How a run comes to its end.
enum class End {
  abort_by_rank,
  abort_by_thread,
  short_limit,   // one rank waits for next to nothing
  short_limits,  // all do
  rank_returns,
  rank_throws,
};
constexpr int ends = 6;

/// A run's decisions, the same on all ranks.
struct Plot {
  std::uint64_t seed;

  [[nodiscard]] std::uint64_t random(std::uint64_t of) const { return mix(seed * 1000003 + of); }
  [[nodiscard]] int ranks() const { return 2 + static_cast<int>(random(1) % 4); }
  [[nodiscard]] End end() const { return static_cast<End>(seed % ends); }
  [[nodiscard]] int culprit() const {
    return static_cast<int>(random(2) % static_cast<std::uint64_t>(ranks()));
  }
  [[nodiscard]] std::uint64_t last_call() const { return random(3) % 12; }
  [[nodiscard]] std::chrono::microseconds moment() const {
    return std::chrono::microseconds(random(4) % 600);
  }

  [[nodiscard]] UniformCall call(std::uint64_t number) const {
    // Few shapes a run: each has to be proven.
    const std::uint64_t shape = random(100 + number) % 4;
    switch (random(200 + shape) % 9) {
      case 0:
        return {Collective::all_reduce, 6000, 0, "ring:slices=16,lanes=2", number};
      case 1:
        return {Collective::all_reduce, 20000, 0, "chain:slices=32", number};
      case 2:
        return {Collective::all_reduce, 30000, 0, "one_shot:transfer=push", number};
      case 3:
        return {Collective::all_gather, 3000, 0, "ring:slices=8", number};
      case 4:
        return {Collective::reduce_scatter, 3000, 0, "ring:slices=8,lanes=3", number};
      case 5:
        return {Collective::broadcast, 30000, culprit(), "chain:slices=16", number};
      case 6:
        return {Collective::all_to_all, 4000, 0, "pairwise", number};
      case 7:
        return {Collective::all_reduce, 2, 0, {}, number};  // travels in the call
      default:
        return {Collective::reduce, 20000, 0, "binomial:slices=4", number};
    }
  }
};

struct OutOfLuck : std::runtime_error {
  OutOfLuck() : std::runtime_error("out of luck") {}
};

/// What happened, over all runs: that each way of failing was met.
struct Tally {
  std::atomic<int> threw{0}, threw_inside_ops{0}, returned{0};
};

/// Makes the call. If it throws, its buffers are this rank's own from that moment.
void make_call(Communicator& comm, const Plot& plot, std::uint64_t number, Tally& tally) {
  const UniformCall call = plot.call(number);
  UniformBuffers buffers(call, comm.rank(), comm.size());
  CallOptions options{.algorithm = call.algorithm};
  const bool hurried = plot.end() == End::short_limits ||
                       (plot.end() == End::short_limit && comm.rank() == plot.culprit());
  if (hurried && number >= plot.last_call())
    options.timeout = std::chrono::nanoseconds(plot.random(5) % 60000);
  try {
    comm.submit(buffers.arguments(), options);
  } catch (const Error& error) {
    constexpr std::int32_t own = -77;
    buffers.overwrite(own);
    ++tally.threw;
    if (std::string_view(error.what()).find("has not finished op") != std::string_view::npos)
      ++tally.threw_inside_ops;
    for (int i = 0; i < 20; ++i) std::this_thread::yield();
    EXPECT_TRUE(buffers.still(own)) << "seed " << plot.seed << ": somebody wrote to them";
    throw;
  }
  ++tally.returned;
  EXPECT_TRUE(buffers.right()) << "seed " << plot.seed << ", call " << number << ", rank "
                               << comm.rank();
}

void act(Communicator& comm, const Plot& plot, Tally& tally) {
  std::jthread elsewhere;
  if (plot.end() == End::abort_by_thread && comm.rank() == plot.culprit())
    elsewhere = std::jthread([&] {
      std::this_thread::sleep_for(plot.moment());
      comm.abort("a thread had enough");
    });
  try {
    for (std::uint64_t number = 0; number < 400; ++number) {
      if (comm.rank() == plot.culprit() && number == plot.last_call()) {
        if (plot.end() == End::rank_returns) return;
        if (plot.end() == End::rank_throws) throw OutOfLuck();
        if (plot.end() == End::abort_by_rank) comm.abort("a rank had enough");
      }
      make_call(comm, plot, number, tally);
    }
  } catch (const Error&) {
    // From now on it only tells why.
    const auto later = outcome_of([&] { expect_works(comm); });
    EXPECT_EQ(later.code, ErrorCode::failed) << later.what;
  }
}

TEST(Failing, BuffersOfACallThatThrowsAreTheCallersOwn) {
  constexpr int least_runs = 12 * ends;
  constexpr Seconds enough{2.5};
  const Stopwatch watch;
  Tally tally;
  std::uint64_t seed = 0;
  for (; seed < least_runs || watch.elapsed() < enough; ++seed) {
    const Plot plot{seed};
    try {
      World::threads(plot.ranks()).run([&](Communicator& comm) { act(comm, plot, tally); });
    } catch (const OutOfLuck&) {
      EXPECT_EQ(plot.end(), End::rank_throws);
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(tally.threw, 0);
  EXPECT_GT(tally.returned, 0);
  RecordProperty("runs", static_cast<int>(seed));
  std::printf("failing: %d runs, %d calls threw (%d inside their ops), %d returned\n",
              static_cast<int>(seed), tally.threw.load(), tally.threw_inside_ops.load(),
              tally.returned.load());
}

}  // namespace
}  // namespace ringside::tests
