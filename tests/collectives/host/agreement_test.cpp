// SPDX-License-Identifier: MIT
/// Ranks that make different calls: every rank is told what differs, no buffer has been touched,
/// and the communicator works on.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/call.hpp"
#include "ringside/collectives/world.hpp"
#include "ringside/tests/collectives/host/works.hpp"
#include "ringside/tests/support/outcome.hpp"

namespace ringside::tests {
namespace {

constexpr int ranks = 4;

/// A rank's call.
struct Made {
  Collective collective = Collective::all_reduce;
  std::vector<std::size_t> blocks = {20};
  ElementType type = ElementType::float32;
  ReduceOp op = ReduceOp::sum;
  int root = 0;
  bool in_place = false;
  std::string algorithm = {};
  double scalar = 1.0;
};

constexpr std::array collectives = {Collective::all_reduce, Collective::reduce_scatter,
                                    Collective::all_gather, Collective::broadcast,
                                    Collective::reduce,     Collective::gather,
                                    Collective::scatter,    Collective::all_to_all};

Made usual_call(Collective collective, std::size_t block = 20) {
  Made made{.collective = collective, .blocks = {block}};
  if (collective == Collective::barrier) made.blocks.clear();
  return made;
}

/// One rank's buffers, filled so that any write shows.
class Buffers {
 public:
  void call(Communicator& comm, const Made& made) {
    std::byte* input = in_.data();
    std::byte* output = out_.data();
    if (made.in_place) {
      std::size_t before = 0;
      for (int rank = 0; rank < comm.rank(); ++rank)
        before += made.blocks[made.blocks.size() > 1 ? static_cast<std::size_t>(rank) : 0];
      before *= size_of(made.type);
      switch (made.collective) {
        case Collective::reduce_scatter:
        case Collective::scatter:
          output = input + before;
          break;
        case Collective::all_gather:
        case Collective::gather:
          input = output + before;
          break;
        default:
          output = input;
      }
    }
    comm.submit({made.collective, input, output, made.blocks, made.type, made.op, made.root},
                {.algorithm = made.algorithm, .scalar = made.scalar});
  }
  [[nodiscard]] bool untouched() const {
    return in_ == std::vector(in_.size(), std::byte{1}) &&
           out_ == std::vector(out_.size(), std::byte{2});
  }

