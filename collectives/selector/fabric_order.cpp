// SPDX-License-Identifier: MIT
#include "ringside/collectives/selector/fabric_order.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <vector>

#include "ringside/base/text.hpp"
#include "ringside/collectives/executors/simulated/nccl_rings.hpp"
#include "ringside/topology/model/routes.hpp"

namespace ringside {
namespace {

using Order = std::vector<int>;
constexpr std::string_view order_parameter = "order";
/// The search for rings takes too long for more, which have switches.
constexpr std::size_t most_ranks = 16;

bool has_order(const Spec& spec) {
  return spec.name == "ring" || spec.name == "bidirectional_ring" || spec.name == "chain";
}

/// GPUs of a machine by rank.
class Ranks {
 public:
  Ranks(const Topology& topology, std::span<const int> gpus) : topology_(topology) {
    const auto all = topology.gpus();
    for (const int gpu : gpus) nodes_.push_back(all.at(static_cast<std::size_t>(gpu)));
  }

  /// "from GPU3 to GPU4", of the steps of a ring or chain that no NVLink carries.
  [[nodiscard]] std::vector<std::string> gaps(const Order& order, bool closed) const {
    std::vector<std::string> gaps;
    for (std::size_t i = 0; i + (closed ? 0 : 1) < order.size(); ++i) {
      const NodeId from = node(order[i]), to = node(order[(i + 1) % order.size()]);
      if (!joined_by_fabric(topology_, from, to))
        gaps.push_back(
            fmt::format("from {} to {}", topology_.node(from).name, topology_.node(to).name));
    }
    return gaps;
  }

  [[nodiscard]] bool are_different() const {
    return std::set<NodeId>(nodes_.begin(), nodes_.end()).size() == nodes_.size();
  }

 private:
  [[nodiscard]] NodeId node(int rank) const { return nodes_[static_cast<std::size_t>(rank)]; }

  const Topology& topology_;
  std::vector<NodeId> nodes_;
};

Spec with_order(Spec spec, const Order& order) {
  std::erase_if(spec.parameters, [](const auto& each) { return each.first == order_parameter; });
  spec.parameters.insert(spec.parameters.begin(),
                         {std::string(order_parameter), fmt::format("{}", fmt::join(order, "-"))});
  return spec;
}

}  // namespace

std::string off_fabric_remark(const Machine& machine, std::span<const int> gpus, const Spec& spec) {
  const Ranks ranks(machine.topology(), gpus);
  if (!has_order(spec) || gpus.size() < 3 || gpus.size() > most_ranks || !ranks.are_different())
    return {};
  const bool closed = spec.name != "chain";
  const auto order = Parameters(spec).order(order_parameter, static_cast<int>(gpus.size()));
  const auto gaps = ranks.gaps(order, closed);
  if (gaps.empty()) return {};
  for (const auto& ring : nccl_rings(machine.topology(), {gpus.begin(), gpus.end()}))
    if (ranks.gaps(ring, closed).empty())
      return fmt::format("its order leaves NVLink {}; {} stays on it", fmt::join(gaps, " and "),
                         to_string(with_order(spec, ring)));
  return {};
}

}  // namespace ringside
