// SPDX-License-Identifier: MIT
/// The table of faults on ranks that are processes.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/base/options.hpp"
#include "ringside/tests/collectives/host/works.hpp"

#include "ringside/tests/collectives/mpi/mpi_main.hpp"
#include "ringside/tests/faults/checksum_table.hpp"
#include "ringside/tests/faults/fault_table.hpp"
#include "ringside/tests/support/outcome.hpp"

namespace ringside::tests {
namespace {

FaultyExecutor processes() {
  return {"mpi", [](int) { return World::mpi(); },
          [](const UniformCall& call, int rank, int ranks) {
            return std::make_unique<CallMemory>(call, rank, ranks);
          }};
}

TEST(Faults, AreToldToEveryRankOfProcesses) {
  const std::string table = run_fault_table(processes());
  if (mpi_rank() == 0) fmt::print("{}", table);
}

TEST(Faults, ACorruptedChunkIsFoundByEveryRankOfProcesses) {
  const std::string table = run_checksum_table(processes(), spoil_next_chunk);
  if (mpi_rank() == 0) fmt::print("{}", table);
}

// --- an operation that fails ---------------------------------------------------------------------

/// Memory that nobody can touch.
class ForbiddenPages {
 public:
  explicit ForbiddenPages(std::size_t bytes)
      : bytes_(bytes), at_(::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (at_ == MAP_FAILED) throw std::bad_alloc();
  }
  ForbiddenPages(const ForbiddenPages&) = delete;
  ForbiddenPages& operator=(const ForbiddenPages&) = delete;
  ~ForbiddenPages() { ::munmap(at_, bytes_); }
  [[nodiscard]] float* data() const { return static_cast<float*>(at_); }

 private:
  std::size_t bytes_;
  void* at_;
};

TEST(Faults, MemoryOfARankThatCannotBeCopiedIsToldToEveryRankWithTheOp) {
  constexpr int culprit = 1;
  constexpr std::size_t elements = 100'000;
  if (option<std::string>("mpi_hosts").find(',') != std::string::npos)
    GTEST_SKIP() << "on several hosts the rank itself would touch it";
  const ScopedOption copies("mpi_copies", "single");
  std::optional<World> world;
  const auto refused = outcome_of([&] { world.emplace(World::mpi()); });
  if (refused.code == ErrorCode::unsupported) GTEST_SKIP() << refused.what;
  const ForbiddenPages forbidden(elements * sizeof(float));
  world->run([&](Communicator& comm) {
    std::vector<float> own(elements);
    float* const data = comm.rank() == culprit ? forbidden.data() : own.data();
    const Stopwatch watch;
    const auto told = outcome_of([&] {
      // The others fetch from the root, which touches nothing itself.
      comm.broadcast(data, data, elements, ElementType::float32, culprit,
                     {.algorithm = "linear", .timeout = std::chrono::seconds(10)});
    });
    EXPECT_LT(watch.elapsed(), Seconds{10});
    EXPECT_TRUE(told.code == ErrorCode::io || told.code == ErrorCode::failed) << told.what;
    EXPECT_TRUE(told.says("cannot copy the memory of rank 1")) << told.what;
    EXPECT_EQ(told.peer, culprit);
  });
  world.reset();
  World::mpi().run([](Communicator& comm) { expect_works(comm); });
}

}  // namespace
}  // namespace ringside::tests
