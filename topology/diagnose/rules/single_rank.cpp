// SPDX-License-Identifier: MIT
/// D37: every process was alone in its world, so nothing was communicated.
#include <fmt/format.h>

#include <algorithm>

#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"
#include "ringside/topology/diagnose/rules/tables.hpp"

namespace ringside {
namespace {

bool moved_nothing(const CollectiveRows& table) {
  return std::ranges::all_of(table.rows, [](const CollectiveRow& row) {
    const auto timing = timing_of(row);
    return !timing || timing->busbw == 0;
  });
}

bool all_are_rank_zero(const CollectiveRows& table) {
  return table.listed.size() > 1 &&
         std::ranges::all_of(table.listed, [](const ListedRank& each) { return each.rank == 0; });
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  for (const auto& table : evidence.all<CollectiveRows>()) {
    const bool many = all_are_rank_zero(*table.facts);
    // Rates of small messages are rounded to 0, whatever the number of ranks.
    const bool has_large = std::ranges::any_of(
        table->rows, [](const CollectiveRow& row) { return row.size >= std::uint64_t{1} << 20; });
    const bool alone = table->ranks == 1 && has_large && moved_nothing(*table.facts);
    if (!many && !alone) continue;
    Diagnosis found;
    found.certainty = Certainty::certain;
    found.harm = Harm::risk;
    found.why = many ? fmt::format(
                           "all {} processes that the table lists are rank 0: each is a "
                           "world of its own, and nothing was communicated",
                           table->listed.size())
                     : "one rank has nothing to communicate: the bus bandwidth of this table is 0 "
                       "(measured), and says nothing of the machine";
    found.shown = evidence.lines(
        *table.reading,
        [](std::string_view line) { return line.find("us bandwidth") != std::string_view::npos; },
        1);
    for (const auto& source : evidence.sources)
      if (source.name == table.reading->source)
        for (const auto& line : source.text.lines)
          if (line.text.find("Rank  0") != std::string::npos && found.shown.size() < 4)
            add_lines(found.shown, {evidence.line(source.name, line.number).value_or(ShownLine{})});
    found.fix =
        "all_reduce_perf -g N for N GPUs of one process; for mpirun build nccl-tests with MPI=1";
    return {std::move(found)};
  }
  return {};
}

}  // namespace

Rule single_rank_rule() {
  return {.id = "D37",
          .title = "Every rank was alone: nothing was measured",
          .source = "NVIDIA/nccl-tests#249, #294, #254, #71",
          .inputs = {Input::collective},
          .find = find};
}

}  // namespace ringside
