// SPDX-License-Identifier: MIT
/// What `auto` means where ranks are on several hosts: the candidate with the least predicted time,
/// by what its plan moves inside hosts and between them.
#pragma once

#include <cstdint>
#include <vector>

#include "ringside/collectives/plan.hpp"
#include "ringside/collectives/request.hpp"
#include "ringside/collectives/selector/choice.hpp"

namespace ringside {

/// Where the ranks are, and what is between them.
struct HostsLayout {
  std::vector<int> host_of;  ///< by rank
  /// Bytes a second that a host sends and, at the same time, receives.
  double network_bandwidth = 1.25e9;
  double network_latency = 30e-6;  ///< seconds of a message between hosts

  [[nodiscard]] int hosts() const;
  bool operator==(const HostsLayout&) const = default;
};

/// What a plan costs on hosts, for each byte of the request and at all.
struct HostsCost {
  double seconds_per_byte = 0;
  double seconds = 0;  ///< of the longest chain of hops

  [[nodiscard]] double of(std::uint64_t bytes) const {
    return seconds + seconds_per_byte * static_cast<double>(bytes);
  }
};

/// Between hosts bytes share the host's link; inside one, ranks copy at the same time.
[[nodiscard]] HostsCost hosts_cost(const Plan& plan, const HostsLayout& layout);

/// Among plans that are worth trying there: hierarchical by hosts, and the flat ones in the order
/// of the hosts. The same for all ranks, and for both placements where ranks may differ in theirs.
/// Throws Error(unsupported) for barrier.
[[nodiscard]] Choice choose_across_hosts(const HostsLayout& layout, const Request& request,
                                         std::uint64_t bytes);

}  // namespace ringside
