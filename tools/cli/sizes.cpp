// SPDX-License-Identifier: MIT
#include "ringside/tools/cli/sizes.hpp"

#include "ringside/base/text.hpp"
#include "ringside/bench/sizes.hpp"
#include "ringside/tools/cli/option_values.hpp"

namespace ringside::cli {

std::vector<std::uint64_t> sizes_in_bytes(std::string_view option, std::string_view text) {
  std::vector<std::uint64_t> sizes;
  for (const auto word : split(text, ',')) {
    const auto dots = word.find("..");
    if (dots == std::string_view::npos) {
      sizes.push_back(size_in_bytes(option, word));
      continue;
    }
    bench::SizeRange range;
    range.begin = size_in_bytes(option, word.substr(0, dots));
    range.end = size_in_bytes(option, word.substr(dots + 2));
    range.factor = 2;
    const auto more = bench::sizes_of(range);
    sizes.insert(sizes.end(), more.begin(), more.end());
  }
  return sizes;
}

}  // namespace ringside::cli
