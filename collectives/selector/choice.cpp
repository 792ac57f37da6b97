// SPDX-License-Identifier: MIT
#include "ringside/collectives/selector/choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <tuple>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/collectives/algorithm.hpp"

namespace ringside {
namespace {

/// What serves any request, in one or two steps.
std::string general_spec(Collective collective) {
  switch (collective) {
    case Collective::all_reduce:
      return "two_shot";
    case Collective::reduce_scatter:
    case Collective::all_gather:
    case Collective::all_to_all:
      return "direct";
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::gather:
    case Collective::scatter:
      return "linear";
    case Collective::barrier:
      break;
  }
  throw Error(ErrorCode::unsupported, "barrier needs no algorithm");
}

double factor(int a, int b) {
  return std::abs(std::log2(static_cast<double>(a) / static_cast<double>(b)));
}

/// How far a row is from what is asked, in factors of two.
double distance(const TuningRow& row, const ChoiceSetting& setting, const Request& request) {
  const bool shares_cores = request.ranks > setting.cores;
  const bool row_shares_cores = row.ranks > row.cores;
  // Cores matter by whether there are enough of them, else through the caches and links that come
  // with them: half as much as ranks.
  return factor(row.ranks, request.ranks) + factor(row.cores, setting.cores) / 2 +
         (shares_cores == row_shares_cores ? 0 : 1);
}

/// The rows for the request, nearest first.
std::vector<const TuningRow*> nearest_rows(const TuningTable& table, const ChoiceSetting& setting,
                                           const Request& request) {
  using Ranked = std::tuple<double, double, bool, const TuningRow*>;
  std::vector<Ranked> ranked;
  for (const auto& row : table.rows)
    if (row.backend == setting.backend && row.collective == request.collective)
      ranked.emplace_back(distance(row, setting, request), factor(row.ranks, request.ranks),
                          row.in_place && *row.in_place != request.in_place, &row);
  std::stable_sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
    return std::tie(std::get<0>(a), std::get<1>(a), std::get<2>(a)) <
           std::tie(std::get<0>(b), std::get<1>(b), std::get<2>(b));
  });
  std::vector<const TuningRow*> rows;
  for (const auto& entry : ranked) rows.push_back(std::get<3>(entry));
  return rows;
}

/// The ranges of a row, that of the size first, then the others by their distance from it.
std::vector<std::size_t> nearest_ranges(const TuningRow& row, std::uint64_t bytes) {
  const std::size_t home = row.range_of(bytes);
  std::vector<std::size_t> order = {home};
  for (std::size_t away = 1; away < row.ranges.size(); ++away) {
    if (home + away < row.ranges.size()) order.push_back(home + away);
    if (home >= away) order.push_back(home - away);
  }
  return order;
}

std::string describe(const TuningRow& row) {
  return fmt::format("{} on {} rank{} and {} core{}{}", to_string(row.collective), row.ranks,
                     row.ranks == 1 ? "" : "s", row.cores, row.cores == 1 ? "" : "s",
                     !row.in_place   ? ""
                     : *row.in_place ? ", in place"
                                     : ", out of place");
}

/// "; measured at 64 KiB: two_shot 4.1 us, ring 5 us".
std::string nearest_measured(const TuningRow& row, std::uint64_t bytes) {
  if (row.measured.empty()) return {};
  const auto away = [&](const MeasuredSize& size) {
    return std::abs(std::log2(static_cast<double>(size.bytes) + 1) -
                    std::log2(static_cast<double>(bytes) + 1));
  };
  const auto nearest =
      std::min_element(row.measured.begin(), row.measured.end(),
                       [&](const auto& a, const auto& b) { return away(a) < away(b); });
  std::vector<std::string> times;
  for (const auto& time : nearest->times)
    times.push_back(
        fmt::format("{} {}", time.spec, format_duration(Seconds(time.microseconds * 1e-6))));
  return fmt::format("; measured at {}: {}", format_bytes(nearest->bytes), fmt::join(times, ", "));
}

/// The size at which a range begins. Of one that was worked out between two that were measured, no
/// more is known than these.
std::string describe_begin(const TuningRow& row, std::uint64_t from) {
  const auto behind = std::ranges::lower_bound(row.measured, from, {}, &MeasuredSize::bytes);
  const bool between = behind != row.measured.begin() && behind != row.measured.end();
  if (!between || behind->bytes == from) return format_bytes(from);
  return fmt::format("a size {}", format_between(std::prev(behind)->bytes, behind->bytes));
}

std::string reason(const TuningTable& table, const TuningRow& row, std::size_t range,
                   std::uint64_t bytes, const std::vector<std::string>& passed_by) {
  const auto& ranges = row.ranges;
  const std::string upper =
      range + 1 < ranges.size()
          ? fmt::format("below {}", describe_begin(row, ranges[range + 1].from))
          : "on";
  return fmt::format(
      "{}: {} from {} {} for {}{}{}", table.name, ranges[range].spec,
      describe_begin(row, ranges[range].from), upper, describe(row), nearest_measured(row, bytes),
      passed_by.empty() ? "" : fmt::format("; passed by: {}", fmt::join(passed_by, "; ")));
}

/// By the first row that has something for the request.
std::optional<Choice> first_fitting(const TuningTable& table,
                                    const std::vector<const TuningRow*>& rows,
                                    const Request& request, std::uint64_t bytes) {
  std::vector<std::string> passed_by;
  std::vector<std::string> refused;
  for (const TuningRow* row : rows)
    for (const std::size_t range : nearest_ranges(*row, bytes)) {
      const std::string& spec = row->ranges[range].spec;
      if (std::find(refused.begin(), refused.end(), spec) != refused.end()) continue;
      const auto why_not = refusal(spec, request);
      if (!why_not) return Choice{spec, reason(table, *row, range, bytes, passed_by)};
      refused.push_back(spec);
      passed_by.push_back(*why_not);
    }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> refusal(const std::string& spec, const Request& request) {
  const bool either = !chooses_by_placement(request.collective);
  for (const bool in_place : {false, true}) {
    if (!either && in_place != request.in_place) continue;
    if (in_place && request.collective == Collective::all_to_all) continue;
    Request placed = request;
    placed.in_place = in_place;
    try {
      (void)PlanStream(parse_spec(spec), placed);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::bad_input) throw;
      return error.what();
    }
  }
  return std::nullopt;
}

std::optional<Choice> choose_measured(const TuningTable& table, const ChoiceSetting& setting,
                                      const Request& request, std::uint64_t bytes) {
  auto rows = nearest_rows(table, setting, request);
  std::erase_if(rows, [&](const TuningRow* row) { return row->ranks != request.ranks; });
  return first_fitting(table, rows, request, bytes);
}

Choice choose(const TuningTable& table, const ChoiceSetting& setting, const Request& request,
              std::uint64_t bytes) {
  const std::string general = general_spec(request.collective);
  if (auto choice = first_fitting(table, nearest_rows(table, setting, request), request, bytes))
    return std::move(*choice);
  return {general, fmt::format("{}: no choice for {} on {} ranks; {} serves any request",
                               table.name, to_string(request.collective), request.ranks, general)};
}

}  // namespace ringside
