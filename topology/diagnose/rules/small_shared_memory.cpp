// SPDX-License-Identifier: MIT
/// D19: /dev/shm has no room for NCCL's buffers.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "ringside/base/text.hpp"
#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"
#include "ringside/topology/diagnose/rules/tables.hpp"

namespace ringside {
namespace {

/// A segment for each rank and channel; NCCL uses at least two channels. A rule of thumb, of the
/// segments that logs name: versions differ, and newer ones take less.
constexpr std::int64_t segment_bytes = 9'637'888;
constexpr int least_channels = 2;
constexpr double mib = 1 << 20;

Diagnosis diagnosis_of(Certainty certainty, std::string why, std::vector<ShownLine> lines) {
  Diagnosis found;
  found.certainty = certainty;
  found.harm = Harm::hang;
  found.why = std::move(why);
  found.shown = std::move(lines);
  found.confirm = "df /dev/shm while the job starts";
  found.fix =
      "docker run --shm-size=1g (or --ipc=host); in Kubernetes an emptyDir with medium: "
      "Memory at /dev/shm; remove what killed jobs left there (rm /dev/shm/nccl-*)";
  return found;
}

std::vector<ShownLine> complaints(const Evidence& evidence) {
  std::vector<ShownLine> lines;
  for (const auto& log : evidence.all<NcclLog>())
    add_lines(lines, evidence.lines(
                         *log.reading,
                         [](std::string_view line) {
                           return (line.find("posix_fallocate") != std::string_view::npos &&
                                   line.find("No space left") != std::string_view::npos) ||
                                  line.find("Error while creating shared memory segment") !=
                                      std::string_view::npos;
                         },
                         3));
  return lines;
}

bool has_connected(const Evidence& evidence) {
  return std::ranges::any_of(evidence.all<NcclLog>(), [&](const auto& log) {
    return !evidence.lines_with(*log.reading, "Connected all rings", 1).empty();
  });
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  if (auto lines = complaints(evidence); !lines.empty())
    return {diagnosis_of(Certainty::certain, "NCCL could not make its segment in /dev/shm",
                         std::move(lines))};
  if (has_worked(evidence) || has_connected(evidence)) return {};  // it had room
  const auto available = evidence.host_value(HostFactKind::shared_memory, "available");
  const auto bytes = parse_int(available ? available->value : "", 0, INT64_MAX);
  const auto gpus = evidence.gpus();
  if (!bytes || !gpus || *gpus < 2) return {};
  int channels = least_channels;
  for (const auto& log : evidence.all<NcclLog>())
    channels = std::max(channels, log->channels.value_or(0));
  const auto needed = segment_bytes * channels * *gpus;
  if (*bytes >= needed) return {};
  const auto staging = staging_of(evidence);
  auto found = diagnosis_of(
      staging ? Certainty::likely : Certainty::possible,
      fmt::format(
          "/dev/shm has {:.0f} MiB free; {} ranks with {} channels need about {:.0f} MiB (a rule "
          "of thumb){}",
          static_cast<double>(*bytes) / mib, *gpus, channels, static_cast<double>(needed) / mib,
          staging ? "" : " if they do not reach each other directly"),
      {available->line});
  if (staging) add_lines(found.shown, staging->lines, 4);
  found.decided_by = {Input::peer_matrix, Input::nccl_log};
  return {std::move(found)};
}

}  // namespace

Rule small_shared_memory_rule() {
  return {.id = "D19",
          .title = "/dev/shm is too small",
          .source =
              "NVIDIA/nccl#290, #342, #473, #525, pytorch/torchtitan#853, "
              "vllm-project/vllm#1710, dmlc/xgboost#5963, PaddlePaddle/Paddle#29331",
          .inputs = {Input::shared_memory, Input::nccl_log},
          .find = find};
}

}  // namespace ringside
