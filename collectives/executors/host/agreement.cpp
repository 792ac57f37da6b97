// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/host/agreement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ringside/base/text.hpp"

namespace ringside::host {

Placement agreed_placement(std::span<const PublishedCall> published, int rank, std::uint64_t call) {
  const int ranks = static_cast<int>(published.size());
  const auto of = [&](int peer) -> const PublishedCall& {
    return published[static_cast<std::size_t>(peer)];
  };
  const auto differ = [&](int a, int b) {
    const Signature& one = *of(a).signature;
    const Signature& other = *of(b).signature;
    throw Error(ErrorCode::mismatch,
                fmt::format("ranks made different calls (call {}): rank {} {}; rank {} {}; they "
                            "differ in {}",
                            call, a, describe(one), b, describe(other), differences(one, other)))
        .at_rank(rank)
        .with_peer(b);
  };
  for (int peer = 1; peer < ranks; ++peer)
    if ((of(peer).digest ^ of(0).digest) & ~placement_bits) differ(0, peer);
  int decided = -1;  // the first rank that has a say in the placement
  for (int peer = 0; peer < ranks; ++peer) {
    if (placement_of(of(peer).digest) == Placement::either) continue;
    if (decided < 0)
      decided = peer;
    else if (of(peer).digest != of(decided).digest)
      differ(decided, peer);
  }
  return decided < 0 ? Placement::either : placement_of(of(decided).digest);
}

Error missing_ranks(const std::vector<int>& missing, Collective collective, std::uint64_t call,
                    int rank, int gone, Seconds limit,
                    const std::function<std::string(int rank)>& planning) {
  std::string doing;
  for (const int peer : missing)
    if (const std::string algorithm = planning ? planning(peer) : ""; !algorithm.empty())
      doing += fmt::format(": rank {} is planning with {}", peer, algorithm);
  return Error(ErrorCode::timeout,
               fmt::format("rank{} {} {} not entered {} (call {}){}{}",
                           missing.size() > 1 ? "s" : "", fmt::join(missing, ", "),
                           missing.size() > 1 ? "have" : "has", to_string(collective), call,
                           gone >= 0 ? fmt::format(": rank {} has returned without it", gone)
                                     : fmt::format(" after {}", format_duration(limit)),
                           doing))
      .at_rank(rank)
      .with_peer(missing.front());
}

Error planning_overdue(const Error& error, int rank) {
  return Error(ErrorCode::timeout, fmt::format("rank {}: {}", rank, error.what()))
      .at_rank(rank)
      .with_peer(rank);
}

Error unfinished_op(int peer, int op, Collective collective, const std::string& spec,
                    std::uint64_t call, int rank, Seconds limit) {
  return Error(ErrorCode::timeout,
               fmt::format("rank {} has not finished op {} of {} ({}, call {}) after {}", peer, op,
                           to_string(collective), spec, call, format_duration(limit)))
      .at_rank(rank)
      .with_peer(peer)
      .at_step(op);
}

}  // namespace ringside::host
