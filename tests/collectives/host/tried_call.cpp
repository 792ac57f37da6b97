// SPDX-License-Identifier: MIT
#include "ringside/tests/collectives/host/tried_call.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "ringside/collectives/layout.hpp"
#include "ringside/collectives/reference.hpp"
#include "ringside/tests/support/elements.hpp"

namespace ringside::tests {
namespace {

constexpr std::size_t guard = 64;

constexpr int exact_scalar = 2;

/// Of premul_sum. In the rough round it rounds, or wraps.
double scalar_of(const TriedCall& call, Round round) {
  return round == Round::exact ? exact_scalar : is_floating(call.type) ? 0.75 : 3.0;
}

std::size_t length_of(const TriedCall& call, int block) {
  return call.blocks[call.blocks.size() == 1 ? 0 : static_cast<std::size_t>(block)];
}

/// Elements of the first `count` blocks of a buffer.
std::size_t elements_of(const TriedCall& call, const BlockRange& held, int count) {
  std::size_t sum = 0;
  for (int i = 0; i < count; ++i) sum += length_of(call, held.first + i * held.stride);
  return sum;
}
std::size_t elements_of(const TriedCall& call, int rank, Buffer buffer) {
  const BlockRange held = blocks_in(call.request, rank, buffer);
  return elements_of(call, held, held.count);
}

/// Element `i` of a rank's input in the exact round: every partial result, in any order, is a whole
/// number that the type holds exactly.
int exact_value(const TriedCall& call, int rank, std::size_t i) {
  const int n = call.request.ranks;
  int most = largest_exact(call.type);
  const std::uint64_t of_element = mix(call.seed * 31 + i);
  const auto up_to = [&](int top) {
    return static_cast<int>(mix(of_element + static_cast<std::uint64_t>(rank) * 77) %
                            static_cast<std::uint64_t>(top + 1));
  };
  switch (call.op) {
    case ReduceOp::max:
    case ReduceOp::min:
      return up_to(most);
    case ReduceOp::prod:  // twos in no more factors than the type has room for
      return rank < static_cast<int>(std::bit_width(static_cast<unsigned>(most))) - 1 ? 1 + up_to(1)
                                                                                      : 1;
    case ReduceOp::avg: {  // around a mean that all ranks know
      const int mean = (most - n / 2) / n;
      if (mean < 1) return n <= most ? static_cast<int>(of_element & 1) : 0;
      const int away = rank % 2 == 1 ? -1 : rank + 1 < n ? 1 : 0;
      return 1 + static_cast<int>(of_element % static_cast<std::uint64_t>(mean)) + away;
    }
    case ReduceOp::premul_sum:
      most /= exact_scalar;
      [[fallthrough]];
    case ReduceOp::sum:
      return most >= n ? up_to(most / n) : rank < most ? up_to(1) : 0;
  }
  throw std::logic_error("an operator without exact data");
}

/// The reduction of element `i` of all inputs in the exact round.
int exact_result(const TriedCall& call, std::size_t i) {
  const int n = call.request.ranks;
  int result = exact_value(call, 0, i);
  if (call.op == ReduceOp::premul_sum) result *= exact_scalar;
  for (int rank = 1; rank < n; ++rank) {
    const int value = exact_value(call, rank, i);
    switch (call.op) {
      case ReduceOp::sum:
      case ReduceOp::avg:
        result += value;
        break;
      case ReduceOp::premul_sum:
        result += exact_scalar * value;
        break;
      case ReduceOp::prod:
        result *= value;
        break;
      case ReduceOp::max:
        result = std::max(result, value);
        break;
      case ReduceOp::min:
        result = std::min(result, value);
        break;
    }
  }
  return call.op == ReduceOp::avg ? result / n : result;
}

/// The elements of a rank's input.
std::vector<std::byte> input_of(const TriedCall& call, int rank, Round round) {
  const std::size_t elements = elements_of(call, rank, Buffer::input);
  const std::size_t size = size_of(call.type);
  std::vector<std::byte> data(elements * size);
  const std::uint64_t seed =
      call.seed * 1024 + static_cast<std::uint64_t>(round) * 512 + static_cast<std::uint64_t>(rank);
  if (round == Round::exact && reduces(call.request.collective))
    for (std::size_t i = 0; i < elements; ++i)
      store_exact(call.type, exact_value(call, rank, i), data.data() + i * size);
  else if (round == Round::exact || call.seed % 4 == 0)
    fill_any(call.type, seed, elements, data.data());
  else
    fill(call.type, seed, elements, data.data());
  return data;
}

void append(std::vector<std::byte>& to, const std::vector<std::byte>& from, std::size_t begin,
            std::size_t length) {
  const auto first = from.begin() + static_cast<std::ptrdiff_t>(begin);
  to.insert(to.end(), first, first + static_cast<std::ptrdiff_t>(length));
}

/// A rank's output by the definition of a collective that copies, in the words of its docstring.
std::vector<std::byte> copied_output(const TriedCall& call, int rank,
                                     const std::vector<std::vector<std::byte>>& inputs) {
  const int n = call.request.ranks;
  const int root = call.request.root;
  const std::size_t size = size_of(call.type);
  const auto all = [&](int from) -> const std::vector<std::byte>& {
    return inputs[static_cast<std::size_t>(from)];
  };
  std::vector<std::byte> output;
  switch (call.request.collective) {
    case Collective::broadcast:
      return all(root);
    case Collective::gather:
      if (rank != root) return {};
      [[fallthrough]];
    case Collective::all_gather:
      for (int from = 0; from < n; ++from) append(output, all(from), 0, all(from).size());
      return output;
    case Collective::scatter: {
      std::size_t before = 0;
      for (int to = 0; to < rank; ++to) before += length_of(call, to);
      append(output, all(root), before * size, length_of(call, rank) * size);
      return output;
    }
    case Collective::all_to_all:
      for (int from = 0; from < n; ++from) {
        std::size_t before = 0;
        for (int to = 0; to < rank; ++to) before += length_of(call, from * n + to);
        append(output, all(from), before * size, length_of(call, from * n + rank) * size);
      }
      return output;
    default:
      throw std::logic_error("no collective that copies");
  }
}

/// A rank's output of a reduction in the exact round.
std::vector<std::byte> reduced_output(const TriedCall& call, int rank) {
  std::size_t begin = 0;
  std::size_t elements = call.blocks.front();
  if (call.request.collective == Collective::reduce && rank != call.request.root) elements = 0;
  if (call.request.collective == Collective::reduce_scatter) {
    for (int before = 0; before < rank; ++before) begin += length_of(call, before);
    elements = length_of(call, rank);
  }
  const std::size_t size = size_of(call.type);
  std::vector<std::byte> output(elements * size);
  for (std::size_t i = 0; i < elements; ++i)
    store_exact(call.type, exact_result(call, begin + i), output.data() + i * size);
  return output;
}

std::vector<RankMemory> all_memory(const TriedCall& call, Round round) {
  std::vector<RankMemory> memory;
  for (int rank = 0; rank < call.request.ranks; ++rank) memory.emplace_back(call, rank).fill(round);
  return memory;
}

std::vector<std::vector<std::byte>> bytes_of(const std::vector<RankMemory>& memory) {
  std::vector<std::vector<std::byte>> bytes;
  for (const RankMemory& one : memory) bytes.push_back(one.bytes());
  return bytes;
}

/// The block that the rank holds in both buffers, as its position there; -1 if there is none.
struct Shared {
  int in_input = -1, in_output = -1;
};
Shared shared_block(const Request& request, int rank) {
  const BlockRange in = blocks_in(request, rank, Buffer::input);
  const BlockRange out = blocks_in(request, rank, Buffer::output);
  for (int i = 0; i < in.count; ++i)
    if (const int block = in.first + i * in.stride; out.contains(block))
      return {i, out.position(block)};
  return {};
}

}  // namespace

CallOptions TriedCall::options(Round round) const {
  return {.algorithm = spec, .scalar = scalar_of(*this, round)};
}

std::size_t TriedCall::bytes() const {
  std::size_t elements = 0;
  for (int rank = 0; rank < request.ranks; ++rank)
    elements += elements_of(*this, rank, Buffer::input) + elements_of(*this, rank, Buffer::output);
  return elements * size_of(type) + static_cast<std::size_t>(request.ranks) * 4 * guard;
}

std::string describe(const TriedCall& call) {
  return fmt::format("{} by {}: {} ranks, root {}, {}, {}, {}, blocks of {}, seed {}",
                     to_string(call.request.collective), call.spec, call.request.ranks,
                     call.request.root, call.request.in_place ? "in place" : "out of place",
                     to_string(call.type), to_string(call.op), fmt::join(call.blocks, " "),
                     call.seed);
}

RankMemory::RankMemory(const TriedCall& call, int rank) : call_(call), rank_(rank) {
  const std::size_t size = size_of(call.type);
  input_bytes_ = elements_of(call, rank, Buffer::input) * size;
  output_bytes_ = elements_of(call, rank, Buffer::output) * size;
  // A third of the calls has buffers that are aligned to nothing.
  const std::uint64_t random = mix(call.seed + static_cast<std::uint64_t>(rank));
  const auto shift = [&](int bit) {
    return call.seed % 3 == 0 ? static_cast<std::size_t>(random >> bit & 15) : 0;
  };
  input_ = output_ = guard + shift(0);
  const Shared shared = shared_block(call.request, rank);
  if (call.request.in_place && shared.in_input >= 0) {
    const auto before = [&](Buffer buffer, int position) {
      return elements_of(call, blocks_in(call.request, rank, buffer), position) * size;
    };
    const std::size_t in = before(Buffer::input, shared.in_input);
    const std::size_t out = before(Buffer::output, shared.in_output);
    if (in > out)
      output_ += in - out;
    else
      input_ += out - in;
  } else {
    output_ += (input_bytes_ + 15) / 16 * 16 + guard + shift(4);
  }
  bytes_.resize(std::max(input_ + input_bytes_, output_ + output_bytes_) + guard);
}

void RankMemory::fill(Round round) {
  std::fill(bytes_.begin(), bytes_.end(),
            round == Round::rough ? std::byte{0xa5} : std::byte{0x5a});
  const auto data = input_of(call_, rank_, round);
  std::copy(data.begin(), data.end(), input());
}

Arguments RankMemory::arguments() {
  Arguments arguments{.collective = call_.request.collective,
                      .input = input(),
                      .output = output(),
                      .blocks = call_.blocks,
                      .type = call_.type,
                      .op = call_.op,
                      .root = call_.request.root};
  const auto way = (call_.seed + static_cast<std::uint64_t>(rank_)) % 3;
  if (way == 0) return arguments;
  if (input_bytes_ == 0) arguments.input = way == 1 ? nullptr : output();
  if (output_bytes_ == 0) arguments.output = way == 1 ? nullptr : input();
  return arguments;
}

std::string RankMemory::difference(const std::vector<std::byte>& after,
                                   const std::vector<std::byte>& expected) const {
  if (after == expected) return {};
  const auto differ = [&](std::size_t begin, std::size_t end) {
    return !std::equal(after.begin() + static_cast<std::ptrdiff_t>(begin),
                       after.begin() + static_cast<std::ptrdiff_t>(end),
                       expected.begin() + static_cast<std::ptrdiff_t>(begin));
  };
  // Copies keep every bit of a NaN, reductions only that it is one.
  const std::size_t size = size_of(call_.type);
  const std::size_t elements = output_bytes_ / size;
  std::size_t at = elements;
  if (reduces(call_.request.collective)) {
    at = first_difference(call_.type, after.data() + output_, expected.data() + output_, elements);
  } else {
    for (std::size_t i = 0; i < elements && at == elements; ++i)
      if (differ(output_ + i * size, output_ + (i + 1) * size)) at = i;
  }
  if (at != elements) return fmt::format("element {} of {} of the output", at, elements);
  if (differ(0, output_) || differ(output_ + output_bytes_, after.size()))
    return "memory that is no output";
  return {};
}

std::vector<std::vector<std::byte>> by_reference(const TriedCall& call, const Plan& plan,
                                                 Round round) {
  auto memory = all_memory(call, round);
  PlanBuffers buffers;
  for (RankMemory& one : memory) {
    buffers.inputs.push_back(one.input());
    buffers.outputs.push_back(one.output());
  }
  PlanArguments arguments{{}, call.type, call.op, scalar_of(call, round)};
  for (int block = 0; block < block_count(call.request); ++block)
    arguments.block_elements.push_back(length_of(call, block));
  run_reference(plan, arguments, buffers);
  return bytes_of(memory);
}

bool is_defined(const TriedCall& call, Round round) {
  return round == Round::exact || !reduces(call.request.collective);
}

std::vector<std::vector<std::byte>> by_definition(const TriedCall& call, Round round) {
  auto memory = all_memory(call, round);
  std::vector<std::vector<std::byte>> inputs;
  for (int rank = 0; rank < call.request.ranks; ++rank)
    inputs.push_back(input_of(call, rank, round));
  for (int rank = 0; rank < call.request.ranks; ++rank) {
    const auto output = reduces(call.request.collective) ? reduced_output(call, rank)
                                                         : copied_output(call, rank, inputs);
    std::copy(output.begin(), output.end(), memory[static_cast<std::size_t>(rank)].output());
  }
  return bytes_of(memory);
}

}  // namespace ringside::tests
