// SPDX-License-Identifier: MIT
/// Element types and reduction operators: what a collective's buffers hold and how it adds.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace ringside {

/// What a buffer's elements are. The order is nccl-tests' (`-d all` walks it).
enum class ElementType : int {
  int8,
  uint8,
  int32,
  uint32,
  int64,
  uint64,
  float16,
  float32,
  float64,
  bfloat16,
};

/// How contributions combine. `avg` is a sum whose completing op divides by the number of ranks;
/// `premul_sum` scales every contribution, while it is still raw, by a scalar of the call.
enum class ReduceOp : int { sum, prod, max, min, avg, premul_sum };

inline constexpr std::array all_element_types = {
    ElementType::int8,    ElementType::uint8,   ElementType::int32,   ElementType::uint32,
    ElementType::int64,   ElementType::uint64,  ElementType::float16, ElementType::float32,
    ElementType::float64, ElementType::bfloat16};

inline constexpr std::array all_reduce_ops = {ReduceOp::sum, ReduceOp::prod, ReduceOp::max,
                                              ReduceOp::min, ReduceOp::avg,  ReduceOp::premul_sum};

/// Bytes of one element.
[[nodiscard]] std::size_t size_of(ElementType type);

/// True for float16, bfloat16, float32 and float64.
[[nodiscard]] bool is_floating(ElementType type);

/// Our name ("float16", "premul_sum").
[[nodiscard]] std::string_view to_string(ElementType type);
[[nodiscard]] std::string_view to_string(ReduceOp op);

/// nccl-tests' name, as its rows print it ("half", "float", "mulsum"; sum, prod, ... are the same).
[[nodiscard]] std::string_view nccl_tests_name(ElementType type);
[[nodiscard]] std::string_view nccl_tests_name(ReduceOp op);

/// Either name, or nothing.
[[nodiscard]] std::optional<ElementType> parse_element_type(std::string_view name);
[[nodiscard]] std::optional<ReduceOp> parse_reduce_op(std::string_view name);

/// Storage of the 16-bit floats. They carry bits only; arithmetic is done in float32.
struct float16 {
  unsigned short bits;
};
struct bfloat16 {
  unsigned short bits;
};

}  // namespace ringside
