// SPDX-License-Identifier: MIT
#include "ringside/topology/model/transfers.hpp"

#include <algorithm>

namespace ringside {
namespace {

/// Enough that latencies do not count.
constexpr double much = 64e9;
constexpr double giga = 1e9;

void append(std::vector<Use>& uses, const Way& way) {
  uses.insert(uses.end(), way.uses.begin(), way.uses.end());
}

/// One end is next to who moves the bytes, so only one of the two ways has links.
Way way_of(const Machine& machine, const Transfer& transfer) {
  const int mover_at = transfer.reads ? transfer.to.gpu : transfer.from.gpu;
  const Way& in = machine.read(transfer.from, mover_at, transfer.mover);
  const Way& out = machine.write(mover_at, transfer.to, transfer.mover);
  Way way{.uses = in.uses, .latency = in.latency + out.latency};
  append(way.uses, out);
  return way;
}

}  // namespace

std::vector<double> transfer_seconds(const Machine& machine, std::span<const Transfer> transfers,
                                     double bytes) {
  FlowEngine engine({machine.resources().begin(), machine.resources().end()});
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    const Way way = way_of(machine, transfers[i]);
    engine.start(engine.add_path(way.uses), bytes, way.latency, static_cast<FlowEngine::Token>(i));
  }
  std::vector<double> seconds(transfers.size(), 0);
  std::vector<FlowEngine::Token> ended;
  while (engine.advance(ended))
    for (const auto token : ended) seconds[static_cast<std::size_t>(token)] = engine.now();
  return seconds;
}

double transfer_rate(const Machine& machine, std::span<const Transfer> transfers) {
  const auto seconds = transfer_seconds(machine, transfers, much);
  return much * static_cast<double>(transfers.size()) / std::ranges::max(seconds) / giga;
}

}  // namespace ringside
