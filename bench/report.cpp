// SPDX-License-Identifier: MIT
#include "ringside/bench/report.hpp"

#include <fmt/format.h>

#include "ringside/base/options.hpp"
#include "ringside/base/text.hpp"

namespace ringside::bench {

std::string inline_remark(const BenchRequest& request) {
  const auto most = option<std::uint64_t>("inline");
  if (most == 0 || request.sizes.begin > most) return {};
  return fmt::format(
      "# messages up to {} travel in the call itself where the algorithm's proof allows it; --set "
      "inline=0 runs its plan\n",
      format_bytes(most));
}

std::uint64_t failed_checks(const Series& series) {
  std::uint64_t failed = 0;
  for (const auto& row : series.rows)
    for (const auto& timing : row.timings)
      if (timing && timing->check)
        failed += static_cast<std::uint64_t>(timing->check->failed_ranks);
  return failed;
}

double average_bus_bandwidth(const Series& series) {
  double sum = 0;
  int measured = 0;
  for (const auto& row : series.rows)
    for (const auto& timing : row.timings)
      if (timing) {
        sum += bus_bandwidth(row.bytes, timing->time, series.ranks);
        ++measured;
      }
  return measured == 0 ? 0 : sum / measured;
}

}  // namespace ringside::bench
