// SPDX-License-Identifier: MIT
/// D21: a link stays at an old PCIe generation while data move. An idle card shows generation 1 and
/// is fine: only what was read or measured under load counts.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/nvlink_graph.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"

namespace ringside {
namespace {

constexpr int busy = 50;  // per cent of utilisation: an idle card has a few at most

/// GB/s one way of a link, after line coding (PCI-SIG base specifications 1.1 to 6.0).
double wire_rate(int generation, int width) {
  constexpr std::array<double, 7> lane = {0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563};
  return generation < 1 || generation > 6 ? 0 : lane[static_cast<std::size_t>(generation)] * width;
}

Diagnosis diagnosis_of(Certainty certainty, const GpuLink& link, int now, int could,
                       std::string why, std::vector<ShownLine> lines) {
  Diagnosis found;
  found.certainty = certainty;
  found.why = std::move(why);
  found.shown = std::move(lines);
  if (link.name.starts_with("GPU"))  // else nobody knows which one it is
    found.mend.mended = {fmt::format("pcie:{}=gen{}", link.name, could)};
  found.slowdown = wire_rate(could, 1) / std::max(wire_rate(now, 1), 0.1);
  found.confirm =
      "run a copy for some seconds and look meanwhile: nvidia-smi "
      "--query-gpu=index,pcie.link.gen.current,pcie.link.gen.max,utilization.gpu --format=csv";
  found.fix =
      "a shorter or better riser cable, or none; then set the slot's generation in the BIOS "
      "instead of Auto";
  return found;
}

/// The best copy between a GPU and the host, one way.
std::optional<double> host_copy(const Evidence& evidence, const std::string& name) {
  std::optional<double> best;
  for (const auto& pair : evidence.measured.pairs) {
    if (pair.quantity != MeasuredQuantity::bandwidth || pair.traffic != MeasuredTraffic::one_way ||
        (pair.from == host_memory) == (pair.to == host_memory))
      continue;
    if (fmt::format("GPU{}", std::max(pair.from, pair.to)) == name)
      best = std::max(best.value_or(0), pair.value);
  }
  return best;
}

std::optional<Diagnosis> read_under_load(const Evidence& evidence, const GpuLink& link) {
  const auto now = link.status->generation_of("Current"), could = link.status->generation_of("Max");
  if (!now || !could || *now >= *could || *now < 1) return std::nullopt;
  if (!link.under_load && link.status->utilization.value_or(0) >= busy)
    return diagnosis_of(Certainty::certain, link, *now, *could,
                        fmt::format("{} is busy ({} %), and its link runs at generation {} of {}",
                                    link.name, *link.status->utilization, *now, *could),
                        lines_of(evidence, link, "PCIe Generation"));
  const auto copy = host_copy(evidence, link.name);
  const auto width = link.status->width_of("Current");
  if (link.under_load || !copy || !width || *copy > wire_rate(*now, *width)) return std::nullopt;
  return diagnosis_of(
      Certainty::likely, link, *now, *could,
      fmt::format(
          "{} copies to and from the host at no more than {} GB/s (measured), which is what "
          "generation {} can carry and not {}: its link does not speed up under load",
          link.name, gb(*copy), *now, *could),
      lines_of(evidence, link, "PCIe Generation"));
}

/// Links as the preflight read them while they were busy, beside those of the same card elsewhere.
std::optional<Diagnosis> below_its_siblings(const std::vector<GpuLink>& links,
                                            const GpuLink& link) {
  const auto now = link.status->generation_of("Max"),
             could = link.status->generation_of("Device Max");
  if (!link.under_load || !now || !could || *now >= *could || *now < 1) return std::nullopt;
  const bool others_faster = std::ranges::any_of(links, [&](const GpuLink& other) {
    return other.under_load && other.status->model == link.status->model &&
           other.status->generation_of("Max").value_or(0) > *now;
  });
  if (!others_faster) return std::nullopt;  // the board may be of that generation
  return diagnosis_of(
      Certainty::certain, link, *now, *could,
      fmt::format("while data move the link of {} runs at generation {}, those of other cards of "
                  "this model run faster",
                  link.name, *now),
      {});
}

std::optional<Diagnosis> first_slow(const Evidence& evidence) {
  const auto links = gpu_links(evidence);
  for (const auto& link : links) {
    if (auto found = read_under_load(evidence, link)) return found;
    if (auto found = below_its_siblings(links, link)) return found;
  }
  return std::nullopt;
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  auto found = first_slow(evidence);
  if (!found) return {};
  if (rings_stay_in_nvlink(evidence)) {
    found->harm = Harm::risk;
    found->why += "; rings stay in NVLink: it matters for copies to and from the host and NICs";
    found->mend = {};  // no collective in the box gets faster
    found->slowdown = 1;
  }
  return {std::move(*found)};
}

}  // namespace

Rule slow_generation_rule() {
  return {.id = "D21",
          .title = "A link stays at an old PCIe generation under load",
          .source = "Syllo/nvtop#6, janhq/jan#183, public files 9641821283, 15729269992",
          .inputs = {Input::pcie_links, Input::host_bandwidth},
          .find = find};
}

}  // namespace ringside
