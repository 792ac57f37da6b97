// SPDX-License-Identifier: MIT
/// Writes docs/algorithms.md, whose numbers come from the plans.
///
/// usage: algorithms_page --write FILE   ("-": standard output)
///        algorithms_page --check FILE   exit 1 if FILE is not that page
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/file.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/cost.hpp"
#include "ringside/collectives/prover.hpp"

namespace ringside {
namespace {

/// What cannot be counted: formulas (algorithms_test.cpp and every_collective_test.cpp in
/// tests/collectives hold the plans to them) and words. n ranks, S bytes, p the greatest power of
/// two in n.
struct Entry {
  const char* spec;
  const char* steps;
  const char* bytes;  // sent by the busiest rank, or received by it: see Section
  const char* order;  // of additions, where there are any
};

constexpr Entry all_reduce[] = {
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

constexpr Entry reduce_scatter[] = {
    {"ring", "n-1", "S (n-1)/n", "rotated by block"},
    {"recursive_halving", "log2 p (+ 2 if n > p)", "S (n-1)/n (S if n > p)", "balanced tree"},
    {"direct", "1", "S (n-1)/n", "0, 1, 2, ..."},
};

constexpr Entry all_gather[] = {
    {"ring", "n-1", "S (n-1)/n", ""},
    {"recursive_doubling", "log2 n (powers of two only)", "S (n-1)/n", ""},
    {"bruck", "ceil(log2 n)", "S (n-1)/n", ""},
    {"direct", "1", "S (n-1)/n", ""},
};

constexpr Entry broadcast[] = {
    {"linear", "1", "(n-1) S", ""},
    {"chain", "n-1 + k - 1 in k slices", "S", ""},
    {"binomial", "ceil(log2 n)", "ceil(log2 n) S", ""},
    {"scatter_all_gather", "n", "2 S (n-1)/n", ""},
};

constexpr Entry reduce[] = {
    {"linear", "1", "(n-1) S", "0, 1, 2, ..."},
    {"chain", "n-1 + k - 1 in k slices", "S", "along the chain"},
    {"binomial", "ceil(log2 n)", "ceil(log2 n) S", "balanced tree, for any root"},
};

constexpr Entry gather[] = {
    {"linear", "1", "S (n-1)/n", ""},
    {"binomial", "ceil(log2 n)", "S (n-1)/n", ""},
};

constexpr Entry scatter[] = {
    {"linear", "1", "S (n-1)/n", ""},
    {"binomial", "ceil(log2 n)", "S (n-1)/n", ""},
};

constexpr Entry all_to_all[] = {
    {"pairwise", "n-1", "S (n-1)/n", ""},
    {"direct", "ceil((n-1) / 16)", "S (n-1)/n", ""},
};

/// One collective.
struct Section {
  Collective collective;
  std::span<const Entry> entries;
  const char* s;                     // what S is
  const char* bytes = "bytes sent";  // of the busiest rank: the way that limits
  bool adds = false;
};

constexpr Section sections[] = {
    {Collective::all_reduce, all_reduce, "the data of a rank", "bytes sent", true},
    {Collective::reduce_scatter, reduce_scatter, "a rank's input, all blocks", "bytes sent", true},
    {Collective::all_gather, all_gather, "a rank's output, all blocks"},
    {Collective::broadcast, broadcast, "the data"},
    {Collective::reduce, reduce, "the data of a rank", "bytes received", true},
    {Collective::gather, gather, "the root's output, all blocks", "bytes received"},
    {Collective::scatter, scatter, "the root's input, all blocks"},
    {Collective::all_to_all, all_to_all, "a rank's input, all blocks"},
};

/// A request of the page: in place where that can be, root 0.
Request request_of(const Section& section, int ranks) {
  return {section.collective, ranks, 0, section.collective != Collective::all_to_all};
}

constexpr const char* head = R"(# Algorithms

<!-- Generated: `cmake --build --preset release --target docs` writes this file. -->

n ranks, S bytes. A *step* is a hop on the longest path: an op that reads another rank's memory
makes one, one that writes to another's makes one (more). *Sent* is what leaves the busiest rank, by
its own pushes or read by others. Each algorithm's file in `collectives/algorithms/` shows the data
after every step and names the paper; `ringside plan SPEC --collective WORD --ranks N --show` draws
it for your n.

Of each collective: the formulas, in which p is the greatest power of two in n; then what is counted
from the plans, in place (all_to_all: out of place), with root 0. *Transfers* are copies over links,
*scratch* is what a rank needs beside its buffers.
)";

constexpr const char* facts_head = R"(
## Facts

Derived by the prover for 8 ranks, root 0; they decide which bits come out. *Rank order*: every
element is added as ((0 + 1) + 2) + ... *One rounding*: a single op adds up all contributions, so
narrow floats are rounded once. *Uniform*: all chunks are added in the same way, so the bits do not
depend on the message's size. With every algorithm all ranks get the same bits, whatever the slices,
lanes and timing.

| collective | algorithm | rank order | one rounding | uniform |
|---|---|---|---|---|
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

std::string counted_table(const Section& section, int ranks) {
  std::string text = fmt::format(
      "| {} ranks | steps | ops | transfers | sent | received | scratch |\n"
      "|---|---|---|---|---|---|---|\n",
      ranks);
  constexpr std::size_t size = 5040;  // divides evenly among the chunks of these plans
  const Request request = request_of(section, ranks);
  const auto blocks = static_cast<std::size_t>(block_count(request));
  const std::vector<std::size_t> elements(
      blocks, blocks == 1 ? size : size / static_cast<std::size_t>(ranks));
  for (const Entry& entry : section.entries) {
    const Cost cost = cost_of(make_plan(entry.spec, request), elements, 16);
    const auto scratch = *std::max_element(cost.scratch.begin(), cost.scratch.end());
    text += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} |\n", entry.spec, cost.steps,
                        cost.ops, cost.transfers, in_s(cost.busiest_sent(), size * 16),
                        in_s(cost.busiest_received(), size * 16), in_s(scratch, size * 16));
  }
  return text;
}

std::string formula_table(const Section& section) {
  std::string text =
      fmt::format("| algorithm | steps | {}, busiest rank |{}\n|---|---|---|{}\n", section.bytes,
                  section.adds ? " order of additions |" : "", section.adds ? "---|" : "");
  for (const Entry& entry : section.entries) {
    text += fmt::format("| `{}` | {} | {} |", entry.spec, entry.steps, entry.bytes);
    text += section.adds ? fmt::format(" {} |\n", entry.order) : "\n";
  }
  return text;
}

std::string section_text(const Section& section) {
  return fmt::format("\n## {}\n\nS: {}.\n\n{}\n{}\n{}", to_string(section.collective), section.s,
                     formula_table(section), counted_table(section, 4), counted_table(section, 8));
}

std::string facts_table() {
  std::string text;
  const auto word = [](bool fact) { return fact ? "yes" : "no"; };
  for (const Section& section : sections) {
    if (!section.adds) continue;
    for (const Entry& entry : section.entries) {
      const ProofFacts facts =
          require_proof(make_plan(entry.spec, request_of(section, 8)), true).facts;
      text +=
          fmt::format("| {} | `{}` | {} | {} | {} |\n", to_string(section.collective), entry.spec,
                      word(facts.rank_order), word(facts.one_rounding), word(facts.uniform));
    }
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
  for (const Section& section : sections) text += section_text(section);
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
