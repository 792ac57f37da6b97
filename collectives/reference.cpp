// SPDX-License-Identifier: MIT
#include "ringside/collectives/reference.hpp"

#include "ringside/collectives/binding.hpp"
#include "ringside/collectives/dependencies.hpp"
#include "ringside/collectives/reduction/fold.hpp"

namespace ringside {

void run_reference(const Plan& plan, const PlanArguments& arguments, const PlanBuffers& buffers) {
  const Schedule schedule = make_schedule(plan);  // for the facts: where to scale and to divide
  if (arguments.op == ReduceOp::premul_sum) require_scalable(plan, schedule);
  const Binding binding = Binding::unsliced(plan, arguments.block_elements);
  const std::size_t element_bytes = size_of(arguments.type);

  std::vector<std::vector<std::byte>> scratch;
  for (int rank = 0; rank < plan.ranks(); ++rank)
    scratch.emplace_back(binding.length(rank, Buffer::scratch) * element_bytes);

  const auto address = [&](const Location& location, int offset) -> std::byte* {
    const auto rank = static_cast<std::size_t>(location.rank);
    const std::size_t begin = binding.extent(location, offset, 0).offset * element_bytes;
    switch (location.buffer) {
      case Buffer::input:  // never written out of place: the prover sees to it
        return const_cast<std::byte*>(buffers.inputs[rank]) + begin;
      case Buffer::output:
        return buffers.outputs[rank] + begin;
      case Buffer::scratch:
        return scratch[rank].data() + begin;
    }
    return nullptr;
  };

  std::vector<const std::byte*> sources;
  std::vector<std::byte*> destinations;
  for (std::size_t index = 0; index < plan.size(); ++index) {
    const Op op = plan.op(index);
    const OpFacts& facts = schedule.facts[index];
    for (int offset = 0; offset < op.count; ++offset) {
      sources.clear();
      destinations.clear();
      for (const auto& source : op.sources) sources.push_back(address(source, offset));
      for (const auto& destination : op.destinations)
        destinations.push_back(address(destination, offset));
      reference_fold({.sources = sources,
                      .destinations = destinations,
                      .elements = binding.chunk_length(op.chunk() + offset),
                      .type = arguments.type,
                      .op = arguments.op,
                      .raw_mask = facts.raw_mask,
                      .all_raw = facts.all_raw,
                      .scalar = arguments.scalar,
                      .completes = facts.completes,
                      .ranks = plan.ranks()});
    }
  }
}

}  // namespace ringside
