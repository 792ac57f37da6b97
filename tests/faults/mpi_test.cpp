// SPDX-License-Identifier: MIT
/// The table of faults on ranks that are processes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>

#include "ringside/tests/collectives/mpi/mpi_main.hpp"
#include "ringside/tests/faults/fault_table.hpp"

namespace ringside::tests {
namespace {

TEST(Faults, AreToldToEveryRankOfProcesses) {
  const FaultyExecutor processes{"mpi", [](int) { return World::mpi(); },
                                 [](const UniformCall& call, int rank, int ranks) {
                                   return std::make_unique<CallMemory>(call, rank, ranks);
                                 }};
  const std::string table = run_fault_table(processes);
  if (mpi_rank() == 0) fmt::print("{}", table);
}

}  // namespace
}  // namespace ringside::tests
