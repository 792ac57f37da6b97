// SPDX-License-Identifier: MIT
#include "ringside/bench/call_checks.hpp"

#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

#include "ringside/bench/operation.hpp"

namespace ringside::bench {

void submit_call(Communicator& communicator, const Arguments& arguments,
                 const CallOptions& options) {
  communicator.submit(arguments, options);
}

std::size_t message_blocks(const Request& request) {
  return has_block_per_rank(request.collective) ? static_cast<std::size_t>(request.ranks) : 1;
}

Stage::CheckedCall checked_call(Communicator& communicator, const Cell& cell,
                                const CallShape& shape, const Call& call) {
  Stage::CheckedCall checked{.placement = cell.placement,
                             .shape = shape,
                             .element_bytes = size_of(cell.type),
                             .write = {},
                             .call = {},
                             .read = {}};
  checked.call = [&communicator, &cell, call](const Stage::Memory& memory,
                                              const CallOptions& options) {
    const std::size_t count = cell.count;
    call(communicator,
         {cell.collective, memory.input, memory.output, {&count, 1}, cell.type, cell.op, cell.root},
         options);
  };
  return checked;
}

CheckOutcome outcome_of(Stage& stage, std::vector<std::uint64_t> wrong) {
  stage.gather(wrong);
  CheckOutcome outcome;
  for (const auto found : wrong) {
    outcome.wrong += found;
    outcome.failed_ranks += found > 0 ? 1 : 0;
  }
  return outcome;
}

CheckOutcome check_exact(Stage& stage, const Cell& cell, const CallOptions& options,
                         const Call& call) {
  const CheckedData& data = stage.checked_data(cell.type, cell.op);
  const Request request = stage.request(cell.placement);
  const std::size_t element = size_of(cell.type);
  const std::size_t count = cell.count;
  std::vector<std::uint64_t> wrong(static_cast<std::size_t>(request.ranks));
  stage.team().each([&](Communicator& communicator) {
    const int rank = communicator.rank();
    const CallShape shape = call_shape(request, rank, count);
    auto& found = wrong[static_cast<std::size_t>(rank)];
    auto checked = checked_call(communicator, cell, shape, call);
    checked.write = [&](const Stage::Memory& memory) {
      std::memset(memory.output, poison, shape.output * element);
      data.fill(rank, memory.input, count);
    };
    checked.read = [&](const Stage::Memory& memory) {
      found = data.wrong(rank, memory.output, count);
      if (!shape.shared) found += data.changed(rank, memory.input, count);
    };
    stage.run(rank, checked, options);
  });
  CheckOutcome outcome = outcome_of(stage, std::move(wrong));
  outcome.exact_bytes = message_blocks(request) * count * element;
  return outcome;
}

CheckOutcome check_barrier(Stage& stage, const CallOptions& options, const Call& call) {
  constexpr int repetitions = 20;
  const int ranks = stage.team().size();
  if (stage.team().ranks_here() != ranks) return {};  // processes have no such counter
  std::atomic<int> arrived{0};
  std::vector<std::uint64_t> wrong(static_cast<std::size_t>(ranks));
  stage.team().each([&](Communicator& communicator) {
    const int rank = communicator.rank();
    for (int i = 1; i <= repetitions; ++i) {
      Stage::CheckedCall checked{};
      checked.write = [&](const Stage::Memory&) {
        arrived.fetch_add(1, std::memory_order_relaxed);
      };
      checked.call = [&](const Stage::Memory&, const CallOptions& of_rank) {
        call(communicator, {.collective = Collective::barrier}, of_rank);
      };
      checked.read = [&](const Stage::Memory&) {
        if (arrived.load(std::memory_order_relaxed) < i * ranks)
          ++wrong[static_cast<std::size_t>(rank)];
      };
      stage.run(rank, checked, options);
    }
  });
  return outcome_of(stage, std::move(wrong));
}

}  // namespace ringside::bench
