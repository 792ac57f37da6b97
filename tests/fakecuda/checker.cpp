// SPDX-License-Identifier: MIT
/// The comparison of accesses, and the words of reports.
#include "ringside/tests/fakecuda/checker.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <sstream>

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

void Checker::compare(Allocation& allocation, const AccessRecord& now, const VectorClock& clock,
                      ReportKind kind) {
  auto& history = allocation.history;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < history.size(); ++i) {
    AccessRecord& past = history[i];
    if (past.index <= host_clock_[past.lane]) continue;  // before everything to come
    if (failed_.contains(past.actor.device)) continue;
    bool covered = false;
    if (past.begin < now.end && now.begin < past.end && (past.writes || now.writes)) {
      if (past.index <= clock[past.lane]) {
        covered = now.writes;
      } else if (reported_.emplace(past.actor.issue, now.actor.issue).second &&
                 reports_.size() < most_reports) {
        Report found;
        found.kind = kind;
        found.earlier = describe(past.actor, past.begin, past.end, past.writes);
        found.later = describe(now.actor, now.begin, now.end, now.writes);
        const auto begin = std::max(past.begin, now.begin), end = std::min(past.end, now.end);
        found.text = describe(found.later) + (now.writes ? " writes " : " reads ") +
                     location(allocation, begin, end) + ", which " + describe(found.earlier) +
                     (past.writes ? " writes" : " reads") + "; nothing orders them";
        reports_.push_back(std::move(found));
      }
    } else if (!past.writes && !now.writes) {
      covered = past.index <= clock[past.lane];
    }
    // Whoever is ordered after `now` is ordered after what `now` is ordered after.
    if (covered) {
      if (now.begin <= past.begin && past.end <= now.end) continue;
      if (now.begin <= past.begin && now.end > past.begin)
        past.begin = now.end;
      else if (past.end <= now.end && now.begin < past.end)
        past.end = now.begin;
    }
    if (kept != i) history[kept] = past;
    ++kept;
  }
  history.resize(kept);
}

void Checker::access(Allocation& allocation, const Access& access, const Actor& actor,
                     std::size_t lane, std::uint32_t index, const VectorClock& clock) {
  if (!enabled_ || access.bytes == 0) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(access.address);
  const AccessRecord now{begin, begin + access.bytes, access.writes, index, lane, actor};
  compare(allocation, now, clock, ReportKind::race);
  allocation.history.push_back(now);
}

void Checker::host_access(Allocation& allocation, const Access& access, const char* kind) {
  if (!enabled_ || access.bytes == 0) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(access.address);
  Actor actor;
  actor.kind = kind;
  // All that is issued later is ordered after it, so no record is kept.
  compare(allocation, {begin, begin + access.bytes, access.writes, 0, host_lane, actor},
          host_clock_, ReportKind::race);
}

bool Checker::release(Allocation& allocation, const char* kind) {
  bool pending = false;
  for (const AccessRecord& past : allocation.history)
    pending |= past.index > host_clock_[past.lane];
  if (!enabled_ || !pending) return pending;
  Actor actor;
  actor.kind = kind;
  compare(allocation, {allocation.begin(), allocation.end(), true, 0, host_lane, actor},
          host_clock_, ReportKind::pending_free);
  return true;
}

}  // namespace ringside::tests::fakecuda
