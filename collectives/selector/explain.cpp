// SPDX-License-Identifier: MIT
#include "ringside/collectives/selector/explain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "ringside/base/text.hpp"
#include "ringside/collectives/cost.hpp"
#include "ringside/collectives/layout.hpp"

namespace ringside {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

constexpr std::size_t most_links = 8;
constexpr std::size_t most_pairs = 6;
constexpr double same = 1e-6;

bool alike(double a, double b) { return std::abs(a - b) <= same * std::max(a, b); }

std::string duration(double seconds) { return format_duration(Seconds(seconds)); }
std::string percent(double part) { return fmt::format("{:.0f} %", 100 * part); }
std::string bytes_text(double bytes) {
  return format_bytes(static_cast<std::uint64_t>(std::llround(bytes)));
}

/// "one step", "2 steps".
std::string counted(std::uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// "GPU0, GPU1 and GPU2".
std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

/// The bytes that multiples are told of.
double message_of(const CallExplanation& facts) {
  return message_bytes(facts.call.request, static_cast<double>(facts.call.bytes));
}

std::string times(const CallExplanation& facts, double bytes) {
  return times_message(bytes / message_of(facts), facts.call.request.ranks);
}

/// "GPU0's link", "GPU0's link to nvswitch0", "the link between switch0 and host0".
std::string link_name(const LinkTraffic& link, const std::vector<LinkTraffic>& all) {
  if (!link.of_gpu) return fmt::format("the link between {} and {}", link.near, link.far);
  const auto of_same = std::count_if(all.begin(), all.end(), [&](const LinkTraffic& other) {
    return other.of_gpu && (other.near == link.near || other.far == link.near);
  });
  return of_same == 1 ? link.near + "'s link" : fmt::format("{}'s link to {}", link.near, link.far);
}

/// What is told of both is the same.
bool carry_alike(const LinkTraffic& a, const LinkTraffic& b) {
  return a.of_gpu && b.of_gpu && alike(a.out.bytes, b.out.bytes) && alike(a.in.bytes, b.in.bytes) &&
         alike(a.out.seconds, b.out.seconds) && alike(a.in.seconds, b.in.seconds);
}

/// "one pair", "2 pairs": of GPUs that send to each other.
std::string pairs_of(std::size_t count) {
  return count == 1 ? "one pair" : fmt::format("{} pairs", count);
}

/// What of the message goes one way: rings and trees have a form for it that people know.
std::string one_way(const CallExplanation& facts, const LinkTraffic& link, double bytes) {
  return link.of_gpu ? times(facts, bytes) : fmt::format("{:.3g} S", bytes / message_of(facts));
}

/// Seconds that the direction with more to do takes.
double slower_way(const LinkTraffic& link) { return std::max(link.out.seconds, link.in.seconds); }

std::string load_text(const CallExplanation& facts, const LinkTraffic& link) {
  const double both = link.out.bytes + link.in.bytes;
  const double n = facts.call.request.ranks;
  const double multiple = both / message_of(facts);
  const std::string all = link.of_gpu && n > 2 && alike(multiple, 2 * (n - 1))
                              ? fmt::format("2 (n - 1) S = {:.3g} S", multiple)
                              : fmt::format("{:.3g} S", multiple);
  return fmt::format("{}, {}: {} out, {} in; that alone takes {}", bytes_text(both), all,
                     one_way(facts, link, link.out.bytes), one_way(facts, link, link.in.bytes),
                     duration(slower_way(link)));
}

std::string pair_names(const CallExplanation& facts, const std::vector<Crossing>& crossings) {
  const auto name = [&](int rank) {
    return rank == Crossing::host_memory ? std::string("host memory") : facts.gpu_names[at(rank)];
  };
  std::vector<std::string> names;
  for (const auto& each : crossings)
    names.push_back(fmt::format("{} -> {}", name(each.from), name(each.to)));
  if (names.size() <= most_pairs) return list(names);
  const std::size_t more = names.size() - most_pairs;
  names.resize(most_pairs);
  return fmt::format("{} and {} more", fmt::join(names, ", "), more);
}

/// ", 0.25 S each", where that is so.
std::string each_text(const CallExplanation& facts, const std::vector<Crossing>& crossings) {
  const bool equal = std::all_of(crossings.begin(), crossings.end(), [&](const Crossing& each) {
    return alike(each.bytes, crossings.front().bytes);
  });
  return equal && crossings.size() > 1
             ? fmt::format(", {:.3g} S each", crossings.front().bytes / message_of(facts))
             : "";
}

/// Who crosses a link that GPUs share.
std::string crossing_text(const CallExplanation& facts, const LinkTraffic& link) {
  std::string text;
  for (const auto& [direction, from, to] :
       {std::tuple(&link.out, &link.near, &link.far), std::tuple(&link.in, &link.far, &link.near)})
    if (const auto& crossings = direction->crossings; !crossings.empty())
      text += fmt::format("      {} -> {} is crossed by {}{}: {}\n", *from, *to,
                          pairs_of(crossings.size()), each_text(facts, crossings),
                          pair_names(facts, crossings));
  return text;
}

std::string links_text(const CallExplanation& facts, const Explanation& plan) {
  if (plan.links.empty()) return "  No data cross a link.\n";
  std::string text =
      fmt::format("  What the links carry, S being the message ({}), n the ranks ({}):\n",
                  bytes_text(message_of(facts)), facts.call.request.ranks);
  const double longest = slower_way(plan.links.front());
  constexpr double worth_a_line = 0.1;
  std::vector<bool> told(plan.links.size());
  std::size_t lines = 0;
  for (std::size_t i = 0; i < plan.links.size(); ++i) {
    if (told[i]) continue;
    if (++lines > most_links || slower_way(plan.links[i]) < worth_a_line * longest) {
      text += fmt::format("    and {} more, which take less\n",
                          std::count(told.begin(), told.end(), false));
      break;
    }
    std::vector<std::string> names;
    for (std::size_t j = i; j < plan.links.size(); ++j)
      if (!told[j] && (i == j || carry_alike(plan.links[i], plan.links[j]))) {
        told[j] = true;
        names.push_back(link_name(plan.links[j], plan.links));
      }
    const bool many = names.size() > 4;
    text += fmt::format(
        "    {}{}: {}\n",
        many ? fmt::format("{} and {} like it", names.front(), names.size() - 1) : list(names),
        names.size() > 1 ? ", each" : "", load_text(facts, plan.links[i]));
    if (plan.links[i].shared) text += crossing_text(facts, plan.links[i]);
  }
  return text;
}

/// One GPU's link that has much more to carry than the others'.
std::string uneven_text(const CallExplanation& facts, const Explanation& plan) {
  std::map<std::string, double> out, in;
  std::map<std::string, bool> is_gpu;
  for (const auto& link : plan.links) {
    if (link.of_gpu) is_gpu[link.near] = true;
    out[link.near] += link.out.bytes;
    in[link.near] += link.in.bytes;
    out[link.far] += link.in.bytes;
    in[link.far] += link.out.bytes;
  }
  // Both directions run at once: what counts is the one that has more to carry.
  std::map<std::string, double> by_gpu;
  for (const auto& [name, told] : is_gpu) by_gpu[name] = std::max(out[name], in[name]);
  if (by_gpu.size() < 3) return {};
  double sum = 0;
  auto most = by_gpu.begin();
  for (auto each = by_gpu.begin(); each != by_gpu.end(); ++each) {
    sum += each->second;
    if (each->second > most->second) most = each;
  }
  const double others = (sum - most->second) / static_cast<double>(by_gpu.size() - 1);
  constexpr double much = 1.5;
  if (most->second < much * others) return {};
  return fmt::format(
      "  The load is uneven: {} sends or receives {:.3g} times what each of the others does, on\n"
      "  average, and they wait for it. Shared evenly, each would have {}.\n",
      most->first, most->second / others, times(facts, sum / static_cast<double>(by_gpu.size())));
}

std::string parts_text(const Explanation& plan) {
  constexpr double least_told = 0.005;
  std::string text = "  Where the time goes: ";
  bool first = true;
  for (const auto& part : plan.parts) {
    if (part.seconds < least_told * plan.seconds) continue;
    text +=
        fmt::format("{}{} {}", first ? "" : ", ", percent(part.seconds / plan.seconds), part.what);
    first = false;
  }
  text += "\n";
  constexpr double worth_telling = 0.2;
  constexpr std::size_t most_told = 4;
  std::vector<std::string> full;
  std::size_t left = 0;
  for (const auto& each : plan.full) {
    if (each.seconds < worth_telling * plan.seconds && !full.empty()) break;
    if (full.size() == most_told)
      ++left;
    else
      full.push_back(
          fmt::format("{} ({} of the time)", each.name, percent(each.seconds / plan.seconds)));
  }
  if (!full.empty())
    text += fmt::format("  What was full: {}{}\n", fmt::join(full, ", "),
                        left > 0 ? fmt::format(" and {} more", left) : "");
  return text;
}

std::string rate(double bytes, double seconds) {
  return fmt::format("{:.3g} GB/s", bytes / seconds / 1e9);
}

std::string plan_text(const CallExplanation& facts, const Explanation& plan) {
  std::string text = fmt::format("{} takes {} (simulated), {} of the message.\n", plan.spec,
                                 duration(plan.seconds), rate(message_of(facts), plan.seconds));
  if (plan.range)
    text += fmt::format(
        "  Latencies decide at this size, and are known within a factor of 2: {} to {}.\n",
        duration(plan.range->first), duration(plan.range->second));
  text +=
      fmt::format("  {}{}{}{}.\n",
                  plan.steps ? fmt::format("{} from GPU to GPU one after another, ",
                                           counted(static_cast<std::size_t>(*plan.steps), "step"))
                             : "",
                  counted(plan.ops, "op"),
                  plan.slices > 1 ? fmt::format(", in {} slices that overlap", plan.slices) : "",
                  plan.lowered ? ", copies through the host included, as not all GPUs reach "
                                 "each other's memory"
                               : "");
  if (!plan.remark.empty()) text += fmt::format("  Note: {}.\n", plan.remark);
  return text + links_text(facts, plan) + uneven_text(facts, plan) + parts_text(plan);
}

/// Each once.
std::vector<const Explanation*> different_plans(const CallExplanation& facts) {
  std::vector<const Explanation*> plans;
  for (const auto& plan : facts.plans)
    if (std::none_of(plans.begin(), plans.end(),
                     [&](const auto* known) { return known->spec == plan.spec; }))
      plans.push_back(&plan);
  return plans;
}

std::string bounds_text(const CallExplanation& facts) {
  const RequestBounds& bounds = facts.bounds;
  if (bounds.seconds == 0) return fmt::format("No bound: {}.\n", bounds.bounds.front().reason);
  std::string text =
      fmt::format("No plan can beat {} on this machine, a bound{}:\n  {}.\n",
                  duration(bounds.seconds), facts.bound_caveat, bounds.bounds.front().told());
  if (bounds.bounds.front().ranks_reduce)
    for (const Bound& bound : bounds.bounds)
      if (!bound.ranks_reduce)
        text += fmt::format("  Of single cuts the worst allows {}: {}.\n",
                            duration(bound.seconds_per_byte * message_of(facts)), bound.reason);
  if (bounds.optimum)
    text += fmt::format(
        "The best of its class, {}over spanning trees, would take {}; plans of another kind may\n"
        "beat that, none the bound.\n",
        facts.call.request.collective == Collective::all_reduce
            ? "reduce-scatter and then all-gather "
            : "",
        duration(bounds.optimum_seconds));
  for (const auto* plan : different_plans(facts))
    text += fmt::format("{} takes {:.3g} times as long as the bound.\n", plan->spec,
                        plan->seconds / bounds.seconds);
  return text;
}

const LinkTraffic* same_link(const Explanation& plan, const LinkTraffic& wanted) {
  const auto found = std::find_if(plan.links.begin(), plan.links.end(), [&](const auto& link) {
    return link.near == wanted.near && link.far == wanted.far;
  });
  return found == plan.links.end() ? nullptr : &*found;
}

/// A direction of a link that carries something else under the other plan.
struct Difference {
  std::string name;
  bool shared = false;
  double faster_bytes = 0, slower_bytes = 0, slower_seconds = 0;
  std::size_t faster_pairs = 0, slower_pairs = 0;
};

std::vector<Difference> differences(const Explanation& faster, const Explanation& slower) {
  static const LinkTraffic nothing;
  std::vector<Difference> all;
  const auto add = [&](const LinkTraffic& link, const LinkTraffic& of_faster,
                       const LinkTraffic& of_slower) {
    for (const auto& [from, to, one, other] :
         {std::tuple(&link.near, &link.far, &of_faster.out, &of_slower.out),
          std::tuple(&link.far, &link.near, &of_faster.in, &of_slower.in)})
      if (!alike(one->bytes, other->bytes))
        all.push_back({*from + " -> " + *to, link.shared, one->bytes, other->bytes, other->seconds,
                       one->crossings.size(), other->crossings.size()});
  };
  for (const auto& link : slower.links) {
    const LinkTraffic* other = same_link(faster, link);
    add(link, other == nullptr ? nothing : *other, link);
  }
  for (const auto& link : faster.links)
    if (same_link(slower, link) == nullptr) add(link, link, nothing);
  return all;
}

/// The links whose loads differ, those together that differ alike.
std::string differences_text(const CallExplanation& facts, const std::vector<Difference>& all) {
  const double message = message_of(facts);
  std::vector<std::pair<std::string, std::vector<std::string>>> lines;
  for (const auto& each : all) {
    const auto side = [&](double bytes, std::size_t pairs) {
      return pairs == 0 ? "nothing"
                        : fmt::format("{:.3g} S, by {}", bytes / message, pairs_of(pairs));
    };
    const std::string what = fmt::format("{} with the faster, {} with the slower",
                                         side(each.faster_bytes, each.faster_pairs),
                                         side(each.slower_bytes, each.slower_pairs));
    const auto known = std::find_if(lines.begin(), lines.end(),
                                    [&](const auto& line) { return line.first == what; });
    if (known == lines.end())
      lines.push_back({what, {each.name}});
    else
      known->second.push_back(each.name);
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(lines.size(), most_links); ++i) {
    auto names = lines[i].second;
    const bool each = names.size() > 1;
    if (names.size() > most_pairs)
      names = {fmt::format("{} and {} links like it", names.front(), names.size() - 1)};
    text += fmt::format("  {}{}: {}.\n", list(names), each ? ", each" : "", lines[i].first);
  }
  if (lines.size() > most_links)
    text += fmt::format("  and {} more that differ\n", lines.size() - most_links);
  return text;
}

/// What sets the two apart the most: of the links on which the slower has more to carry the one
/// that takes it longest.
std::string main_difference(const Explanation& faster, const Explanation& slower,
                            const std::vector<Difference>& all) {
  const Difference* most = nullptr;
  for (const auto& each : all)
    if (each.faster_bytes > 0 && each.slower_bytes > each.faster_bytes &&
        (most == nullptr || each.slower_seconds > most->slower_seconds))
      most = &each;
  if (most == nullptr) return {};
  std::string text = fmt::format("  {} sends {:.3g} times as much over {}{}", slower.spec,
                                 most->slower_bytes / most->faster_bytes, most->name,
                                 most->shared ? ", which GPUs share" : "");
  if (most->slower_pairs != most->faster_pairs)
    text += fmt::format(":\n  {} of GPUs that exchange data lie across it, with {} {}",
                        pairs_of(most->slower_pairs), faster.spec, pairs_of(most->faster_pairs));
  return text + ".\n";
}

std::string comparison_text(const CallExplanation& facts, const Explanation& first,
                            const Explanation& second) {
  const Explanation& faster = first.seconds <= second.seconds ? first : second;
  const Explanation& slower = first.seconds <= second.seconds ? second : first;
  const auto all = differences(faster, slower);
  const bool equally_long = alike(slower.seconds, faster.seconds);
  std::string text =
      equally_long ? fmt::format("{} takes as long as {} (simulated: {}).\n", slower.spec,
                                 faster.spec, duration(slower.seconds))
                   : fmt::format("{} takes {:.3g} times as long as {} (simulated: {} and {}).\n",
                                 slower.spec, slower.seconds / faster.seconds, faster.spec,
                                 duration(slower.seconds), duration(faster.seconds));
  if (all.empty() && equally_long) return text + "  Both load all links alike.\n";
  if (all.empty()) return text + "  Both load all links alike: what differs is when.\n";
  return text + main_difference(faster, slower, all) + differences_text(facts, all);
}

std::string alternatives_text(const CallExplanation& facts) {
  if (facts.alternatives.empty()) return {};
  std::string text = "Others:\n";
  for (const auto& other : facts.alternatives)
    text +=
        fmt::format("  {}{}{}\n", other.spec,
                    other.seconds ? fmt::format(": {} (simulated)", duration(*other.seconds)) : "",
                    other.why.empty() ? "" : "; " + other.why);
  return text;
}

}  // namespace

std::string choice_text(const Choice& choice, const Plan& plan, std::uint64_t bytes) {
  const Request& request = plan.request();
  std::string text = fmt::format("{}, {}: {}.\nWhy: {}.\n", describe(request), format_bytes(bytes),
                                 plan.spec(), choice.why);
  const auto blocks = at(block_count(request));
  const std::size_t element = bytes % (4 * blocks) == 0 ? 4 : 1;
  const Cost cost =
      cost_of(plan, std::vector<std::size_t>(blocks, bytes / blocks / element), element);
  const double message = message_bytes(request, static_cast<double>(bytes));
  if (message == 0) return text + "It moves nothing.\n";
  const auto part = [&](std::uint64_t moved) {
    return fmt::format("{} ({})", format_bytes(moved),
                       times_message(static_cast<double>(moved) / message, request.ranks));
  };
  text += fmt::format(
      "Counted: {} step{} from rank to rank one after another{}; of the message S = {} a rank "
      "sends\n"
      "at most {} and receives at most {}.\n",
      cost.steps, cost.steps == 1 ? "" : "s",
      plan.shape().slices > 1 ? fmt::format(", slices counted ({})", plan.shape().slices) : "",
      bytes_text(message), part(cost.busiest_sent()), part(cost.busiest_received()));
  return text;
}

std::string times_message(double times, int ranks) {
  const double n = ranks;
  std::string plain = fmt::format("{:.3g} S", times);
  if (times == 0 || ranks < 3) return plain;
  if (alike(times, 2 * (n - 1) / n)) return fmt::format("2 (n - 1)/n S = {}", plain);
  if (alike(times, (n - 1) / n)) return fmt::format("(n - 1)/n S = {}", plain);
  return plain;
}

std::string explanation_text(const CallExplanation& facts) {
  std::string text =
      fmt::format("{}, {}, on {}. Nothing here was measured.\n\n", describe(facts.call.request),
                  bytes_text(message_of(facts)), facts.machine);
  if (!facts.chosen_because.empty())
    text += fmt::format("Chosen: {}: {}\n\n", facts.plans.front().spec, facts.chosen_because);
  const auto plans = different_plans(facts);
  for (const auto* plan : plans) text += plan_text(facts, *plan) + "\n";
  for (std::size_t i = 1; i < plans.size(); ++i)
    text += comparison_text(facts, *plans.front(), *plans[i]) + "\n";
  for (const auto& plan : facts.plans)
    if (std::find(plans.begin(), plans.end(), &plan) == plans.end())
      text += fmt::format("{}: the same plan was given twice.\n\n", plan.spec);
  text += bounds_text(facts);
  const std::string others = alternatives_text(facts);
  if (!others.empty()) text += "\n" + others;
  if (!facts.nccl.empty()) text += fmt::format("\nNCCL would pick {}.\n", facts.nccl);
  return text;
}

}  // namespace ringside
