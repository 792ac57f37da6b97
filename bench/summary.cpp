// SPDX-License-Identifier: MIT
#include "ringside/bench/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "ringside/base/text.hpp"
#include "ringside/bench/comparison.hpp"

namespace ringside::bench {
namespace {

/// Nearer than this is called a tie: repeated runs on a shared machine differ by as much.
constexpr double tie = 1.05;

/// The algorithms at one size, by the geometric mean of their times in the placements measured.
struct Standing {
  struct Place {
    const Series* series;
    double time;   // us
    bool in_call;  // the inputs travelled in the call itself: no plan ran
  };
  std::uint64_t bytes = 0;
  std::vector<Place> places;  // fastest first
};

/// Neighbouring sizes that the same algorithm won; or, `in_call`, those whose inputs travelled in
/// the call, which is the same for all of them.
struct Reign {
  const Series* winner;
  bool in_call;
  std::vector<const Standing*> sizes;
};

std::vector<Standing> standings(const std::vector<Contest>& contests, const Report& report) {
  std::set<std::uint64_t> short_sizes;
  for (const auto& contest : contests)
    if (!report.gpus &&
        is_inline(report.request, contest.collective, contest.ranks, contest.type, contest.asked))
      short_sizes.insert(contest.bytes);
  std::map<std::uint64_t, std::map<const Series*, std::pair<double, int>>> logs;
  for (const auto& contest : contests)
    for (const auto& [series, timing] : contest.ours) {
      auto& [sum, count] = logs[contest.bytes][series];
      sum += std::log(timing->time);
      ++count;
    }
  std::vector<Standing> result;
  for (const auto& [bytes, of_series] : logs) {
    Standing standing{.bytes = bytes, .places = {}};
    for (const auto& [series, log] : of_series)
      standing.places.push_back(
          {series, std::exp(log.first / log.second),
           short_sizes.contains(bytes) && series->facts && series->facts->is_definition});
    std::sort(standing.places.begin(), standing.places.end(),
              [](const auto& a, const auto& b) { return a.time < b.time; });
    result.push_back(std::move(standing));
  }
  return result;
}

/// The winner's place: the fastest, or who won the size before if it is level with that one, so
/// that two algorithms that are level do not take turns.
const Standing::Place& winner_of(const Standing& standing, const Series* before) {
  for (const auto& place : standing.places)
    if (place.series == before && place.time < standing.places.front().time * tie) return place;
  return standing.places.front();
}

std::vector<Reign> reigns(const std::vector<Standing>& all) {
  std::vector<Reign> result;
  for (const auto& standing : all) {
    const Series* before = result.empty() ? nullptr : result.back().winner;
    const auto& [winner, time, in_call] = winner_of(standing, before);
    const bool goes_on = !result.empty() && in_call == result.back().in_call;
    if (!goes_on || (!in_call && winner != before)) result.push_back({winner, in_call, {}});
    result.back().sizes.push_back(&standing);
  }
  return result;
}

std::string where(const Reign& reign) {
  const auto first = format_bytes(reign.sizes.front()->bytes);
  if (reign.sizes.size() == 1) return fmt::format("at {}", first);
  return fmt::format("from {} to {}", first, format_bytes(reign.sizes.back()->bytes));
}

/// "0.012", "1.4", "12", "140".
std::string factor_text(double value) {
  return fmt::format("{:.{}f}", value, value < 0.1 ? 3 : value < 10 ? 1 : 0);
}

/// How far the winner was ahead of the best of the others at the size of its largest lead.
struct Lead {
  double factor = 0;
  const Standing* at = nullptr;
  const Series* second = nullptr;  // nobody else: null
};

/// The winner's lead at one size.
Lead lead_at(const Reign& reign, const Standing& standing) {
  const auto is_own = [&](const Standing::Place& place) {
    return reign.in_call ? place.in_call : place.series == reign.winner;
  };
  const auto own = std::ranges::find_if(standing.places, is_own);
  const auto second = std::ranges::find_if_not(standing.places, is_own);
  if (second == standing.places.end()) return {};
  return {second->time / own->time, &standing, second->series};
}

Lead largest_lead(const Reign& reign) {
  Lead largest;
  for (const Standing* standing : reign.sizes)
    if (const auto lead = lead_at(reign, *standing); lead.factor > largest.factor) largest = lead;
  return largest;
}

/// "; level with two_shot at 2 KiB": the sizes whose fastest another table may give to others.
std::string level_text(const Reign& reign) {
  std::vector<std::string> level;
  for (const Standing* standing : reign.sizes) {
    const auto lead = lead_at(reign, *standing);
    if (lead.second != nullptr && lead.factor < tie)
      level.push_back(fmt::format("{} at {}", lead.second->label, format_bytes(standing->bytes)));
  }
  return level.empty() ? std::string() : fmt::format("; level with {}", join(level, ", "));
}

/// " (at best 1.4x ahead of ring at 2 MiB)", " (level with ring)" or nothing.
std::string lead_text(const Reign& reign, const Lead& lead) {
  if (lead.second == nullptr) return {};
  const auto& second = lead.second->label;
  if (lead.factor < tie) return fmt::format(" (level with {})", second);
  if (reign.sizes.size() == 1)
    return fmt::format(" ({}x ahead of {})", factor_text(lead.factor), second);
  return fmt::format(" (at best {}x ahead of {} at {}{})", factor_text(lead.factor), second,
                     format_bytes(lead.at->bytes), level_text(reign));
}

std::string times(double bytes) { return fmt::format("{:.3g}x", bytes); }

/// The algorithm with the smallest of a count; the winner itself if nobody is below it.
template <class Count>
const Series& fewest(const Series& winner, const std::vector<const Series*>& rivals, Count count) {
  const Series* least = &winner;
  for (const Series* rival : rivals)
    if (rival->facts && count(*rival->facts) < count(*least->facts) * 0.999) least = rival;
  return *least;
}

/// What the counts of the plans say about the winner, among the algorithms of the same table.
std::string reason(const Series& winner, const std::vector<const Series*>& rivals, int cores) {
  if (!winner.facts) return {};
  const auto& own = *winner.facts;
  const auto& steps = fewest(winner, rivals, [](const PlanFacts& facts) { return facts.steps; });
  const auto& ops =
      fewest(winner, rivals, [](const PlanFacts& facts) { return static_cast<double>(facts.ops); });
  const auto& traffic =
      fewest(winner, rivals, [](const PlanFacts& facts) { return facts.memory_traffic; });

  std::vector<std::string> good;
  std::vector<std::string> bad;
  if (&steps == &winner)
    good.push_back(fmt::format("the fewest steps ({})", own.steps));
  else
    bad.push_back(fmt::format("{} steps ({}: {})", own.steps, steps.label, steps.facts->steps));
  // Where ranks take turns on a core, what all of them do counts, not only the longest path.
  if (winner.ranks > cores && &ops == &winner)
    good.push_back(fmt::format("the fewest ops ({}, for {} ranks that share {} cores)", own.ops,
                               winner.ranks, cores));
  if (&traffic == &winner)
    good.push_back(
        fmt::format("the least memory traffic ({} the message; the busiest rank sends {})",
                    times(own.memory_traffic), times(own.busiest_sent)));
  else
    bad.push_back(fmt::format("{} the message of memory traffic ({}: {})",
                              times(own.memory_traffic), traffic.label,
                              times(traffic.facts->memory_traffic)));
  if (good.empty())
    return fmt::format("it has {}, so the counts do not explain this one", join(bad, " and "));
  return fmt::format("it has {}{}{}", join(good, " and "), bad.empty() ? "" : ", though ",
                     join(bad, " and "));
}

/// Of sizes whose inputs travelled in the call: the counts of plans that did not run say nothing.
std::string about_short(const Reign& reign, const Lead& lead, const BenchRequest& request) {
  std::vector<std::string> labels;
  for (const auto& place : reign.sizes.front()->places)
    if (place.in_call) labels.push_back(place.series->label);
  std::sort(labels.begin(), labels.end());
  return fmt::format(
      "{} inputs of {} travelled in the call itself{}: the same for all such algorithms, as no "
      "plan ran (--set {}=0 runs it)",
      where(reign), join(labels, ", "), lead_text(reign, lead), inline_option(request));
}

std::string about_group(Operation collective, int ranks, const std::vector<Contest>& contests,
                        const std::vector<const Series*>& rivals, const Report& report) {
  const auto all = standings(contests, report);
  const int cores = report.gpus ? max_ranks : report.machine.allowed_cores;
  if (rivals.size() == 1)
    return fmt::format(
        "{} with {} ranks: only {} was measured, so there is nothing to compare it "
        "with (-a all).",
        to_string(collective), ranks, rivals.front()->label);
  const bool both = std::any_of(contests.begin(), contests.end(), [&](const Contest& contest) {
    return contest.placement != contests.front().placement;
  });
  std::string text = fmt::format("{} with {} ranks{}: ", to_string(collective), ranks,
                                 both ? " (mean of both placements)" : "");
  std::vector<std::string> parts;
  for (const auto& reign : reigns(all)) {
    const auto lead = largest_lead(reign);
    if (reign.in_call) {
      parts.push_back(about_short(reign, lead, report.request));
      continue;
    }
    // A lead that may be noise needs no reason.
    const auto why = lead.factor < tie ? std::string() : reason(*reign.winner, rivals, cores);
    parts.push_back(fmt::format("{} was fastest {}{}{}", reign.winner->label, where(reign),
                                lead_text(reign, lead),
                                why.empty() ? "" : fmt::format(": {}", why)));
  }
  return text + join(parts, "; ") + ".";
}

std::string about_peer(const std::vector<Contest>& all, bool on_gpus) {
  const Contest* worst = nullptr;
  const Contest* best = nullptr;
  const auto factor = [](const Contest& contest) {
    return speedup(*contest.ours.front().timing, *best_peer(contest)->timing);
  };
  const Series* any = nullptr;
  bool several = false;  // not the same one everywhere
  double log = 0;
  int count = 0;
  for (const auto& contest : all) {
    const auto* peer = best_peer(contest);
    if (peer == nullptr) continue;
    several = several || (any != nullptr && any != peer->series);
    any = peer->series;
    if (worst == nullptr || factor(contest) < factor(*worst)) worst = &contest;
    if (best == nullptr || factor(contest) > factor(*best)) best = &contest;
    log += std::log(factor(contest));
    ++count;
  }
  if (count == 0) return {};
  const auto place = [](const Contest& contest) {
    return fmt::format("{}{} {}, {} ranks",
                       contest.collective == Collective::all_reduce
                           ? std::string()
                           : fmt::format("{} ", to_string(contest.collective)),
                       format_bytes(contest.bytes), to_string(contest.placement), contest.ranks);
  };
  return fmt::format(
      " {} took {} times as long as the fastest of ours in the geometric mean, from {} ({}) to {} "
      "({}){}.",
      several ? "The best of the other libraries" : any->detail, factor_text(std::exp(log / count)),
      factor_text(factor(*worst)), place(*worst), factor_text(factor(*best)), place(*best),
      on_gpus ? ""
              : "; ranks of MPI are processes and ours are threads, which is not like for like");
}

std::string wrapped(const std::string& text) {
  constexpr std::size_t width = 100;
  std::string lines;
  std::size_t column = 0;
  for (const auto word : split_blanks(text)) {
    if (column > 0 && column + 1 + word.size() > width) {
      lines += '\n';
      column = 0;
    } else if (column > 0) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += word.size();
  }
  return lines + "\n";
}

}  // namespace

std::string summary(const Report& report) {
  if (report.nothing_measured()) return "Virtual devices: nothing was measured.\n";
  const auto all = contests(report);
  std::string text = "Measured here; steps and memory traffic are counted from the plans.";
  for (const auto collective : report.request.collectives)
    for (const int ranks : report.request.ranks) {
      std::vector<Contest> of_group;
      std::vector<const Series*> rivals;
      // One type and operator: the first asked for.
      const auto op = reduces(collective) ? report.request.ops.front() : ReduceOp::sum;
      for (const auto& contest : all)
        if (contest.collective == collective && contest.ranks == ranks &&
            contest.type == report.request.types.front() && contest.op == op)
          of_group.push_back(contest);
      for (const auto& series : report.series)
        if (series.collective == collective && series.ranks == ranks && !series.peer)
          rivals.push_back(&series);
      if (!of_group.empty() && collective != Collective::barrier)
        text += fmt::format(" {}", about_group(collective, ranks, of_group, rivals, report));
    }
  return wrapped(text + about_peer(all, report.gpus.has_value()));
}

}  // namespace ringside::bench
