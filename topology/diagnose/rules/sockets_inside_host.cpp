// SPDX-License-Identifier: MIT
/// D18: ranks of one host talk over network sockets, because they share no memory.
#include <fmt/format.h>

#include <algorithm>

#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"

namespace ringside {
namespace {

/// All ranks of the log are of one host: it says so, or one host's processes have all GPUs.
bool is_one_host(const NcclLog& log, const Evidence& evidence) {
  if (log.boxes) return *log.boxes == 1;
  return log.hosts.size() == 1 && log.ranks && evidence.gpus() && *log.ranks == *evidence.gpus();
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  const auto off = switched_on(evidence, "NCCL_SHM_DISABLE");
  for (const auto& log : evidence.all<NcclLog>()) {
    if (connections_via(evidence, "NET/Socket") == 0) continue;
    if (log->hosts.size() > 1 || (!is_one_host(*log.facts, evidence) && !off)) continue;
    Diagnosis found;
    const bool known = is_one_host(*log.facts, evidence);
    found.certainty = known ? Certainty::certain : Certainty::likely;
    found.why = fmt::format(
        "{} over network sockets{}", known ? "ranks of one host talk" : "ranks talk",
        off ? ": NCCL_SHM_DISABLE is set" : ": separate containers, or no common /dev/shm");
    if (off) found.shown = {off->line};
    add_lines(found.shown, lines_via(evidence, "NET/Socket"));
    found.confirm =
        "all ranks run on one machine (hostname in the log), and the log says \"via SHM\" "
        "once they share memory";
    found.fix = off ? "unset NCCL_SHM_DISABLE"
                    : "containers: --ipc=host, or one shm mount and PID namespace for all ranks";
    found.slowdown = 5;  // 1 to 2 GB/s at the sources
    return {std::move(found)};
  }
  return {};
}

}  // namespace

Rule sockets_inside_host_rule() {
  return {.id = "D18",
          .title = "Ranks of one host talk over network sockets",
          .source = "public file 68860977895, NVIDIA/nccl#290, NVIDIA/nccl-tests#117",
          .inputs = {Input::nccl_log},
          .find = find};
}

}  // namespace ringside