 private:
  std::vector<std::byte> in_ = std::vector(8192, std::byte{1});
  std::vector<std::byte> out_ = std::vector(8192, std::byte{2});
};

/// Makes a call that must fail on every rank alike.
Outcome expect_refused(Communicator& comm, const Made& made) {
  Buffers buffers;
  auto outcome = outcome_of([&] { buffers.call(comm, made); });
  EXPECT_EQ(outcome.code, ErrorCode::mismatch) << outcome.what;
  EXPECT_EQ(outcome.what.find('\n'), std::string::npos) << outcome.what;
  EXPECT_EQ(outcome.rank, comm.rank());
  EXPECT_TRUE(buffers.untouched()) << outcome.what;
  return outcome;
}

/// Every rank calls with `usual`, the odd one, each in turn, with `odd`; all must be told that
/// `what` differs, and both values, the first rank's first.
void expect_mismatch(const Made& usual, const Made& odd, const std::string& what,
                     const std::string& usual_value, const std::string& odd_value) {
  for (int odd_rank = 0; odd_rank < ranks; ++odd_rank)
    World::threads(ranks).run([&](Communicator& comm) {
      expect_works(comm);
      const auto outcome = expect_refused(comm, comm.rank() == odd_rank ? odd : usual);
      const std::string told = odd_rank == 0
                                   ? fmt::format("{} ({} and {})", what, odd_value, usual_value)
                                   : fmt::format("{} ({} and {})", what, usual_value, odd_value);
      EXPECT_NE(outcome.what.find(told), std::string::npos) << outcome.what << "\nnot: " << told;
      expect_works(comm);
    });
}

/// The total that a message tells: of all blocks.
std::string elements(Collective collective, std::size_t block) {
  const int blocks = block_count({collective, ranks});
  return std::to_string(block * static_cast<std::size_t>(blocks));
}

TEST(Agreement, DifferentLengthsAreNamed) {
  for (const Collective collective : collectives)
    for (const std::size_t block : {21u, 1u, 0u})
      expect_mismatch(usual_call(collective), usual_call(collective, block), "elements",
                      elements(collective, 20), elements(collective, block));
}

TEST(Agreement, DifferentLengthsOfSmallMessagesAreNamed) {
  for (const Collective collective : collectives) {
    expect_mismatch(usual_call(collective, 1), usual_call(collective, 2), "elements",
                    elements(collective, 1), elements(collective, 2));
    expect_mismatch(usual_call(collective, 1), usual_call(collective, 300), "elements",
                    elements(collective, 1), elements(collective, 300));
  }
}

TEST(Agreement, DifferentTypesAreNamed) {
  for (const Collective collective : collectives) {
    Made odd = usual_call(collective);
    odd.type = ElementType::int32;
    expect_mismatch(usual_call(collective), odd, "type", "float32", "int32");
  }
}

TEST(Agreement, DifferentOperatorsAreNamed) {
  for (const Collective collective :
       {Collective::all_reduce, Collective::reduce_scatter, Collective::reduce}) {
    Made odd = usual_call(collective);
    odd.op = ReduceOp::max;
    expect_mismatch(usual_call(collective), odd, "operator", "sum", "max");
  }
}

TEST(Agreement, TheOperatorOfACopyDoesNotMatter) {
  World::threads(ranks).run([](Communicator& comm) {
    Buffers buffers;
    Made made = usual_call(Collective::all_gather);
    if (comm.rank() == 1) made.op = ReduceOp::max;
    buffers.call(comm, made);
  });
}

TEST(Agreement, DifferentScalarsAreNamed) {
  for (const Collective collective :
       {Collective::all_reduce, Collective::reduce_scatter, Collective::reduce})
    for (const std::size_t block : {20u, 1u}) {
      Made usual = usual_call(collective, block);
      usual.op = ReduceOp::premul_sum;
      usual.scalar = 0.5;
      Made odd = usual;
      odd.scalar = 0.25;
      expect_mismatch(usual, odd, "scalar", "0.5", "0.25");
    }
}

TEST(Agreement, DifferentRootsAreNamed) {
  for (const Collective collective : collectives) {
    if (!has_root(collective)) continue;
    for (const std::size_t block : {20u, 1u, 0u}) {
      Made usual = usual_call(collective, block), odd = usual;
      usual.root = 1;
      odd.root = 3;
      expect_mismatch(usual, odd, "root", "1", "3");
    }
  }
}

TEST(Agreement, DifferentPlacementsAreNamed) {
  for (const Collective collective :
       {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather})
    for (const std::size_t block : {20u, 1u}) {
      Made odd = usual_call(collective, block);
      odd.in_place = true;
      expect_mismatch(usual_call(collective, block), odd, "placement", "out of place", "in place");
    }
}

TEST(Agreement, DifferentPlacementsOfRanksThatHaveASayAreNamed) {
  // Ranks 0 and 2 have none: their blocks are empty.
  for (const Collective collective : {Collective::reduce_scatter, Collective::all_gather})
    World::threads(ranks).run([&](Communicator& comm) {
      Made made = usual_call(collective);
      made.blocks = {0, 30, 0, 30};
      made.in_place = comm.rank() == 3;
      const auto outcome = expect_refused(comm, made);
      EXPECT_NE(outcome.what.find("placement (out of place and in place)"), std::string::npos)
          << outcome.what;
      EXPECT_NE(outcome.what.find("rank 1 "), std::string::npos) << outcome.what;
      EXPECT_NE(outcome.what.find("rank 3 "), std::string::npos) << outcome.what;
      expect_works(comm);
    });
}

TEST(Agreement, ThePlacementOfTheRootIsThatOfTheOthers) {
  for (const Collective collective : collectives)
    for (const bool in_place : {false, true}) {
      if (!has_root(collective)) continue;
      World::threads(ranks).run([&](Communicator& comm) {
        Buffers buffers;
        Made made = usual_call(collective);
        made.in_place = (comm.rank() == made.root) == in_place;
        buffers.call(comm, made);
      });
    }
}

TEST(Agreement, DifferentBlockLengthsOfTheSameTotalAreNamed) {
  for (const Collective collective : collectives) {
    const auto count = static_cast<std::size_t>(block_count({collective, ranks}));
    if (count == 1) continue;
    Made usual = usual_call(collective), odd = usual;
    odd.blocks.assign(count, 20);
    odd.blocks[1] = 19;
    odd.blocks[2] = 21;
    for (int odd_rank = 0; odd_rank < ranks; ++odd_rank)
      World::threads(ranks).run([&](Communicator& comm) {
        const auto outcome = expect_refused(comm, comm.rank() == odd_rank ? odd : usual);
        EXPECT_NE(outcome.what.find("differ in block lengths"), std::string::npos) << outcome.what;
        expect_works(comm);
      });
  }
}

TEST(Agreement, AListOfEqualLengthsIsTheSameAsOneLength) {
  for (const Collective collective : collectives)
    World::threads(ranks).run([&](Communicator& comm) {
      Buffers buffers;
      Made made = usual_call(collective);
      if (comm.rank() % 2 == 0)
        made.blocks.assign(static_cast<std::size_t>(block_count({collective, ranks})), 20);
      buffers.call(comm, made);
    });
}

TEST(Agreement, DifferentAlgorithmsAreNamed) {
  for (const Collective collective : collectives) {
    std::vector<std::string> names;
    for (const AlgorithmInfo& info : registered_algorithms())
      if (std::find(info.collectives.begin(), info.collectives.end(), collective) !=
          info.collectives.end())
        names.push_back(info.name);
    ASSERT_GE(names.size(), 2u);
    Made usual = usual_call(collective), odd = usual;
    usual.algorithm = names[0];
    odd.algorithm = names[1];
    expect_mismatch(usual, odd, "algorithm", names[0], names[1]);
    odd.algorithm = names[0] + ":slices=2";
    expect_mismatch(usual, odd, "algorithm", names[0], odd.algorithm);
  }
}

TEST(Agreement, DifferentCollectivesAreNamed) {
  std::vector<Collective> all(collectives.begin(), collectives.end());
  all.push_back(Collective::barrier);
  for (const Collective usual : all)
    for (const Collective odd : all)
      if (usual != odd)
        expect_mismatch(usual_call(usual), usual_call(odd), "collective",
                        std::string(to_string(usual)), std::string(to_string(odd)));
}

TEST(Agreement, RanksThatAllDifferAreAllTold) {
  World::threads(ranks).run([](Communicator& comm) {
    for (int i = 0; i < 50; ++i) {
      const auto made = static_cast<std::size_t>(comm.rank() + i);
      const auto outcome = expect_refused(comm, usual_call(collectives[made % collectives.size()]));
      EXPECT_NE(outcome.what.find("collective ("), std::string::npos) << outcome.what;
    }
    expect_works(comm);
  });
}

TEST(Agreement, SeveralDifferencesAreAllNamed) {
  Made odd;
  odd.blocks = {7};
  odd.type = ElementType::float64;
  odd.op = ReduceOp::min;
  expect_mismatch({}, odd, "elements", "20", "7");
  expect_mismatch({}, odd, "type", "float32", "float64");
  expect_mismatch({}, odd, "operator", "sum", "min");
}

TEST(Agreement, MismatchesInARowAreToldOneByOne) {
  World::threads(3).run([](Communicator& comm) {
    for (int i = 0; i < 50; ++i) {
      // Some of the messages would travel in the call, some of the right calls do.
      const std::size_t length = i % 2 == 0 ? 10 : 1000;
      (void)expect_refused(
          comm, usual_call(Collective::all_reduce, comm.rank() == i % 3 ? length + 1 : length));
      expect_works(comm);
      std::vector<int> small(2, comm.rank());
      comm.all_reduce(std::span(small));
      EXPECT_EQ(small[1], 3);
    }
  });
}

TEST(Agreement, ABadSpecIsRefusedOnEveryRankAndTheCommunicatorWorksOn) {
  World::threads(3).run([](Communicator& comm) {
    Buffers buffers;
    Made made;
    made.algorithm = "rong";
    auto outcome = outcome_of([&] { buffers.call(comm, made); });
    EXPECT_EQ(outcome.code, ErrorCode::bad_input);
    EXPECT_NE(outcome.what.find("rong"), std::string::npos);
    expect_works(comm);
    made.algorithm = "bruck";  // does all_gather only
    outcome = outcome_of([&] { buffers.call(comm, made); });
    EXPECT_EQ(outcome.code, ErrorCode::unsupported) << outcome.what;
    expect_works(comm);
  });
}

TEST(Agreement, EmptyMessagesAgreeWhereverTheyLie) {
  World::threads(2).run([](Communicator& comm) {
    std::vector<float> in, out;
    if (comm.rank() == 1) {
      in.reserve(1);
      out.reserve(1);
    }
    comm.all_reduce(in, std::span(out));
  });
}

}  // namespace
}  // namespace ringside::tests
