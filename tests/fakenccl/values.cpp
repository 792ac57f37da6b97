// SPDX-License-Identifier: MIT
/// What the fake's collectives compute: the definition, in rank order.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "ringside/collectives/reduction/fold.hpp"
#include "ringside/tests/fakenccl/state.hpp"

namespace ringside::tests::fakenccl {
namespace {

template <class T>
T load(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// A finite number of a narrow format.
double narrow(unsigned bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const unsigned fraction = bits & ((1U << fraction_bits) - 1);
  const int exponent = static_cast<int>(bits >> fraction_bits & ((1U << exponent_bits) - 1));
  const bool negative = (bits >> (exponent_bits + fraction_bits) & 1) != 0;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, 1 - bias - fraction_bits)
                    : std::ldexp(fraction + (1U << fraction_bits), exponent - bias - fraction_bits);
  return negative ? -magnitude : magnitude;
}

ReduceOp reduce_op(Reduction reduction) {
  constexpr std::array ops = {ReduceOp::sum, ReduceOp::prod, ReduceOp::max, ReduceOp::min,
                              ReduceOp::avg};
  const auto i = static_cast<std::size_t>(reduction);
  return i < ops.size() ? ops[i] : ReduceOp::premul_sum;
}

/// Elements `begin` and on of all inputs, folded.
Bytes folded(const Op& op, const Round& round, std::size_t begin) {
  const std::size_t size = size_of(op.type);
  Bytes result(op.count * size);
  if (op.count == 0) return result;
  std::vector<const std::byte*> sources;
  for (const Bytes& input : round.inputs) sources.push_back(input.data() + begin * size);
  std::byte* const destination = result.data();
  reference_fold({.sources = sources,
                  .destinations = std::span(&destination, 1),
                  .elements = op.count,
                  .type = element_type(op.type),
                  .op = reduce_op(op.reduction),
                  .all_raw = true,
                  .scalar = round.scalars.front(),
                  .completes = true,
                  .ranks = static_cast<int>(round.inputs.size())});
  return result;
}

}  // namespace

ElementType element_type(DataType type) {
  for (const ElementType ours : all_element_types)
    if (nccl::data_type(ours) == type) return ours;
  return ElementType::uint8;
}

std::size_t size_of(DataType type) { return ringside::size_of(element_type(type)); }

double scalar_of(DataType type, const void* element) {
  switch (type) {
    case DataType::int8:
      return load<std::int8_t>(element);
    case DataType::uint8:
      return load<std::uint8_t>(element);
    case DataType::int32:
      return load<std::int32_t>(element);
    case DataType::uint32:
      return load<std::uint32_t>(element);
    case DataType::int64:
      return static_cast<double>(load<std::int64_t>(element));
    case DataType::uint64:
      return static_cast<double>(load<std::uint64_t>(element));
    case DataType::float32:
      return load<float>(element);
    case DataType::float64:
      return load<double>(element);
    case DataType::float16:
      return narrow(load<std::uint16_t>(element), 5, 10);
    case DataType::bfloat16:
      return narrow(load<std::uint16_t>(element), 8, 7);
    case DataType::float8_e4m3:
      return narrow(load<std::uint8_t>(element), 4, 3);
    case DataType::float8_e5m2:
      return narrow(load<std::uint8_t>(element), 5, 2);
  }
  return 0;
}

Bytes output_of(const Op& op, int rank, const Round& round) {
  switch (op.kind) {
    case Kind::all_reduce:
      return folded(op, round, 0);
    case Kind::reduce:
      return rank == op.peer ? folded(op, round, 0) : Bytes();
    case Kind::reduce_scatter:
      return folded(op, round, static_cast<std::size_t>(rank) * op.count);
    case Kind::broadcast:
      return round.inputs[static_cast<std::size_t>(op.peer)];
    case Kind::all_gather: {
      Bytes all;
      for (const Bytes& input : round.inputs) all.insert(all.end(), input.begin(), input.end());
      return all;
    }
    case Kind::send:
    case Kind::recv:
      break;
  }
  return {};
}

}  // namespace ringside::tests::fakenccl
