// SPDX-License-Identifier: MIT
/// D01: access control services of bridges send what GPUs write to each other up to the processor,
/// although a switch joins them.
#include <fmt/format.h>

#include <algorithm>

#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"
#include "ringside/topology/path.hpp"

namespace ringside {
namespace {

constexpr const char* fix =
    "switch ACS (Access Control Services) off in the BIOS, or clear it at every boot on all "
    "bridges between the GPUs, root "
    "ports and switch ports alike: setpci -s BRIDGE ECAP_ACS+6.w=0000 (bare metal only; a virtual "
    "machine needs it, there the hypervisor must enable ATS)";
constexpr const char* confirm =
    "sudo lspci -vvv | grep -E '^[0-9a-f]|ACSCtl' shows ReqRedir+ on a bridge above a GPU";

/// Pairs of GPUs that are joined below a host bridge; nothing where that is not known.
std::optional<bool> any_pair_joined_by_switch(const Topology* topology) {
  if (topology == nullptr || topology->links().empty()) return std::nullopt;
  const auto gpus = topology->gpus();
  for (const NodeId first : gpus)
    for (const NodeId second : gpus) {
      const auto pair = link_class(*topology, first, second, Medium::pcie);
      if (first < second && (pair.value == LinkClass::pix || pair.value == LinkClass::pxb))
        return true;
    }
  return false;
}

/// Of a list of devices with their buses: bridges that redirect, with a GPU below them and another
/// GPU below a bridge above them.
std::vector<const LspciDevice*> redirecting_between_gpus(const LspciLinks& links) {
  std::vector<const LspciDevice*> found;
  std::vector<const LspciDevice*> gpus;
  for (const auto& device : links.devices)
    if (is_nvidia_gpu(device)) gpus.push_back(&device);
  const auto below = [&](const LspciDevice* bridge) {
    return std::ranges::count_if(gpus, [&](const LspciDevice* gpu) {
      const auto above = bridges_above(links, *gpu);
      return std::ranges::find(above, bridge) != above.end();
    });
  };
  for (const auto* gpu : gpus) {
    const auto above = bridges_above(links, *gpu);
    for (std::size_t i = 0; i + 1 < above.size(); ++i)
      if (above[i]->acs && above[i]->acs->redirects() && below(above[i]) < below(above[i + 1]) &&
          std::ranges::find(found, above[i]) == found.end())
        found.push_back(above[i]);
  }
  return found;
}

Diagnosis diagnosis_of(Certainty certainty, std::string why, std::vector<ShownLine> lines) {
  Diagnosis diagnosis;
  diagnosis.certainty = certainty;
  diagnosis.why = std::move(why);
  diagnosis.shown = std::move(lines);
  diagnosis.confirm = confirm;
  diagnosis.fix = fix;
  diagnosis.mend.as_is = {"acs=on"};
  diagnosis.slowdown = 2;  // 50 -> 103 GB/s both ways on the box of the source
  return diagnosis;
}

std::vector<Diagnosis> from_tree(const Topology& topology) {
  std::vector<std::string> names;
  for (NodeId id = 0; id < static_cast<NodeId>(topology.nodes().size()); ++id) {
    const auto detail = topology.node(id).details.find("acs_redirect");
    if (topology.node(id).kind == NodeKind::pcie_switch &&
        detail != topology.node(id).details.end() && detail->second == "on")
      names.push_back(topology.node(id).name);
  }
  if (names.empty() || any_pair_joined_by_switch(&topology) != true) return {};
  return {diagnosis_of(Certainty::certain,
                       fmt::format("{} and what hangs on it could exchange data inside the switch, "
                                   "but ACS sends all of it up to the processor and back, over the "
                                   "one uplink",
                                   names.front()),
                       {})};
}

/// Pairs below one switch copy no faster than pairs that go through the processor, and not near
/// what their links can do: or twice as slow each way when both directions run.
std::vector<Diagnosis> from_bandwidth(const Evidence& evidence) {
  constexpr double no_faster = 1.02, far_below_wire = 0.7, one_uplink = 1.3, of_staging = 0.85;
  if (evidence.has(Input::access_control)) return {};  // the bridges themselves were asked
  const auto pairs = gpu_pairs(evidence);
  const auto near = [&](const GpuPair& pair) {
    return !pair.fabric && pair.pcie.decided() && pair.pcie.value == LinkClass::pix &&
           peer_access_possible(evidence, pair) != false;
  };
  const auto far = [](const GpuPair& pair) {
    return !pair.fabric && pair.pcie.decided() && pair.pcie.value > LinkClass::pxb;
  };
  const auto first = std::ranges::find_if(pairs, near);
  if (first == pairs.end() || staging_of(evidence)) return {};
  const auto inside = mean_measured(evidence, pairs, true, near);
  const auto outside = mean_measured(evidence, pairs, true, far);
  const auto wire = predicted_pair(evidence, *first, true);
  if (!inside || !outside || !wire || *inside > no_faster * *outside) return {};
  const auto both = evidence.measured.bandwidth({.from = first->first,
                                                 .to = first->second,
                                                 .traffic = MeasuredTraffic::both_ways,
                                                 .peer_access = true});
  const bool one_way_slow = *inside < far_below_wire * *wire;
  const bool both_ways_slow = both && *both < one_uplink * *inside;
  if (!one_way_slow && !both_ways_slow) return {};
  // CUDA's test prints "P2P=Enabled" also where there is none: then these are copies through the
  // host, and slow near pairs are what is expected of those.
  const bool known = peer_access_possible(evidence, *first) == true;
  if (!known && *inside < of_staging * *outside) return {};  // D13 says so
  auto found = diagnosis_of(
      known ? Certainty::likely : Certainty::possible,
      fmt::format(
          "{}, GPUs below one switch copy {} GB/s to each other, GPUs below "
          "different ones {} GB/s (means, measured); inside the switch {} GB/s are predicted",
          known ? "with peer access"
                : "in a test with P2P on (whether there is peer access no input "
                  "tells; without it this is copying through the host, D13)",
          gb(*inside), gb(*outside), gb(*wire)),
      {});
  found.decided_by = {Input::access_control};
  if (!known) {
    found.decided_by.push_back(Input::peer_matrix);
    found.confirm = fmt::format("nvidia-smi topo -p2p r shows OK, and {}", confirm);
  }
  return {std::move(found)};
}

/// Pairs below one switch copy in both directions at once what their links can do: data that ACS
/// turns around share one uplink, which carries half of that.
bool measured_at_full_speed(const Evidence& evidence) {
  constexpr double near_wire = 0.8, both_at_once = 1.6;
  const auto pairs = gpu_pairs(evidence);
  bool any = false;
  for (const auto& pair : pairs) {
    if (pair.fabric || !pair.pcie.decided() || pair.pcie.value > LinkClass::pxb) continue;
    const auto one = measured_pair(evidence, pair, true);
    const auto both = evidence.measured.bandwidth({.from = pair.first,
                                                   .to = pair.second,
                                                   .traffic = MeasuredTraffic::both_ways,
                                                   .peer_access = true});
    const auto wire = predicted_pair(evidence, pair, true);
    if (!one || !both || !wire) continue;
    if (*one < near_wire * *wire || *both < both_at_once * *wire) return false;
    any = true;
  }
  return any;
}

/// No pair below one switch reaches the other's memory, so nothing goes where ACS would turn it.
bool nothing_goes_there(const Evidence& evidence) {
  if (switched_on(evidence, "NCCL_P2P_DISABLE")) return true;
  bool any = false;
  for (const auto& pair : gpu_pairs(evidence)) {
    if (pair.fabric || (pair.pcie.decided() && pair.pcie.value > LinkClass::pxb)) continue;
    if (peer_access_possible(evidence, pair) != false) return false;
    any = true;
  }
  return any;
}

/// What bridges say holds as far as nothing else says that it does no harm.
std::vector<Diagnosis> weighed(const Evidence& evidence, Diagnosis found) {
  if (nothing_goes_there(evidence)) {
    found.harm = Harm::risk;
    found.why += ". It costs nothing now: no GPU reaches another's memory here";
    found.mend = {};
    found.slowdown = 1;
  } else if (measured_at_full_speed(evidence)) {
    found.certainty = Certainty::possible;
    found.why += ". But copies below the switch run at full speed in both directions (measured)";
    found.slowdown = 1;
  }
  return {std::move(found)};
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  const auto joined = any_pair_joined_by_switch(evidence.topology());
  for (const auto& links : evidence.all<LspciLinks>()) {
    std::vector<ShownLine> lines;
    const auto between = redirecting_between_gpus(*links.facts);
    for (const auto* bridge : between)
      for (const int number : {bridge->line, bridge->acs_line})
        if (auto line = evidence.line(links.reading->source, number); line && lines.size() < 4)
          lines.push_back(std::move(*line));
    if (!between.empty())
      return weighed(
          evidence,
          diagnosis_of(Certainty::certain,
                       fmt::format("{} between two GPUs {} ReqRedir+: what one GPU writes to the "
                                   "other goes up to the processor instead of through the "
                                   "switch",
                                   between.size() == 1 ? "a bridge"
                                                       : fmt::format("{} bridges", between.size()),
                                   between.size() == 1 ? "has" : "have"),
                       std::move(lines)));
  }
  if (const auto* topology = evidence.topology())
    if (auto found = from_tree(*topology); !found.empty())
      return weighed(evidence, std::move(found.front()));
  for (const auto& links : evidence.all<LspciLinks>()) {
    const auto redirecting = std::ranges::count_if(links->devices, [](const LspciDevice& device) {
      return device.acs && device.acs->redirects();
    });
    if (redirecting == 0 || joined == false) continue;
    auto found = diagnosis_of(
        joined == true ? Certainty::likely : Certainty::possible,
        fmt::format("{} bridge{} ReqRedir+ or its like, and {}", redirecting,
                    redirecting == 1 ? " has" : "s have",
                    joined == true ? "GPUs are joined by a switch here; which bridges lie between "
                                     "them the lines do not tell"
                                   : "the lines do not tell whether these lie between GPUs"),
        evidence.lines_with(*links.reading, "ReqRedir+"));
    found.decided_by = {Input::topology_matrix, Input::access_control, Input::pair_bandwidth};
    return weighed(evidence, std::move(found));
  }
  return from_bandwidth(evidence);
}

}  // namespace

Rule acs_redirect_rule() {
  return {.id = "D01",
          .title = "ACS sends traffic between GPUs up to the processor",
          .source =
              "NVIDIA/nccl#949, NVIDIA/nccl#2079, NVIDIA/nccl#629, NVIDIA/nccl#606, "
              "voipmonitor/rtx6kpro, NVIDIA/caffe#10",
          .inputs = {Input::access_control, Input::topology_matrix, Input::pair_bandwidth},
          .find = find};
}

}  // namespace ringside
