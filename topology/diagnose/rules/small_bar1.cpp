// SPDX-License-Identifier: MIT
/// D07: BAR1 is smaller than the GPU's memory, so a patched driver cannot map a peer's memory.
#include <fmt/format.h>

#include "ringside/base/text.hpp"
#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"

namespace ringside {
namespace {

constexpr int usual_small_mib = 256;

bool is_small(const PcieStatus& gpu) {
  const auto total = gpu.bar1_mib.find("total");
  if (total == gpu.bar1_mib.end() || total->second <= 0) return false;
  return gpu.memory_mib ? total->second < *gpu.memory_mib : total->second <= usual_small_mib;
}

/// Of a box whose driver offers peer access between GeForce cards: it is patched.
bool driver_is_patched(const Evidence& evidence) {
  if (!has_model(evidence, "geforce")) return false;
  for (const auto& pair : gpu_pairs(evidence))
    if (pair.status == "OK" && !pair.fabric) return true;
  return false;
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  const auto failed = evidence.host_value(HostFactKind::complaint, "mapping");
  for (const auto& query : evidence.all<SmiQuery>())
    for (const auto& gpu : query->gpus) {
      if (!is_small(gpu)) continue;
      const bool wanted = failed || driver_is_patched(evidence);
      if (!wanted) continue;  // no use of BAR1 without a driver that maps peers through it
      Diagnosis found;
      found.certainty = Certainty::certain;
      found.harm = Harm::hang;
      found.why =
          fmt::format("BAR1 of {} has {} MiB{}: the memory of a peer does not fit into it",
                      gpu.bus_id.empty() ? "a GPU" : gpu.bus_id, gpu.bar1_mib.at("total"),
                      gpu.memory_mib ? fmt::format(", the GPU {} MiB", *gpu.memory_mib) : "");
      if (failed) found.shown = {failed->line};
      add_lines(found.shown,
                evidence.lines(
                    *query.reading,
                    [&](std::string_view line) {
                      return line.find(fmt::format("{} MiB", gpu.bar1_mib.at("total"))) !=
                             std::string_view::npos;
                    },
                    2));
      found.confirm = "nvidia-smi -q shows a BAR1 total below the GPU's memory";
      found.fix =
          "BIOS: resizable BAR and above-4G decoding on (some cards need a newer VBIOS). On boards "
          "without another display the console takes the start of BAR1 of GPU0";
      return {std::move(found)};
    }
  return {};
}

}  // namespace

Rule small_bar1_rule() {
  return {.id = "D07",
          .title = "BAR1 is too small to map a peer's memory",
          .source =
              "tinygrad/open-gpu-kernel-modules#36, #44, #28; blog.chlc.cc; public file "
              "56110233345",
          .inputs = {Input::bar1, Input::peer_matrix},
          .find = find};
}

}  // namespace ringside
