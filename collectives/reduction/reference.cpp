// SPDX-License-Identifier: MIT
/// The definition of a fold: one element after the other, nothing clever. It shares only the
/// arithmetic of single elements (element.hpp) with the kernels.
#include <cstring>

#include "ringside/base/error.hpp"
#include "ringside/collectives/reduction/element.hpp"
#include "ringside/collectives/reduction/fold.hpp"

namespace ringside {
namespace {

using namespace RINGSIDE_ISA_NAMESPACE;

bool is_raw(const Fold& fold, std::size_t source) {
  return fold.all_raw || (source < 64 && ((fold.raw_mask >> source) & 1U) != 0);
}

bool computes(const Fold& fold) {
  if (fold.sources.size() > 1) return true;
  if (fold.op == ReduceOp::premul_sum) return is_raw(fold, 0);
  return fold.op == ReduceOp::avg && fold.completes && fold.ranks != 1;
}

template <class A>
A combine(ReduceOp op, A a, A b) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::avg:
    case ReduceOp::premul_sum:
      return Sum::combine(a, b);
    case ReduceOp::prod:
      return Prod::combine(a, b);
    case ReduceOp::max:
      return Max::combine(a, b);
    case ReduceOp::min:
      return Min::combine(a, b);
  }
  throw Error(ErrorCode::internal, "unknown reduction operator");
}

template <class T>
Accumulator<T> load(const Fold& fold, std::size_t source, std::size_t i) {
  using A = Accumulator<T>;
  T stored;
  std::memcpy(&stored, fold.sources[source] + i * sizeof(T), sizeof(T));
  const A value = Element<T>::load(stored);
  if (fold.op != ReduceOp::premul_sum || !is_raw(fold, source)) return value;
  return Prod::combine<A>(value, scalar_as<A>(fold.scalar));
}

template <class T>
void fold_elements(const Fold& fold) {
  for (std::size_t i = 0; i < fold.elements; ++i) {
    auto value = load<T>(fold, 0, i);
    for (std::size_t j = 1; j < fold.sources.size(); ++j)
      value = combine(fold.op, value, load<T>(fold, j, i));
    if (fold.op == ReduceOp::avg && fold.completes) value = divide(value, fold.ranks);
    const T result = Element<T>::store(value);
    for (std::byte* destination : fold.destinations)
      std::memcpy(destination + i * sizeof(T), &result, sizeof(T));
  }
}

void copy(const Fold& fold) {
  const std::size_t bytes = fold.elements * size_of(fold.type);
  for (std::byte* destination : fold.destinations)
    if (bytes != 0) std::memmove(destination, fold.sources[0], bytes);
}

}  // namespace

void reference_fold(const Fold& fold) {
  if (!computes(fold)) return copy(fold);
  switch (fold.type) {
    case ElementType::int8:
      return fold_elements<std::int8_t>(fold);
    case ElementType::uint8:
      return fold_elements<std::uint8_t>(fold);
    case ElementType::int32:
      return fold_elements<std::int32_t>(fold);
    case ElementType::uint32:
      return fold_elements<std::uint32_t>(fold);
    case ElementType::int64:
      return fold_elements<std::int64_t>(fold);
    case ElementType::uint64:
      return fold_elements<std::uint64_t>(fold);
    case ElementType::float16:
      return fold_elements<float16>(fold);
    case ElementType::float32:
      return fold_elements<float>(fold);
    case ElementType::float64:
      return fold_elements<double>(fold);
    case ElementType::bfloat16:
      return fold_elements<bfloat16>(fold);
    case ElementType::float8_e4m3:
      return fold_elements<float8_e4m3>(fold);
    case ElementType::float8_e5m2:
      return fold_elements<float8_e5m2>(fold);
  }
  throw Error(ErrorCode::internal, "unknown element type");
}

}  // namespace ringside
