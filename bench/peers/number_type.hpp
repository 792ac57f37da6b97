// SPDX-License-Identifier: MIT
/// From the name of an element type to the C++ type, for the types that peers know.
#pragma once

#include <cstdint>

#include "ringside/base/error.hpp"
#include "ringside/collectives/reduction/types.hpp"

namespace ringside::bench {

/// Calls `use` with a zero of the C++ type. MPI and Gloo know no other types that we have: throws
/// Error(unsupported) for those.
template <class Use>
auto with_number_type(ElementType type, const Use& use) {
  switch (type) {
    case ElementType::int8:
      return use(std::int8_t{});
    case ElementType::uint8:
      return use(std::uint8_t{});
    case ElementType::int32:
      return use(std::int32_t{});
    case ElementType::uint32:
      return use(std::uint32_t{});
    case ElementType::int64:
      return use(std::int64_t{});
    case ElementType::uint64:
      return use(std::uint64_t{});
    case ElementType::float32:
      return use(float{});
    case ElementType::float64:
      return use(double{});
    default:
      throw Error(ErrorCode::unsupported, "peers know no such type");
  }
}

}  // namespace ringside::bench
