// SPDX-License-Identifier: MIT
#include "ringside/bench/gpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace ringside::bench {

std::optional<BackendKind> parse_backend(std::string_view word) {
  for (const auto backend : backend_kinds)
    if (to_string(backend) == word) return backend;
  return std::nullopt;
}

std::vector<int> GpuRequest::devices_of(int ranks) const {
  std::vector<int> of_ranks;
  for (int rank = 0; rank < ranks; ++rank) of_ranks.push_back(device_of(rank));
  return of_ranks;
}

const Gpu& Gpus::of(int number) const {
  return *std::find_if(list.begin(), list.end(),
                       [&](const Gpu& gpu) { return gpu.number == number; });
}

std::string in_words(const Gpus& gpus) {
  std::string words;
  for (auto gpu = gpus.list.begin(); gpu != gpus.list.end();) {
    const auto next = std::find_if(gpu, gpus.list.end(),
                                   [&](const Gpu& other) { return other.name != gpu->name; });
    words += fmt::format("{} x {}, ", next - gpu, gpu->name);
    gpu = next;
  }
  return words + fmt::format("driver {}, runtime {}", gpus.driver, gpus.runtime);
}

std::string sharing_remark(const GpuRequest& request, int ranks) {
  const auto of_ranks = request.devices_of(ranks);
  const std::set<int> used(of_ranks.begin(), of_ranks.end());
  if (used.size() == of_ranks.size()) return {};
  return fmt::format(
      "{} ranks on {} GPU{}: ranks on the same GPU share its memory and its processors, so times "
      "say nothing of links between GPUs",
      ranks, used.size(), used.size() == 1 ? "" : "s");
}

}  // namespace ringside::bench
