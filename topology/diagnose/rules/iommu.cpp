// SPDX-License-Identifier: MIT
/// D04: the IOMMU translates what devices address, which costs some bandwidth and sometimes breaks
/// peer access.
#include <fmt/format.h>

#include <algorithm>

#include "ringside/base/text.hpp"
#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"

namespace ringside {
namespace {

/// What a pinned copy reaches when nothing is in its way, of the link's best.
constexpr double wire_speed_share = 0.85;

bool parameter_is(const Evidence& evidence, std::string_view name,
                  std::initializer_list<std::string_view> values) {
  const auto value = evidence.host_value(HostFactKind::kernel_parameter, name);
  return value && std::ranges::find(values, std::string_view(value->value)) != values.end();
}

/// Copies between a GPU and the host are translated like those between GPUs: where they run at
/// full speed the IOMMU is not what slows.
bool host_copies_are_fast(const Evidence& evidence) {
  const Topology* topology = evidence.topology();
  if (topology == nullptr) return false;
  double best = 0;
  for (const auto& pair : evidence.measured.pairs)
    if ((pair.from == host_memory) != (pair.to == host_memory) &&
        pair.quantity == MeasuredQuantity::bandwidth && pair.traffic == MeasuredTraffic::one_way)
      best = std::max(best, pair.value);
  const auto pairs = gpu_pairs(evidence);
  if (best == 0 || pairs.empty()) return false;
  const auto wire = predicted_pair(evidence, pairs.front(), true);
  return wire && best > wire_speed_share * *wire;
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  const auto state = translating_iommu(evidence);
  if (!state || host_copies_are_fast(evidence)) return {};
  Diagnosis found;
  found.certainty = Certainty::possible;
  found.harm = Harm::risk;
  found.why = fmt::format(
      "that the IOMMU translates is certain ({}), what it costs is not: elsewhere it took a tenth "
      "to a fifth of the bandwidth, or made 8 and more GPUs hang",
      state->value);
  found.shown = {state->line};
  found.confirm =
      "measure copies between GPUs and host (ringside bench --preflight): at the link's full speed "
      "the IOMMU does not matter; below it, try once with iommu=pt";
  found.fix =
      "if the check confirms it: iommu=pt on the kernel's command line; where that is not "
      "enough amd_iommu=off or intel_iommu=off";
  found.decided_by = {Input::host_bandwidth, Input::pair_bandwidth};
  found.slowdown = 1.15;
  return {std::move(found)};
}

}  // namespace

std::optional<StatedValue> translating_iommu(const Evidence& evidence) {
  if (auto domain = evidence.host_value(HostFactKind::iommu, "domain")) {
    if (domain->value != "translated") return std::nullopt;
    domain->value = "the kernel says that its default domains translate";
    return domain;
  }
  if (parameter_is(evidence, "iommu", {"pt", "off"}) ||
      parameter_is(evidence, "iommu.passthrough", {"1", "on"}) ||
      parameter_is(evidence, "intel_iommu", {"off"}) ||
      parameter_is(evidence, "amd_iommu", {"off", "pt"}))
    return std::nullopt;
  for (const auto& [name, on] : {std::pair("intel_iommu", "on"), std::pair("amd_iommu", "on"),
                                 std::pair("iommu", "force")}) {
    auto value = evidence.host_value(HostFactKind::kernel_parameter, name);
    if (!value || !value->value.starts_with(on)) continue;
    value->value = fmt::format("{}={} without iommu=pt", name, value->value);
    return value;
  }
  auto listed = evidence.host_value(HostFactKind::iommu, "state");
  if (listed && evidence.has(Input::kernel_command_line)) {
    listed->value = "an IOMMU is on, and iommu=pt is not among the kernel's parameters";
    return listed;
  }
  return std::nullopt;
}

Rule iommu_rule() {
  return {.id = "D04",
          .title = "The IOMMU translates addresses",
          .source =
              "voipmonitor/rtx6kpro, aikitoria/open-gpu-kernel-modules#6, NVIDIA/nccl#1285, "
              "public file 54950257725",
          .inputs = {Input::kernel_command_line, Input::host_bandwidth},
          .find = find};
}

}  // namespace ringside
