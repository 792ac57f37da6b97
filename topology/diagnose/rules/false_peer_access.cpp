// SPDX-License-Identifier: MIT
/// D06: drivers that announce peer access for RTX 4090 which does not work.
#include <fmt/format.h>

#include "ringside/base/text.hpp"
#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"

namespace ringside {
namespace {

/// "525.85.12" -> {525, 85}; {0, 0} for what is no version.
std::pair<int, int> version_of(std::string_view text) {
  const auto parts = split(text, '.');
  if (parts.size() < 2) return {};
  const auto major = parse_int(parts[0], 1, 9999), minor = parse_int(parts[1], 0, 9999);
  if (!major || !minor) return {};
  return {static_cast<int>(*major), static_cast<int>(*minor)};
}

/// From 525.105.17 and 530.41.03 on the driver says that there is none (NVIDIA/nccl-tests#117).
bool announces_falsely(std::string_view driver) {
  const auto version = version_of(driver);
  if (version.first == 0) return false;
  return version.first == 530 ? version < std::pair(530, 41) : version < std::pair(525, 105);
}

bool driver_allows(const Evidence& evidence) {
  for (const auto& pair : gpu_pairs(evidence))
    if (pair.status == "OK" && !pair.fabric) return true;
  return connections_via(evidence, "P2P") > 0;
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  if (!has_model(evidence, "rtx 4090") || evidence.gpus().value_or(2) < 2) return {};
  const auto driver = evidence.host_value(HostFactKind::driver, "version");
  if (!driver || !announces_falsely(driver->value)) return {};
  Diagnosis found;
  found.certainty = driver_allows(evidence) ? Certainty::certain : Certainty::likely;
  found.harm = Harm::hang;
  found.why = fmt::format(
      "driver {} announces peer access between RTX 4090 cards, which these do not have: the first "
      "collective hangs",
      driver->value);
  found.shown = {driver->line};
  if (connections_via(evidence, "P2P") > 0) add_lines(found.shown, lines_via(evidence, "P2P"));
  found.confirm = "NCCL_P2P_DISABLE=1 makes the collective run";
  found.fix = "a driver from 525.105.17 or 530.41.03 on; until then NCCL_P2P_DISABLE=1";
  found.decided_by = {Input::peer_matrix, Input::nccl_log};
  return {std::move(found)};
}

}  // namespace

Rule false_peer_access_rule() {
  return {.id = "D06",
          .title = "The driver announces peer access that RTX 4090 cards do not have",
          .source = "NVIDIA/nccl-tests#117, NVIDIA/nccl#1614, tinygrad/open-gpu-kernel-modules#45",
          .inputs = {Input::peer_matrix, Input::nccl_log},
          .find = find};
}

}  // namespace ringside
