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
  float8_e4m3,
  float8_e5m2,
};

/// How contributions combine. `avg` is a sum whose completing op divides by the number of ranks;
/// `premul_sum` scales every contribution, while it is still raw, by a scalar of the call.
enum class ReduceOp : int { sum, prod, max, min, avg, premul_sum };

/// In the order of the values.
inline constexpr std::array all_element_types = {
    ElementType::int8,     ElementType::uint8,       ElementType::int32,
    ElementType::uint32,   ElementType::int64,       ElementType::uint64,
    ElementType::float16,  ElementType::float32,     ElementType::float64,
    ElementType::bfloat16, ElementType::float8_e4m3, ElementType::float8_e5m2};

/// In the order of the values.
inline constexpr std::array all_reduce_ops = {ReduceOp::sum, ReduceOp::prod, ReduceOp::max,
                                              ReduceOp::min, ReduceOp::avg,  ReduceOp::premul_sum};

/// Bytes of one element.
[[nodiscard]] std::size_t size_of(ElementType type);

/// True for the floating-point types, of 8 to 64 bits.
[[nodiscard]] bool is_floating(ElementType type);

/// Our name ("float16").
[[nodiscard]] std::string_view to_string(ElementType type);
/// Our name ("premul_sum").
[[nodiscard]] std::string_view to_string(ReduceOp op);

/// nccl-tests' name, as its rows print it ("half", "float", "f8e4m3").
[[nodiscard]] std::string_view nccl_tests_name(ElementType type);
/// nccl-tests' name: "mulsum" for premul_sum, the others as ours.
[[nodiscard]] std::string_view nccl_tests_name(ReduceOp op);

/// By our name or nccl-tests', or nothing.
[[nodiscard]] std::optional<ElementType> parse_element_type(std::string_view name);
/// By our name or nccl-tests', or nothing.
[[nodiscard]] std::optional<ReduceOp> parse_reduce_op(std::string_view name);

/// Storage of IEEE 754's binary16. The narrow floats carry bits only; arithmetic is done in
/// float32.
struct float16 {
  unsigned short bits;  ///< sign, 5 of the exponent, 10 of the fraction
};
/// Storage of the upper half of a float32.
struct bfloat16 {
  unsigned short bits;  ///< sign, 8 of the exponent, 7 of the fraction
};

/// E4M3 of "OFP8 Formats for Deep Learning" (Open Compute Project, 2023): no infinities, the one
/// NaN is S.1111.111, largest 448. Results saturate (see `reference_fold`).
struct float8_e4m3 {
  unsigned char bits;  ///< sign, 4 of the exponent, 3 of the fraction
};
/// E5M2 of the same: like IEEE 754, largest 57344. Results saturate.
struct float8_e5m2 {
  unsigned char bits;  ///< sign, 5 of the exponent, 2 of the fraction
};

}  // namespace ringside
