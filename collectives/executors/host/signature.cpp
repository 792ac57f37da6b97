// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/host/signature.hpp"

#include <fmt/format.h>

#include <bit>

namespace ringside::host {
namespace {

constexpr std::uint64_t seed = 0x9e3779b97f4a7c15ULL;

/// A bijection in either argument, so hashes of words that differ in one place always differ.
std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0xbf58476d1ce4e5b9ULL;
  return hash ^ (hash >> 31);
}

std::uint64_t hash_of(std::span<const std::size_t> lengths) {
  std::uint64_t hash = seed;
  for (const auto length : lengths) hash = mixed(hash, length);
  return hash;
}

std::string_view name_of(const Signature& signature) {
  const bool split = signature.collective == Collective::all_gather && signature.op == split_mark;
  return split ? "split" : to_string(signature.collective);
}

}  // namespace

Signature Signature::of(const Call& call, int ranks, std::uint64_t plan_hash, const char* spec) {
  Signature signature{.collective = call.collective,
                      .type = call.type,
                      .op = call.op,
                      .root = call.root,
                      .placement = call.placement,
                      .elements = total_elements(call, ranks),
                      .blocks_hash = hash_of(call.blocks),
                      .plan_hash = plan_hash,
                      .spec = spec};
  if (call.op == ReduceOp::premul_sum) signature.scalar = call.options->scalar;
  return signature;
}

std::uint64_t digest_of(const Signature& s) {
  const auto small =
      static_cast<std::uint64_t>(s.collective) | static_cast<std::uint64_t>(s.type) << 8 |
      static_cast<std::uint64_t>(s.op) << 16 | static_cast<std::uint64_t>(s.in_stream) << 24 |
      static_cast<std::uint64_t>(s.summed) << 25 | static_cast<std::uint64_t>(s.root) << 32;
  std::uint64_t digest = seed;
  for (const auto word : {small, std::uint64_t{s.elements}, s.blocks_hash,
                          std::bit_cast<std::uint64_t>(s.scalar), s.plan_hash})
    digest = mixed(digest, word);
  return (digest & ~placement_bits) | static_cast<std::uint64_t>(s.placement);
}

SignedCall barrier_within_call() {
  return signed_by({.collective = Collective::barrier, .summed = true});
}

std::string differences(const Signature& a, const Signature& b) {
  std::string text;
  const auto add = [&](bool differs, const char* what, const auto& mine, const auto& theirs) {
    if (differs)
      text += fmt::format("{}{} ({} and {})", text.empty() ? "" : ", ", what, mine, theirs);
  };
  add(name_of(a) != name_of(b), "collective", name_of(a), name_of(b));
  if (name_of(a) == "split" || name_of(b) == "split") return text;  // the rest says nothing
  add(a.elements != b.elements, "elements", a.elements, b.elements);
  if (a.elements == b.elements && a.blocks_hash != b.blocks_hash)
    text += text.empty() ? "block lengths" : ", block lengths";
  add(a.type != b.type, "type", to_string(a.type), to_string(b.type));
  add(a.op != b.op, "operator", to_string(a.op), to_string(b.op));
  add(a.root != b.root, "root", a.root, b.root);
  const bool placed = a.placement != Placement::either && b.placement != Placement::either;
  add(placed && a.placement != b.placement, "placement", to_string(a.placement),
      to_string(b.placement));
  add(std::bit_cast<std::uint64_t>(a.scalar) != std::bit_cast<std::uint64_t>(b.scalar), "scalar",
      a.scalar, b.scalar);
  const auto on = [](bool is_on) { return is_on ? "on" : "off"; };
  add(a.summed != b.summed, "checksum", on(a.summed), on(b.summed));
  const auto stream = [](bool given) { return given ? "one" : "none"; };
  add(a.in_stream != b.in_stream, "stream", stream(a.in_stream), stream(b.in_stream));
  // The placement is part of the plan: that alone is no different algorithm.
  const bool same_spec = std::string_view(a.spec) == b.spec;
  if (a.plan_hash != b.plan_hash && !same_spec) add(true, "algorithm", a.spec, b.spec);
  if (a.plan_hash != b.plan_hash && same_spec && text.empty())
    text = fmt::format(
        "the plan that {} names (hashes {:016x} and {:016x}: another file, plug-in or version)",
        a.spec, a.plan_hash, b.plan_hash);
  return text;
}

std::string describe(const Signature& signature) {
  std::string text(name_of(signature));
  if (signature.collective == Collective::barrier || text == "split") return text;
  text += fmt::format(" of {} {}", signature.elements, to_string(signature.type));
  if (reduces(signature.collective)) text += fmt::format(", {}", to_string(signature.op));
  if (has_root(signature.collective)) text += fmt::format(", root {}", signature.root);
  if (signature.placement != Placement::either)
    text += fmt::format(", {}", to_string(signature.placement));
  return text + ", " + signature.spec;
}

}  // namespace ringside::host
