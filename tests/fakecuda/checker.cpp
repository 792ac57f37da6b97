// SPDX-License-Identifier: MIT
/// The comparison of accesses, and the words of reports.
#include "ringside/tests/fakecuda/checker.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <utility>

namespace ringside::tests::fakecuda {
namespace {

/// More tell nothing new, and a broken loop would fill the memory.
constexpr std::size_t most_reports = 1000;

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : name;
}

std::string location(const Allocation& allocation, std::uintptr_t begin, std::uintptr_t end) {
  std::ostringstream text;
  text << "bytes " << begin - allocation.begin() << " to " << end - allocation.begin() << " of "
       << allocation.bytes
       << (allocation.on_device() ? " of device " + std::to_string(allocation.device)
                                  : " of the host")
       << " at " << static_cast<const void*>(allocation.base);
  return text.str();
}

}  // namespace

ReportedOperation describe(const Actor& actor, std::uintptr_t begin, std::uintptr_t end,
                           bool writes) {
  ReportedOperation operation;
  operation.kind = actor.kind;
  if (actor.kernel != nullptr) operation.kind += " " + demangled(actor.kernel);
  operation.device = actor.device;
  operation.stream = actor.stream;
  operation.in_graph = actor.in_graph;
  operation.issue = actor.issue;
  operation.writes = writes;
  operation.begin = begin;
  operation.end = end;
  return operation;
}

std::string describe(const ReportedOperation& operation) {
  std::ostringstream text;
  text << operation.kind;
  if (operation.issue != 0)
    text << " (#" << operation.issue << ", " << (operation.in_graph ? "graph branch " : "stream ")
         << operation.stream << " of device " << operation.device << ")";
  return text.str();
}

void Checker::reset(bool enabled) {
  for (Report& report : reports_)
    if (unclaimed_.size() < most_reports) unclaimed_.push_back(std::move(report));
  enabled_ = enabled;
  host_clock_.clear();
  host_index_ = 0;
  ++host_version_;
  failed_.clear();
  reported_.clear();
  reports_.clear();
}

std::vector<Report> Checker::take() { return std::exchange(reports_, {}); }

std::vector<Report> Checker::unclaimed() const {
  std::vector<Report> all = unclaimed_;
  all.insert(all.end(), reports_.begin(), reports_.end());
  return all;
}

void Checker::report(Report report) {
  if (reports_.size() < most_reports) reports_.push_back(std::move(report));
}

void Checker::prune(History& history) {
  if (history.pruned_at == host_version_) return;
  history.pruned_at = host_version_;
  for (std::size_t i = 0; i < history.size();) {
    // What the host knows of is before everything to come; a failed device does nothing.
    const bool over = history[i].index <= host_clock_[history[i].lane];
    if (over || failed_.contains(history.actor(i).device))
      history.remove(i);
    else
      ++i;
  }
}

void Checker::compare(Allocation& allocation, const AccessRecord& now, const Actor& actor,
                      const VectorClock& clock, ReportKind kind) {
  History& history = allocation.history;
  prune(history);
  for (std::size_t i = 0; i < history.size();) {
    AccessRecord& past = history[i];
    const bool ordered = past.touches(now) && past.index <= clock[past.lane];
    if (past.touches(now) && !ordered && (past.writes || now.writes))
      report_pair(allocation, past, history.actor(i), now, actor, kind);
    // Whoever is ordered after `now` is ordered after what `now` is ordered after. A reader tells
    // nothing about who else reads what was written, so a write stays until it is overwritten.
    if (ordered && (now.writes || !past.writes)) {
      if (now.begin <= past.begin && past.end <= now.end) {
        history.remove(i);
        continue;
      }
      if (now.begin <= past.begin)
        past.begin = now.end;
      else if (past.end <= now.end)
        past.end = now.begin;
    }
    ++i;
  }
}

void Checker::report_pair(const Allocation& allocation, const AccessRecord& past,
                          const Actor& past_actor, const AccessRecord& now, const Actor& actor,
                          ReportKind kind) {
  if (!reported_.emplace(past_actor.issue, actor.issue).second) return;
  if (reports_.size() >= most_reports) return;
  Report found;
  found.kind = kind;
  found.earlier = describe(past_actor, past.begin, past.end, past.writes);
  found.later = describe(actor, now.begin, now.end, now.writes);
  const auto begin = std::max(past.begin, now.begin), end = std::min(past.end, now.end);
  found.text = describe(found.later) + (now.writes ? " writes " : " reads ") +
               location(allocation, begin, end) + ", which " + describe(found.earlier) +
               (past.writes ? " writes" : " reads") + "; nothing orders them";
  reports_.push_back(std::move(found));
}

void Checker::access(Allocation& allocation, const Access& access, const Actor& actor,
                     std::size_t lane, std::uint32_t index, const VectorClock& clock) {
  if (!enabled_ || access.bytes == 0) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(access.address);
  const AccessRecord now{begin, begin + access.bytes, static_cast<std::uint32_t>(lane), index,
                         access.writes};
  compare(allocation, now, actor, clock, ReportKind::race);
  allocation.history.add(now, actor);
}

void Checker::host_access(Allocation& allocation, const Access& access, const char* kind) {
  if (!enabled_ || access.bytes == 0) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(access.address);
  Actor actor;
  actor.kind = kind;
  // All that is issued later is ordered after it, so no record is kept.
  compare(allocation, {begin, begin + access.bytes, host_lane, 0, access.writes}, actor,
          host_clock_, ReportKind::race);
}

void Checker::release(Allocation& allocation, const char* kind) {
  if (!enabled_) return;
  Actor actor;
  actor.kind = kind;
  compare(allocation, {allocation.begin(), allocation.end(), host_lane, 0, true}, actor,
          host_clock_, ReportKind::pending_free);
}

}  // namespace ringside::tests::fakecuda
