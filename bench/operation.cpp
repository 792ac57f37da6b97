// SPDX-License-Identifier: MIT
#include "ringside/bench/operation.hpp"

#include "ringside/base/error.hpp"

namespace ringside::bench {

Operation::operator Collective() const {
  if (!collective_) throw Error(ErrorCode::unsupported, "sendrecv is not a collective");
  return *collective_;
}

std::vector<Operation> all_operations() {
  std::vector<Operation> all;
  for (const auto name : collective_names()) all.emplace_back(*parse_collective(name));
  all.push_back(Operation::sendrecv());
  return all;
}

std::string_view to_string(Operation operation) {
  if (operation.is_sendrecv()) return "sendrecv";
  return ringside::to_string(static_cast<Collective>(operation));
}

std::string_view nccl_tests_name(Operation operation) {
  return operation == Collective::all_to_all ? "alltoall" : to_string(operation);
}

std::optional<Operation> parse_operation(std::string_view name) {
  for (const auto operation : all_operations())
    if (name == to_string(operation) || name == nccl_tests_name(operation)) return operation;
  return std::nullopt;
}

bool reduces(Operation operation) {
  return !operation.is_sendrecv() && ringside::reduces(static_cast<Collective>(operation));
}

bool has_root(Operation operation) {
  return !operation.is_sendrecv() && ringside::has_root(static_cast<Collective>(operation));
}

bool is_barrier(Operation operation) { return operation == Collective::barrier; }

bool has_algorithms(Operation operation) {
  return !is_barrier(operation) && !operation.is_sendrecv();
}

bool has_block_per_rank(Operation operation) {
  if (operation.is_sendrecv()) return false;
  switch (static_cast<Collective>(operation)) {
    case Collective::reduce_scatter:
    case Collective::all_gather:
    case Collective::gather:
    case Collective::scatter:
    case Collective::all_to_all:
      return true;
    default:
      return false;
  }
}

bool can_be_in_place(Operation operation) {
  return !operation.is_sendrecv() && operation != Collective::all_to_all &&
         operation != Collective::barrier;
}

}  // namespace ringside::bench
