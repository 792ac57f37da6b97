// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/simulated/op_source.hpp"

namespace ringside::simulated {

OpSource::OpSource(const Spec& spec, const Request& request) : request_(request), spec_(spec) {
  begin_slice();
  shape_ = stream_->shape();
}

OpSource::OpSource(const Plan& plan)
    : request_(plan.request()), shape_(plan.shape()), plan_(&plan) {}

void OpSource::begin_slice() {
  next_index_ = 0;
  if (plan_ == nullptr) stream_.emplace(spec_, request_);
}

const Op* OpSource::next_of_slice() {
  if (plan_ == nullptr) return stream_->next();
  if (next_index_ == plan_->size()) return nullptr;
  op_ = plan_->op(next_index_);
  return &op_;
}

const Op* OpSource::next() {
  const Op* op = next_of_slice();
  while (op == nullptr && slice_ + 1 < shape_.slices) {
    ++slice_;
    begin_slice();
    op = next_of_slice();
  }
  if (op != nullptr) ++next_index_;
  return op;
}

std::span<const ScratchSlot> OpSource::slots(int rank) const {
  return plan_ != nullptr ? plan_->scratch(rank) : stream_->slots()[static_cast<std::size_t>(rank)];
}

std::vector<std::uint64_t> OpSource::ops_of_streams() const {
  std::vector<std::uint64_t> count(streams(), 0);
  if (plan_ != nullptr) {
    for (std::size_t i = 0; i < plan_->size(); ++i) ++count[stream_of(plan_->op(i))];
    return count;
  }
  PlanStream stream(spec_, request_);
  while (const Op* op = stream.next()) ++count[stream_of(*op)];
  return count;
}

}  // namespace ringside::simulated
