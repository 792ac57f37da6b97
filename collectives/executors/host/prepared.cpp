// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/host/prepared.hpp"

#include <algorithm>

#include "ringside/collectives/executors/chosen_plans.hpp"

namespace ringside::host {

Prepared prepare(const Call& call, const Preparation& how, PlanCache& plans) {
  Prepared prepared;
  if (call.collective == Collective::barrier) {
    prepared.signed_call = signed_by(Signature::of(call, how.ranks, 0, ""));
    return prepared;
  }

  const ChosenPlans plans_of = choose_plans(call, how.ranks, how.spec_for, plans, how.wait);
  const auto blocks = all_blocks(call, how.ranks);
  const FoldShape values{
      .type = call.type, .op = call.op, .scalar = call.options->scalar, .ranks = how.ranks};
  prepared.small = SmallMessage::make(plans_of, how.rank, blocks, values, how.most_inline);
  if (!prepared.small) {
    for (std::size_t placement = 0; placement < prepared.programs.size(); ++placement) {
      const auto& compiled = plans_of.by_placement[placement];
      if (!compiled) continue;
      auto program = std::make_unique<const Program>(Program::bind(
          compiled, how.rank, blocks, values, Program::HostSlots::among_the_others, how.checksums));
      prepared.scratch_bytes = std::max(prepared.scratch_bytes, program->scratch_bytes);
      prepared.programs[placement] = std::move(program);
    }
  }
  auto signature = Signature::of(call, how.ranks, plans_of.hash, plans_of.spec);
  signature.summed = how.checksums == Program::Checksums::all;
  prepared.signed_call = signed_by(signature);
  return prepared;
}

std::size_t Prepared::bytes() const {
  std::size_t sum = small ? small->bytes() : 0;
  for (const auto& program : programs)
    if (program) sum += program->bytes();
  return sum;
}

}  // namespace ringside::host
