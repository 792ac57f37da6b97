// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/cuda/operands.hpp"

#include <fmt/format.h>

#include <string>

#include "ringside/base/options.hpp"

namespace ringside::cuda {

CopyWay copy_way() {
  const auto word = option<std::string>("cuda_copies");
  return word == "engine" ? CopyWay::engine : word == "kernel" ? CopyWay::kernel : CopyWay::by_size;
}

Operands::Operands(const Program& program, std::span<const RankCall> ranks, Scratch& scratch,
                   CopyWay way)
    : program_(program), way_(way) {
  for (int rank = 0; rank < program.ranks; ++rank) {
    const RankCall& call = ranks[static_cast<std::size_t>(rank)];
    // Inputs are only read: the prover refuses plans that write them.
    bases_.push_back(const_cast<std::byte*>(call.input));
    bases_.push_back(call.output);
    bases_.push_back(scratch.address(rank, Base::scratch));
    bases_.push_back(scratch.address(rank, Base::host_scratch));
  }
}

const Operation& Operands::of(const Step& step, const Run& run) {
  const auto addresses = program_.addresses_of(step, run);
  operation_.sources.clear();
  operation_.destinations.clear();
  for (const auto& source : addresses.first(step.sources))
    operation_.sources.push_back(place(source));
  for (const auto& destination : addresses.subspan(step.sources))
    operation_.destinations.push_back(place(destination));
  operation_.bytes = run.elements * program_.element_bytes;
  operation_.by_engine = step.copies && by_engine(step, operation_.bytes);
  return operation_;
}

bool Operands::by_engine(const Step& step, std::size_t bytes) const {
  if (step.by_engine) return true;
  return way_ == CopyWay::engine || (way_ == CopyWay::by_size && bytes > longest_kernel_copy);
}

Error located(const Error& error, const Program& program, const Step& step) {
  const Plan& plan = program.compiled->plan;
  return Error(error.code(),
               fmt::format("rank {}, op {} of {} ({}): {}", program.rank_of(step), step.op,
                           to_string(plan.request().collective), plan.spec(), error.what()))
      .at_rank(program.rank_of(step))
      .at_step(static_cast<int>(step.op));
}

}  // namespace ringside::cuda
