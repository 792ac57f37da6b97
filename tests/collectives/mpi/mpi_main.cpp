// SPDX-License-Identifier: MIT
#include "ringside/tests/collectives/mpi/mpi_main.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>

#include "ringside/collectives/executors/mpi/transport.hpp"

#ifdef __SANITIZE_ADDRESS__
// An MPI has things for the life of the process, which are not ours to free. They are known by the
// library that made them, so libraries stay loaded, and the whole way of a call is looked at.
extern "C" int dlclose(void* /*library*/) { return 0; }
extern "C" const char* __asan_default_options() { return "fast_unwind_on_malloc=0"; }
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libmpi\nleak:libopen-rte\nleak:libopen-pal\nleak:openmpi\nleak:libpmix\nleak:pmix\n"
         "leak:libhwloc\nleak:libevent\nleak:libfabric\nleak:libuc\n";
}
#endif

namespace ringside::tests {
namespace {

std::unique_ptr<World> world;

/// Of the processes but the first: prints failures alone, in one piece.
class FailurePrinter : public ::testing::EmptyTestEventListener {
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (!result.failed()) return;
    fmt::print(stderr, "rank {}: {}:{}: {}\n", mpi_rank(),
               result.file_name() != nullptr ? result.file_name() : "?", result.line_number(),
               result.summary());
  }
};

}  // namespace

World& mpi_world() { return *world; }
int mpi_rank() { return mpi::transport().rank(); }

}  // namespace ringside::tests

int main(int argc, char** argv) {
  using namespace ringside::tests;
  ::testing::InitGoogleTest(&argc, argv);
  try {
    world = std::make_unique<ringside::World>(ringside::World::mpi());
  } catch (const std::exception& error) {
    fmt::print(stderr, "no world of processes: {}\n", error.what());
    return 2;
  }
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  if (mpi_rank() != 0) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailurePrinter);
  }
  const int result = RUN_ALL_TESTS();
  world.reset();
  return result;
}
