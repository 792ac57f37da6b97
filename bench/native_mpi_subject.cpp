// SPDX-License-Identifier: MIT
#include "ringside/bench/native_mpi_subject.hpp"

#include <fmt/format.h>

#include "ringside/base/error.hpp"
#include "ringside/bench/call_checks.hpp"
#include "ringside/bench/timed_call.hpp"
#include "ringside/collectives/executors/mpi/transport.hpp"

namespace ringside::bench {
namespace {

void call_native(Communicator& communicator, const Arguments& arguments,
                 const CallOptions& /*options*/) {
  if (arguments.collective == Collective::barrier) return mpi::transport().barrier();
  if (!mpi::transport().all_reduce(arguments.input, arguments.output, arguments.blocks.front(),
                                   arguments.type, arguments.op))
    throw Error(ErrorCode::unsupported, "the MPI has no such type or operator")
        .at_rank(communicator.rank());
}

bool mpi_has(ElementType type, ReduceOp op) {
  const bool narrow = type == ElementType::float16 || type == ElementType::bfloat16 ||
                      type == ElementType::float8_e4m3 || type == ElementType::float8_e5m2;
  return !narrow && op != ReduceOp::avg && op != ReduceOp::premul_sum;
}

}  // namespace

Series NativeMpiSubject::describe() const {
  Series series;
  series.collective = stage_.request(Placement::out_of_place).collective;
  series.detail = mpi::transport().library();
  series.label = series.detail.starts_with("Open MPI") ? "openmpi" : "mpich";
  series.peer = beside_ours_;
  series.ranks = stage_.team().size();
  return series;
}

std::optional<std::string> NativeMpiSubject::refusal(const Cell& cell) const {
  if (cell.collective == Collective::barrier) return std::nullopt;
  if (cell.collective != Collective::all_reduce)
    return "of the MPI all_reduce and barrier are measured";
  if (!mpi_has(cell.type, cell.op)) return "the MPI has no such type or operator";
  return std::nullopt;
}

BlockTimes NativeMpiSubject::time(const Cell& cell, const Block& block) {
  return time_on(stage_, cell, block, {.timeout = stage_.timeout()}, call_native);
}

std::optional<CheckOutcome> NativeMpiSubject::check(const Cell& cell) {
  if (cell.collective == Collective::barrier) return std::nullopt;
  return check_exact(stage_, cell, {.timeout = stage_.timeout()}, call_native);
}

}  // namespace ringside::bench
