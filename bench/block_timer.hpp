// SPDX-License-Identifier: MIT
/// Timing calls on end on one rank, and what the times of all ranks come to. Shared by all that is
/// timed, so that ours and theirs are timed alike.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/bench/subject.hpp"

namespace ringside::bench {

/// Runs all samples of a block.
struct AllSamples {
  bool operator()(std::int64_t /*done*/, Seconds /*elapsed*/) const { return true; }
};

/// Seconds from the first call to the end of each sample. `goes_on(done, elapsed)` is asked behind
/// every sample whether there is to be another; all ranks must get the same answer.
template <class Call, class GoesOn = AllSamples>
[[nodiscard]] std::vector<double> time_calls(const Block& block, const Call& call,
                                             const GoesOn& goes_on = {}) {
  std::vector<double> ends(static_cast<std::size_t>(block.samples));
  const Stopwatch watch;
  for (std::size_t sample = 0; sample < ends.size(); ++sample) {
    for (std::int64_t i = 0; i < block.calls_per_sample; ++i) call();
    const Seconds elapsed = watch.elapsed();
    ends[sample] = elapsed.count();
    if (!goes_on(static_cast<std::int64_t>(sample) + 1, elapsed)) ends.resize(sample + 1);
  }
  return ends;
}

/// The same of the calls alone, where each has to be prepared: seconds spent in calls up to the end
/// of each sample. The clock is read twice a call (some 40 ns).
template <class Prepare, class Call, class GoesOn = AllSamples>
[[nodiscard]] std::vector<double> time_prepared_calls(const Block& block, const Prepare& prepare,
                                                      const Call& call,
                                                      const GoesOn& goes_on = {}) {
  std::vector<double> ends(static_cast<std::size_t>(block.samples));
  const Stopwatch whole;
  double spent = 0;
  for (std::size_t sample = 0; sample < ends.size(); ++sample) {
    for (std::int64_t i = 0; i < block.calls_per_sample; ++i) {
      prepare();
      const Stopwatch watch;
      call();
      spent += watch.elapsed().count();
    }
    ends[sample] = spent;
    if (!goes_on(static_cast<std::int64_t>(sample) + 1, whole.elapsed())) ends.resize(sample + 1);
  }
  return ends;
}

/// Says on all ranks alike when a block has run long enough: rank 0 names the last sample, before
/// it enters it. Nobody can be beyond it: a call of a collective is over only when all ranks have
/// entered it, so they are one call ahead at most.
class BlockLimit {
 public:
  /// `ahead`: calls that a rank can be ahead of rank 0.
  explicit BlockLimit(const Block& block, std::int64_t ahead = 1)
      : block_(block), ahead_(ahead), last_(block.samples) {}

  /// For time_calls, with the number of the asking rank.
  [[nodiscard]] bool goes_on(int rank, std::int64_t done, Seconds elapsed) {
    if (rank == 0 && block_.limit && elapsed > *block_.limit &&
        done + ahead_ < last_.load(std::memory_order_relaxed))
      last_.store(done + ahead_, std::memory_order_release);
    return done < last_.load(std::memory_order_acquire);
  }

 private:
  const Block& block_;
  std::int64_t ahead_;
  std::atomic<std::int64_t> last_;
};

/// From every rank's ends, as many of each.
[[nodiscard]] BlockTimes block_times(const std::vector<std::vector<double>>& ends,
                                     const Block& block);

/// Fills `elements` elements with copies of the one at `element`, with ordinary stores.
void fill_with(std::byte* to, std::uint64_t elements, const void* element, std::size_t bytes);

}  // namespace ringside::bench
