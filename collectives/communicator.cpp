// SPDX-License-Identifier: MIT
#include "ringside/collectives/communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>

#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/call.hpp"

namespace ringside {
namespace {

void check_buffers(const std::byte* input, const std::byte* output, std::size_t elements,
                   ElementType type, ReduceOp op) {
  const auto known = [](auto value, const auto& all) {
    return std::find(all.begin(), all.end(), value) != all.end();
  };
  if (!known(type, all_element_types) || !known(op, all_reduce_ops))
    throw Error(ErrorCode::invalid_argument, "all_reduce of an unknown type or operator");
  if (elements == 0) return;
  if (!input || !output)
    throw Error(ErrorCode::invalid_argument, fmt::format("all_reduce of {} elements with a null {}",
                                                         elements, input ? "output" : "input"));
  if (elements > std::numeric_limits<std::ptrdiff_t>::max() / size_of(type))
    throw Error(ErrorCode::invalid_argument,
                fmt::format("all_reduce of {} elements: more than memory can hold", elements));
  const std::size_t bytes = elements * size_of(type);
  const std::less<const std::byte*> before;
  if (input != output && before(input, output + bytes) && before(output, input + bytes))
    throw Error(ErrorCode::invalid_argument,
                "all_reduce: input and output overlap without being the same");
}

}  // namespace

Communicator::Communicator(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::~Communicator() = default;

int Communicator::rank() const { return implementation_->rank(); }
int Communicator::size() const { return implementation_->size(); }

void Communicator::all_reduce(const void* input, void* output, std::size_t elements,
                              ElementType type, ReduceOp op, const CallOptions& options) {
  const auto* from = static_cast<const std::byte*>(input);
  auto* to = static_cast<std::byte*>(output);
  check_buffers(from, to, elements, type, op);
  const std::array<std::size_t, 1> blocks = {elements};
  implementation_->run({.collective = Collective::all_reduce,
                        .input = from,
                        .output = to,
                        .block_elements = blocks,
                        .type = type,
                        .op = op,
                        .root = 0,
                        .in_place = elements == 0 || input == output,  // empty ones lie anywhere
                        .options = &options});
}

std::string Communicator::algorithm_for(Collective collective, std::size_t bytes, bool in_place,
                                        const CallOptions& options) const {
  const Request request{collective, size(), 0, in_place};
  const Spec spec = parse_spec(implementation_->spec_for(request, bytes, options));
  return PlanStream(spec, request).spec();
}

void Communicator::abort(const std::string& why) { implementation_->abort(why); }

}  // namespace ringside
