// SPDX-License-Identifier: MIT
/// Plans as text: our JSON (read and written), Graphviz, and pictures for a terminal.
#pragma once

#include <string>
#include <string_view>

#include "ringside/collectives/plan.hpp"

namespace ringside {

/// The version this library writes; it reads this one only.
inline constexpr int plan_json_version = 1;

/// Our JSON, one op a line:
///
///     {"ringside_plan": 1, "spec": "...", "collective": "all_reduce", "ranks": 4, "root": 0,
///      "in_place": false, "chunks_per_block": 4, "lanes": 1, "slices": 1, "depth": 1,
///      "scratch": [{"rank": 0, "slot": 0, "first_chunk": 0, "chunk_count": 1, "place": "device"}],
///      "ops": [{"rank": 1, "lane": 0, "count": 1, "sources": [[0, "input", 3]],
///               "destinations": [[1, "scratch", 3, 0]]}]}
///
/// A location is [rank, buffer, chunk], for scratch [rank, "scratch", chunk, slot]. The slots of a
/// rank are listed in order.
[[nodiscard]] std::string plan_to_json(const Plan& plan);

/// Reads it with suspicion: unknown or missing keys, wrong types, numbers out of range, an unknown
/// version, ill-formed ops, and whatever would take more memory or time than a plan may, are
/// Error(bad_input) in one line with `name` and the path of the fault
/// ("plan: $.ops[3].sources[0]: ..."). The result is well formed; whether it is *right* the prover
/// says.
[[nodiscard]] Plan plan_from_json(std::string_view text, const std::string& name = "plan");

/// The ops as a Graphviz digraph: a cluster per rank, an edge per derived wait (dashed where it
/// reaches back to an earlier slice), a dotted one from each op to the next of its lane.
[[nodiscard]] std::string plan_to_dot(const Plan& plan);

/// The data after every step (ops at equal depth of the critical path are one step): per rank and
/// chunk the ranks added so far, '*' when complete, and below it the step's ops; at most 100
/// columns wide. Plans too wide for that are summarised: how much is complete after every step, and
/// some of the ops. Long plans are cut after `most_steps` steps with a line that says so.
[[nodiscard]] std::string show_plan(const Plan& plan, int most_steps = 64);

/// An op in short: "o1[3] = i0 + o1" (output chunk 3 of rank 1 gets the sum of two ranks' chunks
/// 3), "s2.0[0-3] = o1 by 1" (a push to scratch slot 0 of rank 2). Long lists are abridged.
[[nodiscard]] std::string short_text(const Op& op);

}  // namespace ringside
