// SPDX-License-Identifier: MIT
/// Where the blocks of a buffer lie, and which of them is shared by source and destination.
#include "ringside/collectives/layout.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace ringside {
namespace {

/// Every rank of every collective with every root, on so many ranks.
template <class Use>
void for_each_rank(int ranks, Use use) {
  for (std::size_t i = 0; i < collective_names().size(); ++i)
    for (int root = 0; root < (has_root(static_cast<Collective>(i)) ? ranks : 1); ++root)
      for (int rank = 0; rank < ranks; ++rank)
        use(Request{static_cast<Collective>(i), ranks, root, false}, rank);
}

TEST(Layout, ABlockBeginsWhereTheOnesBeforeItEnd) {
  for (const int ranks : {1, 2, 3, 5})
    for_each_rank(ranks, [](const Request& request, int rank) {
      std::vector<std::size_t> lengths;
      for (int block = 0; block < block_count(request); ++block)
        lengths.push_back(block % 3 == 1 ? 0 : 7 + static_cast<std::size_t>(block));
      for (const Buffer buffer : {Buffer::input, Buffer::output}) {
        const BlockRange held = blocks_in(request, rank, buffer);
        std::size_t sum = 0;
        for (int i = 0; i < held.count; ++i) {
          EXPECT_EQ(elements_before(lengths, held, i), sum) << describe(request);
          EXPECT_EQ(held.position(held.block(i)), i);
          sum += lengths[static_cast<std::size_t>(held.block(i))];
        }
        EXPECT_EQ(elements_in(lengths, held), sum) << describe(request);
      }
    });
}

TEST(Layout, OneLengthIsThatOfEveryBlock) {
  for_each_rank(3, [](const Request& request, int rank) {
    const std::vector<std::size_t> one = {11};
    const std::vector<std::size_t> all(static_cast<std::size_t>(block_count(request)), 11);
    for (const Buffer buffer : {Buffer::input, Buffer::output}) {
      const BlockRange held = blocks_in(request, rank, buffer);
      for (int count = 0; count <= held.count; ++count)
        EXPECT_EQ(elements_before(one, held, count), elements_before(all, held, count))
            << describe(request);
    }
  });
}

TEST(Layout, TheSharedBlockIsInBothBuffersAndNoOtherIs) {
  for (const int ranks : {1, 2, 4})
    for_each_rank(ranks, [ranks](const Request& request, int rank) {
      if (request.collective == Collective::all_to_all && ranks > 1) return;  // never in place
      const BlockRange input = blocks_in(request, rank, Buffer::input);
      const BlockRange output = blocks_in(request, rank, Buffer::output);
      const auto shared = shared_block(input, output);
      for (int block = 0; block < block_count(request); ++block)
        EXPECT_EQ(input.contains(block) && output.contains(block), shared == block)
            << describe(request) << ", rank " << rank << ", block " << block;
    });
}

}  // namespace
}  // namespace ringside
