// SPDX-License-Identifier: MIT
#include "ringside/collectives/request.hpp"

#include <fmt/format.h>

#include <array>

#include "ringside/base/error.hpp"

namespace ringside {
namespace {

constexpr std::array<std::string_view, 9> names = {"all_reduce", "reduce_scatter", "all_gather",
                                                   "broadcast",  "reduce",         "gather",
                                                   "scatter",    "all_to_all",     "barrier"};

}  // namespace

std::string_view to_string(Collective collective) {
  return names.at(static_cast<std::size_t>(collective));
}

std::optional<Collective> parse_collective(std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<Collective>(i);
  return std::nullopt;
}

std::span<const std::string_view> collective_names() { return names; }

bool has_root(Collective collective) {
  return collective == Collective::broadcast || collective == Collective::reduce ||
         collective == Collective::gather || collective == Collective::scatter;
}

bool reduces(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce_scatter ||
         collective == Collective::reduce;
}

void validate(const Request& request) {
  if (request.ranks < 1 || request.ranks > max_ranks)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} ranks asked for: 1 to {} are possible", request.ranks, max_ranks));
  if (request.root < 0 || request.root >= request.ranks)
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("root {} is not a rank: there are {} ranks", request.root, request.ranks));
  if (request.root != 0 && !has_root(request.collective))
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} has no root", to_string(request.collective)));
  if (request.in_place && request.collective == Collective::all_to_all)
    throw Error(ErrorCode::invalid_argument, "all_to_all cannot be in place");
}

std::string describe(const Request& request) {
  return fmt::format("{} on {} {}{}, {}", to_string(request.collective), request.ranks,
                     request.ranks == 1 ? "rank" : "ranks",
                     has_root(request.collective) ? fmt::format(" from root {}", request.root) : "",
                     request.in_place ? "in place" : "out of place");
}

}  // namespace ringside
