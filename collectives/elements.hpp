// SPDX-License-Identifier: MIT
/// The C++ types whose elements travel, and what counts as a run of them.
#pragma once

#include <concepts>
#include <cstdint>
#include <ranges>
#include <type_traits>

#include "ringside/collectives/reduction/types.hpp"

namespace ringside {

/// The ElementType of a C++ type; not defined for types that cannot be reduced.
template <class T>
struct ElementTypeOf;
template <>
struct ElementTypeOf<std::int8_t> : std::integral_constant<ElementType, ElementType::int8> {};
template <>
struct ElementTypeOf<std::uint8_t> : std::integral_constant<ElementType, ElementType::uint8> {};
template <>
struct ElementTypeOf<std::int32_t> : std::integral_constant<ElementType, ElementType::int32> {};
template <>
struct ElementTypeOf<std::uint32_t> : std::integral_constant<ElementType, ElementType::uint32> {};
template <>
struct ElementTypeOf<std::int64_t> : std::integral_constant<ElementType, ElementType::int64> {};
template <>
struct ElementTypeOf<std::uint64_t> : std::integral_constant<ElementType, ElementType::uint64> {};
template <>
struct ElementTypeOf<float16> : std::integral_constant<ElementType, ElementType::float16> {};
template <>
struct ElementTypeOf<bfloat16> : std::integral_constant<ElementType, ElementType::bfloat16> {};
template <>
struct ElementTypeOf<float8_e4m3> : std::integral_constant<ElementType, ElementType::float8_e4m3> {
};
template <>
struct ElementTypeOf<float8_e5m2> : std::integral_constant<ElementType, ElementType::float8_e5m2> {
};
template <>
struct ElementTypeOf<float> : std::integral_constant<ElementType, ElementType::float32> {};
template <>
struct ElementTypeOf<double> : std::integral_constant<ElementType, ElementType::float64> {};

/// Elements one after another: a vector, an array, a span.
template <class R>
concept Elements = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> && requires {
  ElementTypeOf<std::remove_cv_t<std::ranges::range_value_t<R>>>::value;
};

/// Elements that can be stored to.
template <class R>
concept WritableElements =
    Elements<R> && !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

/// The ElementType of a range's elements.
template <Elements R>
inline constexpr ElementType element_type_of =
    ElementTypeOf<std::remove_cv_t<std::ranges::range_value_t<R>>>::value;

/// Two runs of the same type.
template <class In, class Out>
concept SameElements = Elements<In> && WritableElements<Out> &&
    std::same_as<std::ranges::range_value_t<In>, std::ranges::range_value_t<Out>>;

}  // namespace ringside
