// SPDX-License-Identifier: MIT
/// Plans as Graphviz digraphs.
#include <fmt/format.h>

#include <iterator>

#include "ringside/base/graphviz.hpp"
#include "ringside/collectives/dependencies.hpp"
#include "ringside/collectives/plan_io.hpp"

namespace ringside {

std::string plan_to_dot(const Plan& plan) {
  const Schedule schedule = make_schedule(plan);
  std::string text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "digraph plan {{\n  label={};\n  rankdir=LR;\n  node [shape=box];\n",
                 graphviz_string(fmt::format("{}, {} ranks", plan.spec(), plan.ranks())));
  for (int rank = 0; rank < plan.ranks(); ++rank) {
    fmt::format_to(out, "  subgraph cluster_{} {{\n    label=\"rank {}\";\n", rank, rank);
    for (int lane = 0; lane < schedule.lanes; ++lane) {
      const auto& stream = schedule.streams[static_cast<std::size_t>(rank * schedule.lanes + lane)];
      for (const int op : stream)
        fmt::format_to(out, "    op{} [label={}];\n", op,
                       graphviz_string(short_text(plan.op(static_cast<std::size_t>(op)))));
      for (std::size_t i = 1; i < stream.size(); ++i)
        fmt::format_to(out, "    op{} -> op{} [style=dotted];\n", stream[i - 1], stream[i]);
    }
    fmt::format_to(out, "  }}\n");
  }
  for (int op = 0; op < static_cast<int>(plan.size()); ++op)
    for (const Wait& wait : schedule.waits(op)) {
      const int earlier = schedule.streams[static_cast<std::size_t>(wait.stream)]
                                          [static_cast<std::size_t>(wait.position)];
      fmt::format_to(out, "  op{} -> op{}", earlier, op);
      if (wait.lag > 0) fmt::format_to(out, " [style=dashed, label=\"slice - {}\"]", wait.lag);
      fmt::format_to(out, ";\n");
    }
  text += "}\n";
  return text;
}

}  // namespace ringside
