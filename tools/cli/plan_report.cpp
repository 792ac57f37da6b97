// SPDX-License-Identifier: MIT
#include "ringside/tools/cli/plan_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/json_write.hpp"
#include "ringside/base/text.hpp"
#include "ringside/collectives/layout.hpp"

namespace ringside::cli {
namespace {

constexpr std::size_t most_ranks_listed = 64;
constexpr std::size_t most_links_listed = 128;

/// Where a figure comes from; every figure of this command has the same source.
constexpr std::string_view label = "counted from the plan: neither measured nor predicted";

std::string count_of(std::size_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::string request_text(const Request& request) {
  std::string text = fmt::format("{}, {}, {}", to_string(request.collective),
                                 count_of(static_cast<std::size_t>(request.ranks), "rank"),
                                 request.in_place ? "in place" : "out of place");
  if (request.root != 0) text += fmt::format(", root {}", request.root);
  return text;
}

std::string shape_text(const Plan& plan) {
  const auto count = [](int number, std::string_view noun) {
    return count_of(static_cast<std::size_t>(number), noun);
  };
  const Shape& shape = plan.shape();
  std::string text = fmt::format("{}, {} a rank, {} a chunk", count(plan.chunks(), "chunk"),
                                 count(shape.lanes, "lane"), count(shape.slices, "slice"));
  if (plan.uses_scratch()) text += fmt::format(", scratch {} deep", count(shape.depth, "slice"));
  return text;
}

/// The facts with what they mean where they hold and where not, in the order in which they are
/// printed.
struct Fact {
  std::string_view name;
  bool holds;
  std::string_view meaning, opposite;
};

std::array<Fact, 4> facts_of(const Proof& proof) {
  const ProofFacts& facts = proof.facts;
  return {{{"same_on_all_ranks", facts.same_on_all_ranks, "all ranks end with the same bits",
            "ranks may end with different bits"},
           {"uniform", facts.uniform, "the bits do not depend on the size of the message",
            "the bits may depend on the size of the message"},
           {"rank_order", facts.rank_order, "every element is added in the order of the ranks",
            "elements are added in other orders than that of the ranks"},
           {"one_rounding", facts.one_rounding, "every element is rounded only once",
            "elements are rounded more than once"}}};
}

std::string fact_lines(const Proof& proof, std::string_view indent) {
  std::string text;
  for (const auto& [name, holds, meaning, opposite] : facts_of(proof))
    text += fmt::format("{}{:<17}  {:<3}  {}\n", indent, name, holds ? "yes" : "no",
                        holds ? meaning : opposite);
  return text;
}

std::string bytes_text(std::uint64_t bytes) {
  const std::string rounded = format_bytes(bytes);
  return bytes < 1024 ? rounded : fmt::format("{} ({} B)", rounded, bytes);
}

/// " = 1.5 x the message"; nothing for an empty message.
std::string ratio_text(std::uint64_t part, std::uint64_t message) {
  if (message == 0) return {};
  return fmt::format(" = {:.4g} x the message",
                     static_cast<double>(part) / static_cast<double>(message));
}

std::string totals_text(const Cost& cost, std::uint64_t bytes, std::string_view indent) {
  const auto line = [&](std::string_view name, const std::string& value, std::string_view meaning) {
    return fmt::format("{}{:<17}  {}{}{}\n", indent, name, value, meaning.empty() ? "" : "  ",
                       meaning);
  };
  const std::uint64_t scratch =
      cost.scratch.empty() ? 0 : *std::max_element(cost.scratch.begin(), cost.scratch.end());
  const auto moved = [&](std::uint64_t part) { return bytes_text(part) + ratio_text(part, bytes); };
  return line("steps", fmt::format("{}", cost.steps), "hops between ranks on the longest path") +
         line("busiest sender", moved(cost.busiest_sent()), "") +
         line("busiest receiver", moved(cost.busiest_received()), "") +
         line("links used", fmt::format("{}", cost.links.size()), "ordered pairs of ranks") +
         line("largest scratch", bytes_text(scratch), "");
}

std::string cost_heading(std::uint64_t bytes) {
  return fmt::format("cost of {} of float32 ({})", format_bytes(bytes), label);
}

Json header_json(const Plan& plan) {
  const Request& request = plan.request();
  return {{"spec", plan.spec()},
          {"collective", to_string(request.collective)},
          {"ranks", request.ranks},
          {"root", request.root},
          {"in_place", request.in_place}};
}

}  // namespace

Cost count_cost(const Plan& plan, std::uint64_t bytes) {
  if (bytes % counted_element_bytes != 0)
    throw Error(
        ErrorCode::bad_input,
        fmt::format("--bytes: the elements are float32, so a multiple of {} is needed, not {}",
                    counted_element_bytes, bytes));
  const auto blocks = static_cast<std::size_t>(block_count(plan.request()));
  std::vector<std::size_t> block_elements;
  for (std::size_t block = 0; block < blocks; ++block)
    block_elements.push_back(part_of(bytes / counted_element_bytes, blocks, block).length);
  return cost_of(plan, block_elements, counted_element_bytes);
}

std::string page_text(const Plan& plan, const Proof* proof, const Cost& cost, std::uint64_t bytes) {
  std::string text = fmt::format("{}\n", plan.spec());
  text += fmt::format("  request  {}\n", request_text(plan.request()));
  text += fmt::format("  shape    {}\n", shape_text(plan));
  text += fmt::format("  ops      {}, which make {} between ranks\n", cost.ops,
                      count_of(cost.transfers, "transfer"));
  if (proof == nullptr)
    text +=
        fmt::format("\nproof: not tried, because the prover stops at {} ranks\n", max_proven_ranks);
  else
    text += "\n" + proof_text(plan, *proof);
  return text + fmt::format("\n{}\n", cost_heading(bytes)) + totals_text(cost, bytes, "  ");
}

std::string proof_text(const Plan& plan, const Proof& proof) {
  if (!proof.holds()) return fmt::format("proof: REFUTED: {}\n", proof.refuted->message);
  return fmt::format("proof: holds for {}, {}\n", plan.spec(), request_text(plan.request())) +
         fact_lines(proof, "  ");
}

std::string proof_json(const Plan& plan, const Proof& proof) {
  Json json = header_json(plan);
  json["holds"] = proof.holds();
  if (proof.holds()) {
    for (const auto& fact : facts_of(proof)) json["facts"][std::string(fact.name)] = fact.holds;
  } else {
    Json& refutation = json["refutation"];
    refutation["message"] = proof.refuted->message;
    if (proof.refuted->op) refutation["op"] = *proof.refuted->op;
    refutation["rank"] = proof.refuted->rank;
    refutation["chunk"] = proof.refuted->chunk;
  }
  return dump_json(json);
}

std::string cost_text(const Plan& plan, const Cost& cost, std::uint64_t bytes) {
  std::string text =
      fmt::format("{}: {}\n{}\n", plan.spec(), request_text(plan.request()), cost_heading(bytes));
  text += totals_text(cost, bytes, "  ");
  text += fmt::format("\n  {:>5}  {:>20}  {:>20}  {:>20}\n", "rank", "sent (B)", "received (B)",
                      "scratch (B)");
  const std::size_t ranks = std::min(cost.sent.size(), most_ranks_listed);
  for (std::size_t rank = 0; rank < ranks; ++rank)
    text += fmt::format("  {:>5}  {:>20}  {:>20}  {:>20}\n", rank, cost.sent[rank],
                        cost.received[rank], cost.scratch[rank]);
  if (ranks < cost.sent.size())
    text += fmt::format("  ... and {} more ranks (--format json lists all)\n",
                        cost.sent.size() - ranks);
  text += fmt::format("\n  {:>5}  {:>5}  {:>20}\n", "from", "to", "moved (B)");
  const std::size_t links = std::min(cost.links.size(), most_links_listed);
  for (std::size_t link = 0; link < links; ++link)
    text += fmt::format("  {:>5}  {:>5}  {:>20}\n", cost.links[link].from, cost.links[link].to,
                        cost.links[link].bytes);
  if (links < cost.links.size())
    text += fmt::format("  ... and {} more links (--format json lists all)\n",
                        cost.links.size() - links);
  return text;
}

std::string cost_json(const Plan& plan, const Cost& cost, std::uint64_t bytes) {
  Json json = header_json(plan);
  json["kind"] = "counted";
  json["bytes"] = bytes;
  json["element_type"] = "float32";
  json["steps"] = cost.steps;
  json["ops"] = cost.ops;
  json["transfers"] = cost.transfers;
  json["sent"] = cost.sent;
  json["received"] = cost.received;
  json["scratch"] = cost.scratch;
  json["links"] = Json::array();
  for (const auto& [from, to, moved] : cost.links)
    json["links"].push_back({{"from", from}, {"to", to}, {"bytes", moved}});
  return dump_json(json);
}

}  // namespace ringside::cli
