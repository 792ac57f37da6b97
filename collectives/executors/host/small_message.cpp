// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/host/small_message.hpp"

#include <algorithm>

#include "ringside/base/options.hpp"
#include "ringside/collectives/executors/host/shared.hpp"
#include "ringside/collectives/layout.hpp"

namespace ringside::host {

std::size_t longest_small_message(int ranks, int cores) {
  // Where ranks share cores, ops cost changes of threads. Measured with 4 and 8 ranks on 2 cores:
  // 4 KiB take 0.8 of the time that they take by ops.
  const std::size_t most = option<std::uint64_t>("inline") * (ranks > cores ? 4 : 1);
  return std::min(most, message_capacity);
}

std::optional<SmallMessage> SmallMessage::make(const Request& request, const ProofFacts& facts,
                                               int rank, std::span<const std::size_t> blocks,
                                               FoldShape values, std::size_t most) {
  if (!facts.is_definition() || most == 0) return std::nullopt;

  const std::size_t element_bytes = size_of(values.type);
  const auto input_of = [&](int of) { return blocks_in(request, of, Buffer::input); };
  const auto input_bytes_of = [&](int of) {
    return elements_in(blocks, input_of(of)) * element_bytes;
  };
  SmallMessage message;
  for (int of = 0; of < request.ranks; ++of)
    message.longest_input_bytes_ = std::max(message.longest_input_bytes_, input_bytes_of(of));
  if (message.longest_input_bytes_ > most) return std::nullopt;

  message.input_bytes_ = input_bytes_of(rank);
  values.k = reduces(request.collective) ? static_cast<std::size_t>(request.ranks) : 1;
  values.all_raw = values.completes = true;
  message.kernel_ = resolve_fold(values);
  const BlockRange output = blocks_in(request, rank, Buffer::output);
  for (int i = 0; i < output.count; ++i) {
    const int block = output.block(i);
    const std::size_t elements = block_length(blocks, block);
    if (elements == 0) continue;
    Block made{elements_before(blocks, output, i) * element_bytes, elements, message.parts_.size(),
               0};
    const auto sole = sole_contributor(request, block);
    for (int of = 0; of < request.ranks; ++of)
      if (!sole || *sole == of)
        message.parts_.push_back(
            {of,
             elements_before(blocks, input_of(of), input_of(of).position(block)) * element_bytes});
    made.parts = message.parts_.size() - made.first_part;
    message.blocks_.push_back(made);
  }
  return message;
}

std::optional<SmallMessage> SmallMessage::make(const ChosenPlans& plans, int rank,
                                               std::span<const std::size_t> blocks,
                                               const FoldShape& values, std::size_t most) {
  std::optional<SmallMessage> message;  // of either placement, the same
  for (const auto& compiled : plans.by_placement) {
    if (!compiled) continue;
    message = make(compiled->plan.request(), compiled->facts, rank, blocks, values, most);
    if (!message) return std::nullopt;
  }
  return message;
}

}  // namespace ringside::host
