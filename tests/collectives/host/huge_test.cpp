// SPDX-License-Identifier: MIT
/// More elements than 31 bits count. Takes 4.3 GB of memory.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "ringside/collectives/world.hpp"

namespace ringside::tests {
namespace {

std::uint64_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string name; file >> name; file.ignore(std::numeric_limits<int>::max(), '\n'))
    if (name == "MemAvailable:") {
      std::uint64_t kibibytes = 0;
      file >> kibibytes;
      return kibibytes << 10;
    }
  return 0;
}

constexpr std::size_t elements = (std::size_t{1} << 31) + 12'345;

std::uint8_t value_of(int rank, std::size_t i) {
  return static_cast<std::uint8_t>((i * 7 + (i >> 20) + static_cast<std::size_t>(rank) * 13) & 63U);
}

/// The first element that is not the sum of both ranks' values, or `elements`.
std::size_t first_wrong(const std::vector<std::uint8_t>& data) {
  for (std::size_t i = 0; i < elements; ++i)
    if (data[i] != static_cast<std::uint8_t>(value_of(0, i) + value_of(1, i))) return i;
  return elements;
}

class Huge : public testing::TestWithParam<const char*> {};

TEST_P(Huge, CountsBeyondTwoToThe31) {
  constexpr std::uint64_t needed = std::uint64_t{5} << 30;
  if (available_bytes() < needed) GTEST_SKIP() << "takes 5 GiB of memory";
  World::threads(2).run([&](Communicator& comm) {
    std::vector<std::uint8_t> data(elements);
    for (std::size_t i = 0; i < elements; ++i) data[i] = value_of(comm.rank(), i);
    comm.all_reduce(data, ReduceOp::sum, {.algorithm = GetParam()});
    EXPECT_EQ(first_wrong(data), elements) << "rank " << comm.rank();
  });
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Huge, testing::Values("auto", "ring", "chain:slices=8"));

}  // namespace
}  // namespace ringside::tests
