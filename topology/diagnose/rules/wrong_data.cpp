// SPDX-License-Identifier: MIT
/// D03: peer access is announced, but what arrives is not what was sent.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "ringside/base/text.hpp"
#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"

namespace ringside {
namespace {

constexpr const char* fix =
    "until it is mended use no peer access: set NCCL_P2P_DISABLE=1 for the job (Ringside stages by "
    "itself what its check of the paths rejects). Then try iommu=pt on the kernel's command line, "
    "or "
    "another driver, and check again";
constexpr const char* confirm =
    "ringside bench --preflight compares the data of every path, with and without peer access";

/// Of the kinds of fault those in which data arrived other than they were sent.
bool is_damage(const PairFault& fault) {
  return fault.kind != "hang" && fault.kind != "error" && fault.kind != "unfinished";
}

/// What nccl-tests counts as wrong: a whole number above 0.
std::optional<std::string> wrong_values(const CollectiveRows& table) {
  for (const auto& row : table.rows)
    for (const auto& timing : {row.out_of_place, row.in_place})
      if (timing && parse_int(timing->check, 1, INT64_MAX)) return std::to_string(row.size);
  return std::nullopt;
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  Diagnosis found;
  found.harm = Harm::wrong_data;
  found.fix = fix;
  found.confirm = confirm;
  const auto& faults = evidence.measured.faults;
  const auto damage = std::ranges::find_if(faults, is_damage);
  if (damage != faults.end()) {
    found.certainty = Certainty::certain;
    found.why = fmt::format("compared copies differ on {} path{}, first: {}",
                            std::ranges::count_if(faults, is_damage),
                            std::ranges::count_if(faults, is_damage) == 1 ? "" : "s", damage->text);
    for (const auto& report : evidence.all<PreflightReport>())
      add_lines(found.shown, evidence.lines_with(*report.reading, damage->kind, 3));
    return {std::move(found)};
  }
  for (const auto& table : evidence.all<CollectiveRows>()) {
    const auto size = wrong_values(*table.facts);
    if (!size) continue;
    found.certainty = Certainty::likely;
    found.why = fmt::format(
        "the test counts wrong values (first at {} bytes): sums on some rank are not what was sent",
        *size);
    found.shown = evidence.lines(
        *table.reading,
        [&](std::string_view line) {
          const auto words = split_blanks(line);
          return !words.empty() && words.front() == *size;
        },
        2);
    found.decided_by = {Input::verified_copies, Input::kernel_command_line};
    return {std::move(found)};
  }
  return {};
}

}  // namespace

Rule wrong_data_rule() {
  return {.id = "D03",
          .title = "What one GPU sends to another arrives wrong",
          .source =
              "pytorch/pytorch#84803, FIDESlib#28, NVIDIA/open-gpu-kernel-modules#1257, "
              "noonghunna/club-3090#922, unslothai/unsloth#10613",
          .inputs = {Input::verified_copies, Input::collective},
          .find = find};
}

}  // namespace ringside
