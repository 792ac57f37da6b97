// SPDX-License-Identifier: MIT
#include "ringside/tests/collectives/mpi/mpi_main.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>

#include "ringside/collectives/executors/mpi/transport.hpp"

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
