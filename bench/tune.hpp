// SPDX-License-Identifier: MIT
/// Making a tuning table: which algorithms are tried, how the fastest is found in little time, and
/// when a difference is large enough to change the choice.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ringside/bench/report.hpp"
#include "ringside/collectives/selector/tuning.hpp"

namespace ringside::bench {

struct TuneRequest {
  BackendKind backend = BackendKind::host;  ///< not nccl
  GpuRequest gpus = {};                     ///< one way to issue, one to copy
  std::vector<Collective> collectives;      ///< empty: all but barrier
  std::vector<int> ranks = {2, 4, 8};
  SizeRange sizes = {.begin = 8, .end = std::uint64_t{64} << 20, .factor = 4};
  Seconds time{300};  ///< for everything, about
  bool pin = true;
  std::vector<std::string> algorithms = {};  ///< empty: those of `tuning_candidates`
};

/// The specs worth trying for a request, the simplest first: every registered algorithm that serves
/// it, with its ways of moving data and, for `sliced`, with slices. Of those whose plans are the
/// same only the first. What is wrong or does not serve it is left out, and noted in `skipped`.
[[nodiscard]] std::vector<std::string> tuning_candidates(Collective collective, int ranks,
                                                         bool sliced,
                                                         std::vector<Skipped>* skipped = nullptr);

/// What a candidate took at one size, against the fastest at that size.
struct Trial {
  std::string spec;
  double microseconds = 0;
  /// The median of same-round ratios to the fastest; 1 where the ratios are not told from 1 by
  /// their noise.
  double ratio = 1;
};

/// All that was measured at one size, and not given up before.
struct SizeTrials {
  std::uint64_t bytes = 0;  ///< of all blocks of the request together
  std::vector<Trial> trials;
};

/// The choices for sizes measured in ascending order: those for which the sum over the sizes of
/// log(ratio) is least, where every change of the algorithm costs as much as being 5 % slower at
/// one size, and every place further back among the candidates 0.1 %. So noise changes nothing, and
/// of equals the simplest is taken. A choice holds from half way (of the logarithm) to the size
/// before it on.
[[nodiscard]] std::vector<TuningRange> best_ranges(const std::vector<SizeTrials>& sizes,
                                                   const std::vector<std::string>& candidates);

/// Compares the timings of one size; the series are candidates at one number of ranks. With several
/// placements wanted, the ratio is the geometric mean of theirs.
[[nodiscard]] SizeTrials trials_of(const Report& report, std::uint64_t bytes,
                                   const std::vector<Placement>& wanted);

/// "40 s", "5 min": what `tune` will take, and for how many measurements.
[[nodiscard]] std::string tuning_estimate(const TuneRequest& request);

/// What `tune` takes at least, about: less cannot be kept.
[[nodiscard]] Seconds least_tuning_time(const TuneRequest& request);

/// Measures and makes the table. `progress`: cells done and in all, and what is measured now.
/// `skipped`: where algorithms that were left out are noted.
[[nodiscard]] TuningTable tune(const TuneRequest& request,
                               const std::function<void(std::size_t done, std::size_t total,
                                                        const std::string& what)>& progress,
                               std::vector<Skipped>* skipped = nullptr);

}  // namespace ringside::bench
