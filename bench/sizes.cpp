// SPDX-License-Identifier: MIT
#include "ringside/bench/sizes.hpp"

#include <fmt/format.h>

#include "ringside/base/error.hpp"

namespace ringside::bench {

std::vector<std::uint64_t> sizes_of(const SizeRange& range) {
  constexpr std::size_t most = 10'000;
  if (range.end < range.begin)
    throw Error(
        ErrorCode::bad_input,
        fmt::format("the sizes end at {} B, before they begin at {} B", range.end, range.begin));
  const bool multiplies = range.factor > 1;
  if (!multiplies && range.step == 0 && range.end != range.begin)
    throw Error(ErrorCode::bad_input, "the sizes need a factor of at least 2 or a step");
  if (multiplies && range.begin == 0 && range.end != 0)
    throw Error(ErrorCode::bad_input, "sizes that begin at 0 grow by a step, not by a factor");
  std::vector<std::uint64_t> sizes = {range.begin};
  while (true) {
    const std::uint64_t last = sizes.back();
    const bool ends = multiplies ? last > range.end / range.factor : range.step > range.end - last;
    if (ends || last == range.end) return sizes;
    if (sizes.size() == most)
      throw Error(ErrorCode::bad_input, fmt::format("these are more than {} sizes", most));
    sizes.push_back(multiplies ? last * range.factor : last + range.step);
  }
}

}  // namespace ringside::bench
