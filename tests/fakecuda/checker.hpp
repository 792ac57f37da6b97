// SPDX-License-Identifier: MIT
/// Happens-before: every pair of operations that touch the same bytes, one of them writing, must be
/// ordered by streams, events, graphs or the host. Operations are checked when they are issued, as
/// order only ever leads from what was issued earlier to what is issued later; so what is found
/// does not depend on the schedule. The history of an allocation keeps the accesses that a later
/// one can still conflict with without conflicting with what came after them. (C. Flanagan, S.
/// Freund: FastTrack: efficient and precise dynamic race detection, PLDI 2009.)
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "ringside/tests/fakecuda/control.hpp"
#include "ringside/tests/fakecuda/memory.hpp"
#include "ringside/tests/fakecuda/vector_clock.hpp"

namespace ringside::tests::fakecuda {

class Checker {
 public:
  void reset(bool enabled);

  // What the host knows: all that any of its threads synchronised with.
  /// Place of the host in vector clocks.
  static constexpr std::uint32_t host_lane = 0;
  void host_learns(const VectorClock& clock) {
    if (host_clock_.join(clock)) ++host_version_;
  }
  [[nodiscard]] const VectorClock& host_clock() const { return host_clock_; }
  [[nodiscard]] std::uint64_t host_version() const { return host_version_; }

  /// An operation that is the `index`-th of its lane; `clock` is what happened before it.
  void access(Allocation& allocation, const Access& access, const Actor& actor, std::size_t lane,
              std::uint32_t index, const VectorClock& clock);
  /// The host touches memory now.
  void host_access(Allocation& allocation, const Access& access, const char* kind);
  /// Memory is about to be released: reports what may still touch it.
  void release(Allocation& allocation, const char* kind);

  /// Nothing runs there any more, so nothing of it is reported, until it is reset.
  void device_failed(int device) {
    failed_.insert(device);
    ++host_version_;  // histories are looked through anew
  }
  void device_reset(int device) { failed_.erase(device); }

  void report(Report report);
  [[nodiscard]] const std::vector<Report>& reports() const { return reports_; }
  std::vector<Report> take();
  /// Reports that nobody took, also of earlier resets.
  [[nodiscard]] std::vector<Report> unclaimed() const;

 private:
  void prune(History& history);
  void compare(Allocation& allocation, const AccessRecord& now, const Actor& actor,
               const VectorClock& clock, ReportKind kind);
  void report_pair(const Allocation& allocation, const AccessRecord& past, const Actor& past_actor,
                   const AccessRecord& now, const Actor& actor, ReportKind kind);

  bool enabled_ = true;
  VectorClock host_clock_;
  std::uint32_t host_index_ = 0;
  std::uint64_t host_version_ = 1;
  std::set<int> failed_;                                        ///< devices
  std::set<std::pair<std::uint64_t, std::uint64_t>> reported_;  ///< pairs of issue numbers
  std::vector<Report> reports_, unclaimed_;
};

/// "kernel fold (#12, stream 3 of device 1) writes [0x..., 0x...)".
[[nodiscard]] std::string describe(const ReportedOperation& operation);
[[nodiscard]] ReportedOperation describe(const Actor& actor, std::uintptr_t begin,
                                         std::uintptr_t end, bool writes);

}  // namespace ringside::tests::fakecuda
