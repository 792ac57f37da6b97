// SPDX-License-Identifier: MIT
/// Arguments that make no sense are refused before anything is sent: the rank gets one clear line,
/// and its next call meets the others'.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "ringside/collectives/call.hpp"
#include "ringside/collectives/layout.hpp"
#include "ringside/collectives/world.hpp"
#include "ringside/tests/collectives/host/works.hpp"
#include "ringside/tests/support/outcome.hpp"

namespace ringside::tests {
namespace {

constexpr int ranks = 3;
constexpr std::size_t block = 5;

constexpr std::array collectives = {Collective::all_reduce, Collective::reduce_scatter,
                                    Collective::all_gather, Collective::broadcast,
                                    Collective::reduce,     Collective::gather,
                                    Collective::scatter,    Collective::all_to_all};

/// A rank's buffers with a call on them that makes sense.
struct Sensible {
  explicit Sensible(Collective collective, int root = 0)
      : arguments{.collective = collective,
                  .input = in.data(),
                  .output = out.data(),
                  .blocks = lengths,
                  .type = ElementType::int32,
                  .op = ReduceOp::sum,
                  .root = root} {
    if (collective == Collective::barrier) arguments.blocks = {};
  }
  std::vector<std::int32_t> in = std::vector<std::int32_t>(100, 1);
  std::vector<std::int32_t> out = std::vector<std::int32_t>(100, 2);
  std::vector<std::size_t> lengths = {block};
  Arguments arguments;
};

/// Every rank in turn makes the call that `spoil` makes of a sensible one, and must be told `why`.
/// `spoil` says whether there is anything to spoil on that rank.
template <class Spoil>
void expect_refused(Collective collective, int root, const std::string& why, Spoil spoil) {
  World::threads(ranks).run([&](Communicator& comm) {
    for (int bad = 0; bad < ranks; ++bad) {
      if (comm.rank() == bad) {
        Sensible made(collective, root);
        if (spoil(made, comm.rank())) {
          const auto outcome = outcome_of([&] { comm.submit(made.arguments, {}); });
          EXPECT_EQ(outcome.code, ErrorCode::invalid_argument) << outcome.what;
          EXPECT_NE(outcome.what.find(why), std::string::npos) << outcome.what << "\nnot: " << why;
          EXPECT_NE(outcome.what.find(to_string(collective)), std::string::npos) << outcome.what;
          EXPECT_EQ(outcome.what.find('\n'), std::string::npos) << outcome.what;
          EXPECT_EQ(made.in, std::vector<std::int32_t>(100, 1));
          EXPECT_EQ(made.out, std::vector<std::int32_t>(100, 2));
        }
      }
      expect_works(comm);
    }
  });
}

int held(Collective collective, int root, int rank, Buffer buffer) {
  return blocks_in({collective, ranks, root}, rank, buffer).count;
}

TEST(Arguments, NullBuffersAreRefusedWhereThereIsSomethingToReadOrWrite) {
  for (const Collective collective : collectives) {
    expect_refused(collective, 0, "a null input", [&](Sensible& made, int rank) {
      made.arguments.input = nullptr;
      return held(collective, 0, rank, Buffer::input) > 0;
    });
    expect_refused(collective, 0, "a null output", [&](Sensible& made, int rank) {
      made.arguments.output = nullptr;
      return held(collective, 0, rank, Buffer::output) > 0;
    });
  }
}

TEST(Arguments, BuffersThatOverlapOtherwiseThanInPlaceAreRefused) {
  for (const Collective collective : collectives) {
    const auto both = [&](int rank) {
      return held(collective, 0, rank, Buffer::input) > 0 &&
             held(collective, 0, rank, Buffer::output) > 0;
    };
    for (const std::ptrdiff_t distance : {-4, -1, 1, 4})  // bytes; blocks are longer
      expect_refused(collective, 0, "input and output overlap", [&](Sensible& made, int rank) {
        // Beside the place where in place would be.
        const Request request{collective, ranks, 0};
        const auto in = blocks_in(request, rank, Buffer::input);
        const auto out = blocks_in(request, rank, Buffer::output);
        auto* middle = reinterpret_cast<std::byte*>(made.in.data() + 50);
        auto shift = distance;
        for (int i = 0; i < in.count; ++i)
          if (const int number = in.first + i * in.stride; out.contains(number))
            shift += (i - out.position(number)) * static_cast<std::ptrdiff_t>(block * 4);
        made.arguments.input = middle;
        made.arguments.output = middle + shift;
        return both(rank);
      });
  }
  expect_refused(Collective::all_to_all, 0, "input and output overlap", [](Sensible& made, int) {
    made.arguments.output = made.in.data();
    return true;
  });
}

TEST(Arguments, RootsThatAreNoRankAreRefused) {
  for (const Collective collective : collectives) {
    for (const int root : {-1, ranks, std::numeric_limits<int>::max()})
      expect_refused(collective, root, "is not a rank", [](Sensible&, int) { return true; });
    if (!has_root(collective))
      expect_refused(collective, 1, "it has no root", [](Sensible&, int) { return true; });
  }
  expect_refused(Collective::barrier, 1, "it has no root", [](Sensible&, int) { return true; });
}

TEST(Arguments, BlockListsOfAnotherLengthAreRefused) {
  for (const Collective collective : collectives) {
    const auto blocks = static_cast<std::size_t>(block_count({collective, ranks}));
    for (const std::size_t given : {std::size_t{0}, blocks - 1, blocks + 1, 2 * blocks}) {
      if (given == 1) continue;  // one length for all
      expect_refused(collective, 0, fmt::format("{} block lengths for {} blocks", given, blocks),
                     [&](Sensible& made, int) {
                       made.lengths.assign(given, 3);
                       made.arguments.blocks = made.lengths;
                       return true;
                     });
    }
  }
  expect_refused(Collective::barrier, 0, "1 block lengths for 0 blocks", [](Sensible& made, int) {
    made.arguments.blocks = made.lengths;
    return true;
  });
}

TEST(Arguments, LengthsThatNoMemoryHoldsAreRefused) {
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  for (const Collective collective : collectives) {
    for (const std::size_t length : {most, most / 2, most / 4, most / 8 + 1})
      expect_refused(collective, 0, "more than memory can hold", [&](Sensible& made, int) {
        made.lengths = {length};
        made.arguments.blocks = made.lengths;
        return true;
      });
    const auto blocks = static_cast<std::size_t>(block_count({collective, ranks}));
    if (blocks == 1) continue;
    expect_refused(collective, 0, "more than memory can hold", [&](Sensible& made, int) {
      made.lengths.assign(blocks, 7);  // whose sum would wrap
      made.lengths[0] = made.lengths[1] = most / 8 - 3;
      made.arguments.blocks = made.lengths;
      return true;
    });
  }
}

TEST(Arguments, UnknownTypesOperatorsAndCollectivesAreRefused) {
  for (const int number : {77, -1}) {
    for (const Collective collective : collectives) {
      expect_refused(collective, 0, "unknown type or operator", [&](Sensible& made, int) {
        made.arguments.type = static_cast<ElementType>(number);
        return true;
      });
      expect_refused(collective, 0, "unknown type or operator", [&](Sensible& made, int) {
        made.arguments.op = static_cast<ReduceOp>(number);
        return true;
      });
    }
    World::threads(1).run([&](Communicator& comm) {
      Sensible made(Collective::all_reduce);
      made.arguments.collective = static_cast<Collective>(number);
      const auto outcome = outcome_of([&] { comm.submit(made.arguments, {}); });
      EXPECT_EQ(outcome.code, ErrorCode::invalid_argument);
      EXPECT_NE(outcome.what.find("unknown collective"), std::string::npos) << outcome.what;
    });
  }
}

/// A call on ranges is refused with these words.
template <class Body>
void expect_misfit(const std::string& words, Body call) {
  const auto outcome = outcome_of(call);
  EXPECT_EQ(outcome.code, ErrorCode::invalid_argument) << outcome.what;
  EXPECT_NE(outcome.what.find(words), std::string::npos) << outcome.what;
}

TEST(Arguments, RangesThatDoNotFitEachOtherAreRefused) {
  World::threads(ranks).run([](Communicator& comm) {
    std::vector<int> six(6), two(2), three(3);
    expect_misfit("differ in length", [&] { comm.all_reduce(six, two); });
    expect_misfit("reduce_scatter", [&] { comm.reduce_scatter(six, three); });
    expect_misfit("all_gather", [&] { comm.all_gather(three, six); });
    expect_misfit("all_to_all", [&] { comm.all_to_all(six, three); });
    expect_misfit("all_to_all", [&] { comm.all_to_all(two, std::span(six).first(2)); });
    const int root = comm.rank();
    expect_misfit("gather", [&] { comm.gather(three, six, root); });
    expect_misfit("scatter", [&] { comm.scatter(six, three, root); });
    expect_works(comm);
  });
}

TEST(Arguments, RangesServeEveryCollective) {
  World::threads(ranks).run([](Communicator& comm) {
    using Numbers = std::vector<int>;
    const int mine = comm.rank() + 1;
    const Numbers six = {mine, 10 * mine, mine, mine, mine, 7 * mine};
    Numbers two(2), all(6), same(1, mine), none;

    comm.all_reduce(six, all);
    EXPECT_EQ(all, (Numbers{6, 60, 6, 6, 6, 42}));
    comm.all_reduce(same);
    EXPECT_EQ(same[0], 6);
    comm.reduce_scatter(six, two);
    EXPECT_EQ(two[1], comm.rank() == 0 ? 60 : comm.rank() == 1 ? 6 : 42);
    comm.all_gather(std::span(six).first(2), all);
    EXPECT_EQ(all, (Numbers{1, 10, 2, 20, 3, 30}));
    Numbers sent = six;
    comm.broadcast(sent, 2);
    EXPECT_EQ(sent, (Numbers{3, 30, 3, 3, 3, 21}));
    Numbers reduced = six;
    comm.reduce(reduced, ReduceOp::max, 1);
    EXPECT_EQ(reduced, comm.rank() == 1 ? (Numbers{3, 30, 3, 3, 3, 21}) : six);
    all.assign(6, 0);
    comm.gather(std::span(six).first(2), comm.rank() == 0 ? all : none, 0);
    EXPECT_EQ(all[5], comm.rank() == 0 ? 30 : 0);
    comm.scatter(comm.rank() == 1 ? six : none, two, 1);
    EXPECT_EQ(two[1], comm.rank() == 0 ? 20 : comm.rank() == 1 ? 2 : 14);
    comm.all_to_all(six, all);
    EXPECT_EQ(all[1], comm.rank() == 0 ? 10 : comm.rank() == 1 ? 1 : 7);
    comm.barrier();
  });
}

TEST(Arguments, TheOutputDecidesTheTypeAndTheInputConverts) {
  World::threads(1).run([](Communicator& comm) {
    std::vector<float> data = {1, 2}, sum(2);
    comm.all_reduce(data, std::span(sum));
    EXPECT_EQ(sum, data);
    comm.all_reduce(std::span(data).first(1), std::span(sum).last(1));
    EXPECT_EQ(sum[1], 1);
    comm.all_reduce(nullptr, nullptr, 0, ElementType::float32, ReduceOp::sum);
  });
}

}  // namespace
}  // namespace ringside::tests
