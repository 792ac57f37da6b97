// SPDX-License-Identifier: MIT
/// D40: a version of NCCL that is known to hang or fail on these GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ringside/base/text.hpp"
#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"
#include "ringside/topology/diagnose/rules/tables.hpp"

namespace ringside {
namespace {

using Version = std::array<int, 3>;

struct KnownBug {
  std::vector<std::string_view> gpus;  ///< signs in models, small letters; none: all
  Version from, fixed;
  Certainty certainty;
  std::string_view what, source;
};

const std::vector<KnownBug>& known_bugs() {
  static const std::vector<KnownBug> all = {
      {{"rtx 5090", "rtx 5080", "rtx 5070", "rtx 5060", "rtx pro 6000", "rtx pro 5000"},
       {2, 0, 0},
       {2, 26, 2},
       Certainty::likely,
       "its kernels need more shared memory than these GPUs have: it fails or hangs",
       "NVIDIA/nccl#1637, NVIDIA/nccl-tests#291"},
      {{},
       {2, 29, 2},
       {2, 29, 3},
       Certainty::possible,
       "collectives of this release may hang",
       "pytorch/pytorch#174338"},
      {{"a100"},
       {2, 7, 0},
       {2, 7, 6},
       Certainty::possible,
       "the first releases for this GPU had errors",
       "pytorch/pytorch#42645"},
  };
  return all;
}

/// "2.26.2+cuda12.8" -> 2, 26, 2.
std::optional<Version> version_in(std::string_view text) {
  const auto parts = split(text.substr(0, text.find_first_of("+ -")), '.');
  if (parts.size() != 3) return std::nullopt;
  Version version{};
  for (std::size_t i = 0; i < version.size(); ++i) {
    const auto number = parse_int(parts[i], 0, 999);
    if (!number) return std::nullopt;
    version[i] = static_cast<int>(*number);
  }
  return version;
}

/// 22602 -> 2, 26, 2; up to 2.8 a digit for the second: 2708 is 2.7.8 (nccl.h).
Version version_of_code(int code) {
  if (code >= 10'000) return {code / 10'000, code / 100 % 100, code % 100};
  return {code / 1000, code / 100 % 10, code % 100};
}

struct UsedVersion {
  Version version{};
  ShownLine line;
};

std::vector<ShownLine> lines_anywhere(const Evidence& evidence, const std::string& source,
                                      std::string_view part) {
  std::vector<ShownLine> lines;
  for (const auto& each : evidence.sources)
    if (each.name == source)
      for (const auto& line : each.text.lines)
        if (line.text.find(part) != std::string::npos) {
          if (const auto found = evidence.line(source, line.number)) lines.push_back(*found);
          break;
        }
  return lines;
}

std::optional<UsedVersion> used_version(const Evidence& evidence) {
  const auto with_line = [&](const Version& version, const std::string& source,
                             std::string_view part) {
    const auto lines = lines_anywhere(evidence, source, part);
    return UsedVersion{version, lines.empty() ? ShownLine{} : lines.front()};
  };
  for (const auto& log : evidence.all<NcclLog>())
    if (const auto version = version_in(log->version))
      return with_line(*version, log.reading->source, "NCCL version ");
  for (const auto& table : evidence.all<CollectiveRows>())
    if (table->nccl_code && !table->rccl)
      return with_line(version_of_code(*table->nccl_code), table.reading->source, "nccl-library=");
  return std::nullopt;
}

std::string text_of(const Version& version) {
  return fmt::format("{}.{}.{}", version[0], version[1], version[2]);
}

bool concerns(const KnownBug& bug, const Evidence& evidence) {
  return bug.gpus.empty() || std::ranges::any_of(bug.gpus, [&](std::string_view sign) {
           return has_model(evidence, sign);
         });
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  const auto used = used_version(evidence);
  if (!used || evidence.gpus().value_or(2) < 2 || has_worked(evidence)) return {};
  for (const auto& bug : known_bugs()) {
    if (used->version < bug.from || used->version >= bug.fixed || !concerns(bug, evidence))
      continue;
    Diagnosis found;
    found.certainty = bug.certainty;
    found.harm = Harm::hang;
    found.why = fmt::format("NCCL {}: {} ({})", text_of(used->version), bug.what, bug.source);
    if (!used->line.text.empty()) found.shown = {used->line};
    found.confirm = fmt::format("all_reduce_perf built with NCCL {} or newer runs on these GPUs",
                                text_of(bug.fixed));
    found.fix = fmt::format(
        "NCCL {} or newer (PyTorch: the nvidia-nccl package); until then NCCL_P2P_DISABLE=1 may "
        "help",
        text_of(bug.fixed));
    found.decided_by = {Input::collective};
    return {std::move(found)};
  }
  return {};
}

}  // namespace

Rule known_bugs_rule() {
  return {.id = "D40",
          .title = "This version of NCCL has a known error on these GPUs",
          .source =
              "NVIDIA/nccl#1637, NVIDIA/nccl-tests#291, #117, NVIDIA/nccl#1614, "
              "pytorch/pytorch#174338, #42645",
          .inputs = {Input::nccl_log},
          .find = find};
}

}  // namespace ringside
