// SPDX-License-Identifier: MIT
#include "ringside/bench/cuda/nccl_subject.hpp"

#include <mutex>

#include "ringside/base/error.hpp"
#include "ringside/bench/call_checks.hpp"
#include "ringside/bench/inputs.hpp"

namespace ringside::bench {

NcclSubject::NcclSubject(Stage& stage, std::string name, bool beside)
    : stage_(stage), name_(std::move(name)), beside_(beside) {}

Series NcclSubject::describe() const {
  const Request request = stage_.request(Placement::out_of_place);
  Series series;
  series.label = series.spec = "nccl";
  series.peer = beside_;
  series.detail = name_;
  series.issue = stage_.mode().issue;
  series.collective = request.collective;
  series.root = request.root;
  series.ranks = request.ranks;
  return series;
}

std::optional<std::string> NcclSubject::refusal(const Cell& cell) const {
  const auto [known, is_new] = refused_.try_emplace({cell.type, cell.op});
  auto& refused = known->second;
  if (!is_new) return refused;
  // A call without elements: it is looked at, and nothing is moved.
  std::mutex mutex;
  stage_.team().each([&](Communicator& communicator) {
    Cell empty = cell;
    empty.count = 0;
    const CallShape shape = call_shape(stage_.request(cell.placement), communicator.rank(), 0);
    auto call = checked_call(communicator, empty, shape, submit_call);
    call.write = call.read = [](const Stage::Memory&) {};
    if (cell.collective == Collective::barrier) return;
    try {
      stage_.run(communicator.rank(), call, call_options());
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      const std::lock_guard lock(mutex);
      refused = error.what();
    }
  });
  return refused;
}

CallOptions NcclSubject::call_options() const {
  CallOptions options;
  options.scalar = checked_scalar;
  options.timeout = stage_.timeout();
  return options;
}

BlockTimes NcclSubject::time(const Cell& cell, const Block& block) {
  return stage_.time(cell, block, call_options());
}

std::optional<CheckOutcome> NcclSubject::check(const Cell& cell) {
  if (cell.collective == Collective::barrier)
    return check_barrier(stage_, call_options(), submit_call);
  if (reduces(cell.collective) && cell.op == ReduceOp::avg) return std::nullopt;
  return check_exact(stage_, cell, call_options(), submit_call);
}

}  // namespace ringside::bench
