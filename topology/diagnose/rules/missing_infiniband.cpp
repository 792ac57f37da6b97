// SPDX-License-Identifier: MIT
/// D34: hosts have InfiniBand, but NCCL talks over TCP sockets: the container lacks it.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"
#include "ringside/topology/diagnose/rules/tables.hpp"

namespace ringside {
namespace {

/// A NIC that a driver of InfiniBand or RoCE has named; `topo -m` lists no other.
bool is_rdma_name(std::string_view name) {
  constexpr std::array<std::string_view, 6> drivers = {"mlx",   "NIC",  "ib",
                                                       "irdma", "rdma", "bnxt_re"};
  return std::ranges::any_of(drivers, [&](auto driver) { return name.starts_with(driver); });
}

std::vector<std::string> rdma_nics(const Evidence& evidence) {
  std::vector<std::string> names;
  if (const auto* topology = evidence.topology())
    for (const NodeId nic : topology->nics())
      if (is_rdma_name(topology->node(nic).name)) names.push_back(topology->node(nic).name);
  return names;
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  if (hosts_of(evidence) < 2) return {};
  const auto nics = rdma_nics(evidence);
  const auto disabled = switched_on(evidence, "NCCL_IB_DISABLE");
  for (const auto& log : evidence.all<NcclLog>()) {
    const bool sockets = log->network == "Socket" || connections_via(evidence, "NET/Socket") > 0;
    if (!sockets || (nics.empty() && !log->no_infiniband)) continue;
    Diagnosis found;
    found.certainty = nics.empty() ? Certainty::possible : Certainty::certain;
    found.why = nics.empty()
                    ? "NCCL finds no InfiniBand and talks to other hosts over TCP sockets"
                    : fmt::format(
                          "the machine has {} NIC{} for InfiniBand or RoCE ({}{}), but NCCL talks "
                          "to other hosts over TCP sockets",
                          nics.size(), nics.size() == 1 ? "" : "s", nics.front(),
                          nics.size() == 1 ? "" : ", ...");
    if (disabled) found.shown.push_back(disabled->line);
    for (const char* sign :
         {"Using network Socket", "NET/IB : No device", "libibverbs", "via NET/Socket"})
      add_lines(found.shown, evidence.lines_with(*log.reading, sign, 1));
    for (const auto& matrix : evidence.all<LinkMatrix>())
      add_lines(found.shown,
                evidence.rows_of(*matrix.reading,
                                 std::array{nics.empty() ? std::string() : nics.front()}));
    found.confirm = "ibv_devinfo, inside the container and outside: outside it lists the NICs";
    found.fix = disabled
                    ? "unset NCCL_IB_DISABLE"
                    : "give the container /dev/infiniband, the capability IPC_LOCK and --ulimit "
                      "memlock=-1, and install rdma-core (libibverbs) in it";
    found.slowdown = 10;  // 16 H200 at under 4 GB/s at the source
    found.decided_by = {Input::topology_matrix};
    return {std::move(found)};
  }
  return {};
}

}  // namespace

Rule missing_infiniband_rule() {
  return {.id = "D34",
          .title = "InfiniBand is there, but NCCL talks over TCP",
          .source = "NVIDIA/nccl-tests#281, public files 70475443014, 2843905171, NVIDIA/nccl#209",
          .inputs = {Input::nccl_log, Input::topology_matrix},
          .find = find};
}

}  // namespace ringside
