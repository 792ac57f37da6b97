// SPDX-License-Identifier: MIT
/// The table of faults on ranks that are threads.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/tests/collectives/host/works.hpp"
#include "ringside/tests/faults/checksum_table.hpp"
#include "ringside/tests/faults/fault_table.hpp"
#include "ringside/tests/support/outcome.hpp"

namespace ringside::tests {
namespace {

FaultyExecutor threads() {
  return {"host", [](int ranks) { return World::threads(ranks); },
          [](const UniformCall& call, int rank, int ranks) {
            return std::make_unique<CallMemory>(call, rank, ranks);
          }};
}

TEST(Faults, AreToldToEveryRankOfThreads) { fmt::print("{}", run_fault_table(threads())); }

TEST(Faults, ACorruptedChunkIsFoundByEveryRankOfThreads) {
  fmt::print("{}", run_checksum_table(threads(), spoil_next_chunk));
}

// --- a rank that stalls inside an op -------------------------------------------------------------

/// A page that stops who touches it first for a while.
class StallingPage {
 public:
  static constexpr std::size_t bytes = 65536;
  static constexpr std::chrono::milliseconds stall{400};

  StallingPage() : at_(::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (at_ == MAP_FAILED) throw std::bad_alloc();
    page = at_;
    struct sigaction action {};
    action.sa_handler = &let_go;
    ::sigaction(SIGSEGV, &action, &before_);
  }
  StallingPage(const StallingPage&) = delete;
  StallingPage& operator=(const StallingPage&) = delete;
  ~StallingPage() {
    ::sigaction(SIGSEGV, &before_, nullptr);
    ::munmap(at_, bytes);
  }
  [[nodiscard]] std::int32_t* data() const { return static_cast<std::int32_t*>(at_); }

 private:
  static void let_go(int) {
    ::usleep(static_cast<useconds_t>(stall.count()) * 1000);
    if (::mprotect(page, bytes, PROT_READ | PROT_WRITE) != 0) ::_exit(3);
  }
  static inline void* page = nullptr;
  void* at_;
  struct sigaction before_ {};
};

TEST(Faults, ARankThatStallsInsideAnOpIsNamedWithTheOp) {
  constexpr int ranks = 3, culprit = 1;
  constexpr std::size_t elements = StallingPage::bytes / sizeof(std::int32_t);
  const StallingPage page;
  World::threads(ranks).run([&](Communicator& comm) {
    std::vector<std::int32_t> input(elements, 1), output(elements);
    std::int32_t* const to = comm.rank() == culprit ? page.data() : output.data();
    const Stopwatch watch;
    const auto told = outcome_of([&] {
      comm.all_reduce(input.data(), to, elements, ElementType::int32, ReduceOp::sum,
                      {.algorithm = "one_shot", .timeout = std::chrono::milliseconds(100)});
    });
    EXPECT_LT(watch.elapsed(), Seconds{10});
    if (comm.rank() == culprit) return;  // its ops are done when it learns that the others left
    EXPECT_EQ(told.code, ErrorCode::timeout) << told.what;
    EXPECT_TRUE(told.says("rank 1 has not finished op")) << told.what;
    EXPECT_EQ(told.peer, culprit);
  });
}

// --- two worlds ----------------------------------------------------------------------------------

TEST(Faults, OfOneWorldLeaveAnotherAlone) {
  std::jthread other([] {
    World::threads(3).run([](Communicator& comm) {
      for (int i = 0; i < 20; ++i) {
        expect_works(comm);
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    });
  });
  World::threads(3).run([](Communicator& comm) {
    if (comm.rank() == 1) return;
    std::vector<float> data(1000);
    const auto told = outcome_of([&] { comm.all_reduce(data); });
    EXPECT_TRUE(told.says("rank 1")) << told.what;
  });
}

}  // namespace
}  // namespace ringside::tests
