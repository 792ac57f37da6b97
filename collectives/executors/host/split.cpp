// SPDX-License-Identifier: MIT
/// Splitting: the ranks exchange their choices, each works out who goes with it, and the first to
/// come makes what they share.
#include "ringside/collectives/executors/host/split.hpp"

#include <algorithm>

#include "ringside/collectives/executors/host/communicator.hpp"

namespace ringside::host {

std::vector<int> ranks_of_color(std::span<const SplitChoice> choices, std::int32_t color) {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < choices.size(); ++rank)
    if (choices[rank].color == color) ranks.push_back(static_cast<int>(rank));
  std::stable_sort(ranks.begin(), ranks.end(), [&](int a, int b) {
    return choices[static_cast<std::size_t>(a)].key < choices[static_cast<std::size_t>(b)].key;
  });
  return ranks;
}

std::unique_ptr<HostCommunicator> HostCommunicator::split_ranks(int color, int key,
                                                                Messages::Copy copy) {
  const auto choices = exchanged_for_split(*this, SplitChoice{color, key});
  if (color == Communicator::no_color) return nullptr;
  const auto ranks = ranks_of_color(choices, color);
  const auto own = std::find(ranks.begin(), ranks.end(), rank_) - ranks.begin();
  return std::make_unique<HostCommunicator>(shared_->child(call_, ranks), static_cast<int>(own), 0,
                                            std::move(copy));
}

}  // namespace ringside::host
