// SPDX-License-Identifier: MIT
/// Writes docs/algorithms.md, whose numbers come from the plans.
///
/// usage: algorithms_page --write FILE   ("-": standard output)
///        algorithms_page --check FILE   exit 1 if FILE is not that page
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/file.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/cost.hpp"
#include "ringside/collectives/prover.hpp"

namespace ringside {
namespace {

/// What cannot be counted: formulas (tests/collectives/algorithms_test.cpp holds the plans to them)
/// and words. n ranks, S bytes, p the greatest power of two in n.
struct Entry {
  const char* spec;
  const char* steps;
  const char* sent;
  const char* order;
};

constexpr Entry entries[] = {
    {"naive", "n", "(n-1) S", "0, 1, 2, ..."},
    {"chain", "2 (n-1) + k - 1 in k slices", "2 S (S each way)", "along the chain"},
    {"binomial", "2 ceil(log2 n)", "ceil(log2 n) S", "balanced tree"},
    {"double_tree", "2 floor(log2 n)", "2 S (n = 2: S, n = 3: 3/2 S)", "two trees, by half"},
    {"recursive_doubling", "log2 p (+ 2 if n > p)", "log2 p S (+ S if n > p)", "balanced tree"},
    {"halving_doubling", "2 log2 p (+ 2 if n > p)", "2 S (p-1)/p (+ S if n > p)", "balanced tree"},
    {"ring", "2 (n-1)", "2 S (n-1)/n", "rotated by chunk"},
    {"bidirectional_ring", "2 (n-1)", "2 S (n-1)/n, half each way", "rotated by chunk"},
    {"one_shot", "1", "(n-1) S", "0, 1, 2, ..."},
    {"one_shot:transfer=push", "1", "(n-1) S", "0, 1, 2, ..."},
    {"two_shot", "2", "2 S (n-1)/n", "0, 1, 2, ..."},
    {"two_shot:transfer=push", "n", "2 S (n-1)/n", "0, 1, 2, ..."},
    {"two_shot:transfer=pull", "n", "2 S (n-1)/n", "0, 1, 2, ..."},
    {"neighbour_push", "2 (n-1)", "2 S (n-1)/n", "rotated by chunk"},
    {"hierarchical", "sum of the levels; 4 for two equal groups", "S (2 - 1/g) in groups of g",
     "inside groups, then across"},
};

constexpr const char* head = R"(# All-reduce algorithms

<!-- Generated: `cmake --build --preset release --target docs` writes this file. -->

n ranks, S bytes per rank. A *step* is a hop on the longest path: an op that reads another rank's
memory makes one, one that writes to another's makes one (more). *Sent* is what leaves the busiest
rank, by its own pushes or read by others. Each algorithm's file in `collectives/algorithms/` shows
the data after every step and names the paper; `ringside plan SPEC --ranks N --show` draws it for
your n.

## Formulas

p is the greatest power of two in n.

| algorithm | steps | bytes sent, busiest rank | order of additions |
|---|---|---|---|
)";

constexpr const char* counted_head = R"(
## Counted

From the plans, in place. *Transfers* are copies over links, *scratch* is what a rank needs beside
its buffers.

)";

constexpr const char* facts_head = R"(
## Facts

Derived by the prover for 8 ranks; they decide which bits come out. *Rank order*: every element is
added as ((0 + 1) + 2) + ... *One rounding*: a single op adds up all contributions, so 16-bit floats
are rounded once. *Uniform*: all chunks are added in the same way, so the bits do not depend on the
message's size. With every algorithm all ranks get the same bits, whatever the slices, lanes and
timing.

| algorithm | rank order | one rounding | uniform |
|---|---|---|---|
)";

constexpr const char* parameters_head = R"(
## Parameters

In a spec string: `NAME:PARAMETER=VALUE,...`; a value with commas stands in parentheses.

| algorithm | parameter | default | meaning |
|---|---|---|---|
)";

std::string in_s(std::uint64_t bytes, std::uint64_t size) {
  if (bytes == 0) return "0";
  return fmt::format("{:.4g} S", static_cast<double>(bytes) / static_cast<double>(size));
}

std::string counted_table(int ranks) {
  std::string text = fmt::format(
      "| {} ranks | steps | ops | transfers | sent | received | scratch |\n"
      "|---|---|---|---|---|---|---|\n",
      ranks);
  constexpr std::size_t size = 5040;  // divides evenly among the chunks of these plans
  const std::vector<std::size_t> elements = {size};
  for (const Entry& entry : entries) {
    const Plan plan = make_plan(entry.spec, {.ranks = ranks, .in_place = true});
    const Cost cost = cost_of(plan, elements, 16);
    const auto scratch = *std::max_element(cost.scratch.begin(), cost.scratch.end());
    text += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} |\n", entry.spec, cost.steps,
                        cost.ops, cost.transfers, in_s(cost.busiest_sent(), size * 16),
                        in_s(cost.busiest_received(), size * 16), in_s(scratch, size * 16));
  }
  return text;
}

std::string facts_table() {
  std::string text;
  const auto word = [](bool fact) { return fact ? "yes" : "no"; };
  for (const Entry& entry : entries) {
    const ProofFacts facts =
        require_proof(make_plan(entry.spec, {.ranks = 8, .in_place = true}), true).facts;
    text += fmt::format("| `{}` | {} | {} | {} |\n", entry.spec, word(facts.rank_order),
                        word(facts.one_rounding), word(facts.uniform));
  }
  return text;
}

std::string parameters_table() {
  std::string text;
  const auto add = [&](const std::string& owner, std::span<const ParameterInfo> parameters) {
    for (const auto& parameter : parameters)
      text += fmt::format("| {} | `{}` | {} | {} |\n", owner, parameter.name,
                          parameter.default_text, parameter.meaning);
  };
  add("all", common_parameters());
  for (const AlgorithmInfo& info : registered_algorithms())
    add("`" + info.name + "`", info.parameters);
  return text;
}

std::string page() {
  std::string text = head;
  for (const Entry& entry : entries)
    text +=
        fmt::format("| `{}` | {} | {} | {} |\n", entry.spec, entry.steps, entry.sent, entry.order);
  text += counted_head + counted_table(4) + "\n" + counted_table(8);
  text += facts_head + facts_table();
  return text + parameters_head + parameters_table();
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() != 2 || (arguments[0] != "--write" && arguments[0] != "--check")) {
    fmt::print(stderr, "usage: algorithms_page --write FILE | --check FILE\n");
    return 2;
  }
  if (arguments[0] == "--write") {
    write_file(arguments[1], page());
    return 0;
  }
  if (read_file(arguments[1]) == page()) return 0;
  fmt::print(stderr, "{} is out of date: build the target `docs`\n", arguments[1]);
  return 1;
}

}  // namespace
}  // namespace ringside

int main(int argc, char** argv) {
  try {
    return ringside::run({argv + 1, argv + argc});
  } catch (const ringside::Error& error) {
    fmt::print(stderr, "algorithms_page: {}\n", error.what());
    return 2;
  }
}
