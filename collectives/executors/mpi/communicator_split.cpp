// SPDX-License-Identifier: MIT
/// How a communicator is split.
#include <algorithm>
#include <utility>

#include "ringside/collectives/executors/host/split.hpp"
#include "ringside/collectives/executors/mpi/communicator.hpp"

namespace ringside::mpi {
namespace {

/// What a rank gives to a split: its choice, then what a communicator is made of.
struct Offer {
  host::SplitChoice choice;
  std::int32_t context = 0;
};

}  // namespace

std::unique_ptr<Communicator::Implementation> MpiCommunicator::split(int color, int key) {
  Transport& transport = board_->team().transport();
  const auto offers =
      host::exchanged_for_split(*this, Offer{{color, key}, transport.next_context()});
  std::vector<host::SplitChoice> choices;
  std::vector<int> colors;
  int context = 0;
  for (const Offer& offer : offers) {
    choices.push_back(offer.choice);
    context = std::max(context, offer.context);
    if (offer.choice.color != Communicator::no_color) colors.push_back(offer.choice.color);
  }
  std::sort(colors.begin(), colors.end());
  colors.erase(std::unique(colors.begin(), colors.end()), colors.end());
  transport.use_contexts_below(context + static_cast<int>(colors.size()));

  const auto ranks = host::ranks_of_color(choices, color);
  std::shared_ptr<Board> board;
  BlockOffsets offsets;
  if (color != Communicator::no_color) {
    std::vector<int> members;
    for (const int rank : ranks) members.push_back(board_->member(rank));
    board = std::make_shared<Board>(board_->shared_team(), std::move(members));
    offsets = board->offsets();
  }
  const auto all_offsets = host::exchanged_for_split(*this, offsets);
  if (!board) return nullptr;
  std::vector<BlockOffsets> of_members;
  for (const int rank : ranks) of_members.push_back(all_offsets[static_cast<std::size_t>(rank)]);
  board->connect(of_members);
  return std::make_unique<MpiCommunicator>(
      job_, std::move(board),
      context + static_cast<int>(std::find(colors.begin(), colors.end(), color) - colors.begin()));
}

}  // namespace ringside::mpi
