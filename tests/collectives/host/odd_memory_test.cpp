// SPDX-License-Identifier: MIT
/// Buffers where buffers seldom are: against pages that may not be touched, at every offset from a
/// cache line; and more ranks, communicators and elements than usual.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "ringside/base/options.hpp"
#include "ringside/collectives/layout.hpp"
#include "ringside/collectives/world.hpp"
#include "ringside/tests/collectives/host/calls_to_try.hpp"
#include "ringside/tests/collectives/host/works.hpp"
#include "ringside/tests/support/process.hpp"

namespace ringside::tests {
namespace {

/// So many bytes with a page on either side that kills who touches it.
class FencedMemory {
 public:
  explicit FencedMemory(std::size_t bytes)
      : page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))),
        inner_((std::max<std::size_t>(bytes, 1) + page_ - 1) / page_ * page_),
        bytes_(bytes) {
    void* const at =
        ::mmap(nullptr, inner_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    all_ = static_cast<std::byte*>(at);
    if (::mprotect(all_ + page_, inner_, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  }
  FencedMemory(const FencedMemory&) = delete;
  FencedMemory& operator=(const FencedMemory&) = delete;
  ~FencedMemory() { ::munmap(all_, inner_ + 2 * page_); }

  /// The first byte behind the lower fence, and where the last byte is before the upper one.
  [[nodiscard]] std::byte* first() const { return all_ + page_; }
  [[nodiscard]] std::byte* last() const { return all_ + page_ + inner_ - bytes_; }

 private:
  std::size_t page_, inner_, bytes_;
  std::byte* all_;
};

/// Small whole numbers, whose sums float16 holds.
template <class T>
T value_of(int rank, std::size_t i) {
  return static_cast<T>((static_cast<std::size_t>(rank) * 5 + i) % 11);
}

template <class T>
void fill_input(std::byte* at, int rank, std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i) {
    const T value = value_of<T>(rank, i);
    std::memcpy(at + i * sizeof(T), &value, sizeof(T));
  }
}

template <class T>
bool holds_sums(const std::byte* at, int ranks, std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i) {
    T expected{}, found{};
    for (int rank = 0; rank < ranks; ++rank)
      expected = static_cast<T>(expected + value_of<T>(rank, i));
    std::memcpy(&found, at + i * sizeof(T), sizeof(T));
    if (found != expected) return false;
  }
  return true;
}

std::vector<std::string> all_reduces(int ranks) {
  std::vector<std::string> specs;
  for (const auto& spec : specs_for(Collective::all_reduce, ranks))
    if (supported(spec, {Collective::all_reduce, ranks, 0, false})) specs.push_back(spec);
  return specs;
}

template <class T>
void reduce_between_fences(Communicator& comm, const std::string& spec, ElementType type,
                           std::size_t elements) {
  const FencedMemory input(elements * sizeof(T)), output(elements * sizeof(T));
  for (const bool at_the_end : {true, false}) {
    std::byte* const from = at_the_end ? input.last() : input.first();
    std::byte* const to = at_the_end ? output.last() : output.first();
    fill_input<T>(from, comm.rank(), elements);
    comm.all_reduce(from, to, elements, type, ReduceOp::sum, {.algorithm = spec});
    ASSERT_TRUE(holds_sums<T>(to, comm.size(), elements)) << spec << ", " << elements;
    // Nobody leaves before all have read, so the same memory serves the next call at once.
    comm.all_reduce(from, from, elements, type, ReduceOp::sum, {.algorithm = spec});
    ASSERT_TRUE(holds_sums<T>(from, comm.size(), elements)) << spec << ", in place, " << elements;
  }
}

/// Short messages travel in the call, or by plans as others do.
class OddMemory : public testing::TestWithParam<const char*> {
 protected:
  ScopedOption inline_{"inline", GetParam()};
};

TEST_P(OddMemory, NothingBesideABufferIsTouched) {
  constexpr int ranks = 3;
  const auto specs = all_reduces(ranks);
  World::threads(ranks).run([&](Communicator& comm) {
    for (const auto& spec : specs)
      for (const std::size_t elements : {1, 2, 3, 7, 15, 16, 17, 31, 33, 63, 65, 127, 1023, 4099}) {
        reduce_between_fences<float>(comm, spec, ElementType::float32, elements);
        reduce_between_fences<std::int8_t>(comm, spec, ElementType::int8, elements);
        reduce_between_fences<double>(comm, spec, ElementType::float64, elements);
      }
  });
}

TEST_P(OddMemory, BuffersMayLieAtAnyOffset) {
  constexpr int ranks = 3;
  constexpr std::size_t elements = 1000, room = 128;
  World::threads(ranks).run([&](Communicator& comm) {
    alignas(64) std::vector<std::byte> input(elements * 4 + room), output(elements * 4 + room);
    for (std::size_t offset = 1; offset < 64; ++offset)
      for (const char* spec : {"ring:slices=3", "two_shot", "one_shot", "auto"}) {
        // Ranks, inputs and outputs differ in it.
        const auto shift = static_cast<std::size_t>(comm.rank());
        std::byte* const from = input.data() + (offset + 17 * shift) % 64;
        std::byte* const to = output.data() + (offset * 7 + 5 * shift) % 64;
        fill_input<float>(from, comm.rank(), elements);
        comm.all_reduce(from, to, elements, ElementType::float32, ReduceOp::sum,
                        {.algorithm = spec});
        ASSERT_TRUE(holds_sums<float>(to, ranks, elements)) << spec << ", offset " << offset;
      }
  });
}

INSTANTIATE_TEST_SUITE_P(InTheCallAndByPlans, OddMemory, testing::Values("4080", "0"));

TEST(ManyOfThem, SixtyFourRanksOnFewCores) {
  World::threads(64).run([](Communicator& comm) {
    for (const char* spec : {"auto", "ring", "two_shot", "binomial", "halving_doubling"}) {
      std::vector<std::int64_t> data(129);
      for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = comm.rank() + static_cast<std::int64_t>(i);
      comm.all_reduce(data, ReduceOp::sum, {.algorithm = spec});
      for (std::size_t i = 0; i < data.size(); ++i)
        ASSERT_EQ(data[i], 64 * 63 / 2 + 64 * static_cast<std::int64_t>(i)) << spec;
    }
  });
}

TEST(ManyOfThem, TenThousandCommunicatorsComeAndGo) {
  constexpr int communicators = 10'000, when_all_is_there = 1'000;
  std::size_t before = 0;
  World::threads(2).run([&](Communicator& comm) {
    for (int i = 0; i < communicators; ++i) {
      const auto part = comm.split(i % 3 == 0 ? comm.rank() : 0);
      if (i % 97 == 0) {
        std::optional<Communicator> used = comm.split(0);
        expect_works(*used);
      }
      if (i == when_all_is_there && comm.rank() == 0) before = resident_bytes();
    }
    expect_works(comm);
  });
  // 9,000 communicators of a kilobyte each would show.
  if (resident_memory_tells) EXPECT_LT(resident_bytes(), before + (std::size_t{8} << 20));
}

}  // namespace
}  // namespace ringside::tests
