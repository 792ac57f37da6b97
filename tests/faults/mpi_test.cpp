// SPDX-License-Identifier: MIT
/// The table of faults on ranks that are processes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>

#include "ringside/tests/collectives/mpi/mpi_main.hpp"
#include "ringside/tests/faults/checksum_table.hpp"
#include "ringside/tests/faults/fault_table.hpp"

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

}  // namespace
}  // namespace ringside::tests
