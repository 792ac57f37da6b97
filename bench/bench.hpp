// SPDX-License-Identifier: MIT
/// A benchmark from request to output: what `ringside bench` does once its command line is read.
#pragma once

#include <functional>
#include <string_view>

#include "ringside/bench/report.hpp"

namespace ringside::bench {

enum class Format {
  text,   ///< nccl-tests' blocks, one per algorithm and number of ranks
  table,  ///< one table per number of ranks and placement
  json,
  csv,
};

struct Output {
  Format format = Format::text;
  bool summary = false;  ///< with a closing paragraph (not in csv)
  /// Takes the output piece by piece: a number of ranks at a time, and a row at a time where a
  /// single algorithm is measured and nothing can come in between.
  std::function<void(std::string_view)> print;
};

/// Measures and prints. Returns the exit code: 0, or 1 if an element was wrong. Throws what
/// run_sweep throws.
int run_bench(const BenchRequest& request, const Output& output);

}  // namespace ringside::bench
