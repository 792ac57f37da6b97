// SPDX-License-Identifier: MIT
/// Checksums from end to end: every bit that flips on its way is found, by all ranks, and the error
/// says where; without a fault they change nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/options.hpp"
#include "ringside/collectives/executors/host/checks.hpp"
#include "ringside/collectives/executors/host/signature.hpp"
#include "ringside/collectives/world.hpp"
#include "ringside/tests/support/outcome.hpp"

namespace ringside::tests {
namespace {

constexpr int ranks = 3;
constexpr std::size_t elements = 70;

/// Spoils one of the chunks that there is a chance to spoil.
struct Spoiler {
  static inline std::atomic<int> left{0};   // chances until it acts
  static inline std::atomic<int> rank{-1};  // and op, where it has
  static inline std::atomic<int> op{-1};
  static inline std::atomic<int> only{-1};  // acts in the memory of this rank; -1: of any

  static void act(int at, std::size_t step, std::byte* data, std::size_t bytes) {
    if (only >= 0 && at != only) return;
    if (left.fetch_sub(1) != 1) return;
    data[bytes - 1] ^= std::byte{0x80};
    rank = at;
    op = static_cast<int>(step);
  }
  explicit Spoiler(int chance, int of_rank = -1) {
    left = chance;
    rank = op = -1;
    only = of_rank;
    host::tampering() = act;
  }
  Spoiler(const Spoiler&) = delete;
  Spoiler& operator=(const Spoiler&) = delete;
  ~Spoiler() { host::tampering() = nullptr; }
};

struct Told {
  std::string what;
  std::optional<ErrorCode> code;
  std::optional<int> rank, peer, step;
};

/// What each rank is told of a call.
template <class Make>
std::array<Told, ranks> told_by(Make&& make) {
  std::array<Told, ranks> told;
  World::threads(ranks).run([&](Communicator& comm) {
    try {
      make(comm);
    } catch (const Error& error) {
      told[static_cast<std::size_t>(comm.rank())] = {error.what(), error.code(), error.rank(),
                                                     error.peer(), error.step()};
    }
  });
  return told;
}

void sum_all(Communicator& comm, const std::string& spec, bool in_place) {
  std::vector<float> input(elements, static_cast<float>(comm.rank()) + 0.1F), output(elements);
  comm.all_reduce(input.data(), in_place ? input.data() : output.data(), elements,
                  ElementType::float32, ReduceOp::sum, {.algorithm = spec});
}

TEST(HostChecksum, EveryBitThatFlipsOnItsWayIsToldToAllRanks) {
  const ScopedOption checksum("checksum", "1");
  for (const char* spec :
       {"ring", "ring:slices=3", "two_shot", "two_shot:transfer=push", "one_shot", "double_tree",
        "recursive_doubling", "neighbour_push", "hierarchical:groups=0-1/2,inner=two_shot"})
    for (const bool in_place : {false, true}) {
      int chance = 1;
      for (;; ++chance) {
        const Spoiler spoiler(chance);
        const auto told = told_by([&](Communicator& comm) { sum_all(comm, spec, in_place); });
        if (Spoiler::rank < 0) break;  // there are no more chances
        for (const Told& each : told)
          ASSERT_EQ(each.code, ErrorCode::corrupted)
              << spec << ", in place " << in_place << ", chance " << chance << ": " << each.what;
      }
      EXPECT_GT(chance, ranks) << spec;
    }
}

TEST(HostChecksum, TheErrorNamesCollectiveRankPeerAndOp) {
  const ScopedOption checksum("checksum", "1");
  const Spoiler spoiler(1, 2);  // the first thing that comes to rank 2, which rank 1 has sent
  const auto told = told_by([&](Communicator& comm) {
    std::vector<std::int32_t> data(elements, comm.rank());
    comm.broadcast(data.data(), data.data(), elements, ElementType::int32, 0,
                   {.algorithm = "chain"});
  });
  ASSERT_GE(Spoiler::op, 0);
  for (int rank = 0; rank < ranks; ++rank) {
    const Told& each = told[static_cast<std::size_t>(rank)];
    EXPECT_EQ(each.code, ErrorCode::corrupted);
    EXPECT_EQ(each.rank, rank);
    EXPECT_EQ(each.peer, 1);
    EXPECT_EQ(each.step, Spoiler::op);
    for (const std::string& words : {std::string("the bytes that arrived differ from those sent"),
                                     std::string("of rank 2"), std::string("broadcast (chain"),
                                     fmt::format("stored by op {} (rank 2", Spoiler::op.load()),
                                     std::string("found by rank 2")})
      EXPECT_NE(each.what.find(words), std::string::npos) << each.what << " lacks " << words;
  }
}

TEST(HostChecksum, TheCommunicatorHasFailedThenAndANewRunWorks) {
  const ScopedOption checksum("checksum", "1");
  World world = World::threads(ranks);
  {
    const Spoiler spoiler(1);
    world.run([&](Communicator& comm) {
      EXPECT_EQ(outcome_of([&] { sum_all(comm, "ring", false); }).code, ErrorCode::corrupted);
      const auto later = outcome_of([&] { sum_all(comm, "ring", false); });
      EXPECT_EQ(later.code, ErrorCode::failed);
      EXPECT_TRUE(later.says("differ from those sent")) << later.what;
    });
  }
  world.run([&](Communicator& comm) {
    EXPECT_FALSE(outcome_of([&] { sum_all(comm, "ring", false); }).code);
  });
}

TEST(HostChecksum, NobodyLooksWithoutTheOption) {
  const Spoiler spoiler(1);
  for (const Told& each : told_by([&](Communicator& comm) { sum_all(comm, "ring", false); }))
    EXPECT_FALSE(each.code) << each.what;
  EXPECT_LT(Spoiler::rank, 0);
}

TEST(HostChecksum, CallsOfEveryKindFollowOneAnother) {
  const ScopedOption checksum("checksum", "1");
  World::threads(ranks).run([&](Communicator& comm) {
    auto part = comm.split(comm.rank() % 2, comm.rank());
    for (int i = 0; i < 5; ++i) {
      comm.barrier();
      std::vector<double> data(1, comm.rank());
      comm.all_reduce(std::span(data));
      EXPECT_EQ(data.front(), 3);
      auto handle = comm.async().all_reduce(std::span(data), ReduceOp::avg);
      std::vector<double> own(3, 1.0);
      part->all_reduce(std::span(own));
      EXPECT_EQ(own.front(), part->size());
      handle.wait();
      EXPECT_EQ(data.front(), 3);
      comm.all_reduce(std::span<double>());
    }
  });
}

TEST(HostChecksum, RanksThatDisagreeAboutItMakeDifferentCalls) {
  host::Signature with, without;
  with.summed = true;
  EXPECT_NE(host::digest_of(with), host::digest_of(without));
  EXPECT_EQ(host::differences(with, without), "checksum (on and off)");
}

}  // namespace
}  // namespace ringside::tests
