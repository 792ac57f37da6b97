// SPDX-License-Identifier: MIT
#include "ringside/topology/writers/measured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

namespace ringside {
namespace {

/// What figures have in common that can be compared.
struct Kind {
  MeasuredQuantity quantity;
  MeasuredTraffic traffic;
  MeasuredMethod method;
  int access;         ///< 0 and 1: P2P off and on; -1: not told
  bool inside, host;  ///< within a GPU; with the host

  auto operator<=>(const Kind&) const = default;  // NOLINT(modernize-use-nullptr)
};

Kind kind_of(const PairMeasurement& each) {
  return {.quantity = each.quantity,
          .traffic = each.traffic,
          .method = each.method,
          .access = each.peer_access ? static_cast<int>(*each.peer_access) : -1,
          .inside = each.from == each.to,
          .host = each.from == host_memory || each.to == host_memory};
}

std::string name_of(int number) {
  return number == host_memory ? "host" : fmt::format("GPU{}", number);
}

std::string words(const Kind& kind) {
  std::string text(to_string(kind.quantity));
  text += kind.traffic == MeasuredTraffic::both_ways ? " both ways together"
          : kind.traffic == MeasuredTraffic::opposed ? " one way while the other runs"
                                                     : " one way";
  if (kind.inside) text += ", within a GPU";
  if (kind.host) text += ", host and GPU";
  if (kind.access >= 0) text += kind.access == 1 ? ", P2P on" : ", P2P off";
  if (kind.method == MeasuredMethod::copy_engine) text += ", copies";
  if (kind.method == MeasuredMethod::kernel) text += ", kernels";
  return text;
}

std::string line_of(const Kind& kind, const std::vector<const PairMeasurement*>& figures) {
  const auto less = [](const PairMeasurement* a, const PairMeasurement* b) {
    return a->value < b->value;
  };
  const auto [least, most] = std::ranges::minmax_element(figures, less);
  const bool latency = kind.quantity == MeasuredQuantity::latency;
  const auto* worst = latency ? *most : *least;
  std::string text = fmt::format("{}: {:.4g} to {:.4g} {}", words(kind), (*least)->value,
                                 (*most)->value, latency ? "us" : "GB/s");
  if (figures.size() == 1 || (*least)->value == (*most)->value)
    text = fmt::format("{}: {:.4g} {}", words(kind), worst->value, latency ? "us" : "GB/s");
  text += fmt::format(" ({} figure{}", figures.size(), figures.size() == 1 ? "" : "s");
  if (figures.size() > 1)
    text += fmt::format(
        "; {} {}", latency ? "most" : "least",
        kind.inside ? name_of(worst->from) : name_of(worst->from) + " to " + name_of(worst->to));
  return text + ")\n";
}

}  // namespace

std::string measured_text(const Measurements& measured) {
  std::map<Kind, std::vector<const PairMeasurement*>> kinds;
  for (const auto& each : measured.pairs) kinds[kind_of(each)].push_back(&each);
  std::string text;
  for (const auto& [kind, figures] : kinds) text += line_of(kind, figures);
  for (const auto& fault : measured.faults) text += fmt::format("broken: {}\n", fault.text);
  return text;
}

}  // namespace ringside
