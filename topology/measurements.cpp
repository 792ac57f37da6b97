// SPDX-License-Identifier: MIT
#include "ringside/topology/measurements.hpp"

namespace ringside {
namespace {

bool fits(const PairMeasurement& measured, MeasuredQuantity quantity, const PairQuery& query) {
  const bool forwards = measured.from == query.from && measured.to == query.to;
  const bool backwards = query.traffic == MeasuredTraffic::both_ways && measured.from == query.to &&
                         measured.to == query.from;
  return (forwards || backwards) && measured.quantity == quantity &&
         measured.traffic == query.traffic &&
         (!query.peer_access || measured.peer_access == query.peer_access);
}

std::optional<double> best(const std::vector<PairMeasurement>& pairs, MeasuredQuantity quantity,
                           const PairQuery& query) {
  const PairMeasurement* found = nullptr;
  for (const auto& each : pairs) {
    if (!fits(each, quantity, query)) continue;
    const bool better = found == nullptr || (each.method == MeasuredMethod::copy_engine &&
                                             found->method != MeasuredMethod::copy_engine);
    if (better) found = &each;
  }
  return found == nullptr ? std::nullopt : std::optional(found->value);
}

}  // namespace

std::string_view to_string(MeasuredQuantity quantity) {
  return quantity == MeasuredQuantity::bandwidth ? "bandwidth" : "latency";
}

std::string_view to_string(MeasuredTraffic traffic) {
  switch (traffic) {
    case MeasuredTraffic::one_way:
      return "one_way";
    case MeasuredTraffic::both_ways:
      return "both_ways";
    case MeasuredTraffic::opposed:
      return "opposed";
  }
  return "";
}

std::string_view to_string(MeasuredMethod method) {
  switch (method) {
    case MeasuredMethod::unknown:
      return "unknown";
    case MeasuredMethod::copy_engine:
      return "copy_engine";
    case MeasuredMethod::kernel:
      return "kernel";
  }
  return "";
}

std::optional<double> Measurements::bandwidth(const PairQuery& query) const {
  return best(pairs, MeasuredQuantity::bandwidth, query);
}

std::optional<double> Measurements::latency(const PairQuery& query) const {
  return best(pairs, MeasuredQuantity::latency, query);
}

}  // namespace ringside
