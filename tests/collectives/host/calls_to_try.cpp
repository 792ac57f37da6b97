// SPDX-License-Identifier: MIT
#include "ringside/tests/collectives/host/calls_to_try.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "ringside/base/error.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/layout.hpp"

namespace ringside::tests {
namespace {

/// Ways to give block lengths. Each is a list for so many blocks.
constexpr int equal_ways = 5;
constexpr int unequal_ways = 5;

/// The ranks in an order that is neither rising nor a rotation of it: first the odd ones.
std::string an_order(int ranks) {
  std::string order;
  for (const int first : {1, 0})
    for (int rank = first; rank < ranks; rank += 2)
      order += fmt::format("{}{}", order.empty() ? "" : "-", rank);
  return order;
}

bool takes(const AlgorithmInfo& info, std::string_view parameter) {
  return std::any_of(info.parameters.begin(), info.parameters.end(),
                     [&](const ParameterInfo& p) { return p.name == parameter; });
}

}  // namespace

std::vector<std::string> specs_for(Collective collective, int ranks) {
  std::vector<std::string> specs = {"auto"};
  for (const AlgorithmInfo& info : registered_algorithms()) {
    if (std::find(info.collectives.begin(), info.collectives.end(), collective) ==
        info.collectives.end())
      continue;
    specs.push_back(info.name);
    if (takes(info, "order") && ranks > 2) specs.push_back(info.name + ":order=" + an_order(ranks));
    if (takes(info, "transfer"))
      for (const char* transfer : {"push", "pull"})
        specs.push_back(info.name + ":transfer=" + transfer);
    if (takes(info, "inner"))
      for (const char* parts :
           {"inner=one_shot,outer=one_shot", "inner=ring,outer=recursive_doubling"})
        specs.push_back(info.name + ":" + parts);
    if (takes(info, "groups") && ranks == 4)
      specs.push_back(info.name + ":groups=3-0-1/2,inner=halving_doubling,outer=naive");
  }
  return specs;
}

bool supported(const std::string& spec, const Request& request) {
  if (spec == "auto") return true;
  try {
    (void)PlanStream(parse_spec(spec), request);
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported) << spec << ": " << error.what();
    return false;
  }
}

std::string with_cut(const std::string& spec, const Cut& cut) {
  if (spec == "auto") return spec;
  std::string text = spec;
  const auto add = [&](const char* name, int value) {
    if (value != 0) text = with_parameters(text, fmt::format("{}={}", name, value));
  };
  add("slices", cut.slices);
  add("lanes", cut.lanes);
  add("depth", cut.depth);
  return text;
}

std::vector<std::size_t> lengths(const Request& request, int way, std::uint64_t seed) {
  const auto blocks = static_cast<std::size_t>(block_count(request));
  const auto n = static_cast<std::size_t>(request.ranks);
  const std::size_t share = blocks == 1 ? 1 : n;  // so that all data together are alike
  switch (way) {
    case 0:
      return {0};
    case 1:
      return {1};
    case 2:
      return {n / 2 + 1};  // fewer than ranks
    case 3:
      return {131};
    case 4:
      return {4099 / share + 1};
    default:
      break;
  }
  std::vector<std::size_t> list(blocks);
  const std::size_t chosen = mix(seed) % blocks;
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::uint64_t random = mix(seed + i * 131);
    switch (way) {
      case 5:  // some empty
        list[i] = random % 2 == 0 ? 0 : random % 97;
        break;
      case 6:  // all empty but one
        list[i] = i == chosen ? 211 : 0;
        break;
      case 7:  // one is huge
        list[i] = i == chosen ? 5003 : random % 3;
        break;
      case 8:  // all differ
        list[i] = 40 + 3 * i;
        break;
      default:  // any
        list[i] = random % 400;
        break;
    }
  }
  return list;
}

int length_ways(const Request& request) {
  return equal_ways + (block_count(request) > 1 ? unequal_ways : 0);
}

std::vector<ReduceOp> ops_of(Collective collective) {
  if (!reduces(collective)) return {ReduceOp::sum};
  return {all_reduce_ops.begin(), all_reduce_ops.end()};
}

}  // namespace ringside::tests
