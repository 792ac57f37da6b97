// SPDX-License-Identifier: MIT
/// How near the twin comes to published measurements: with its figures fitted to all of them, and
/// (the honest figure) for each machine with figures fitted to all the others.
///
/// NCCL is simulated as it runs (executors/simulated/nccl_run.hpp). Where nobody states what NCCL
/// chose, its own model says.
#pragma once

#include <string>
#include <vector>

#include "ringside/bench/accuracy/published.hpp"
#include "ringside/topology/model/fit.hpp"

namespace ringside::bench {

/// A fitted figure of a class, or of all classes.
struct ClassFigure {
  std::string model;  ///< class; empty: all
  FreeFigure figure;
  std::string prior_source;  ///< why it is believed to be so without these measurements
};

/// All that is fitted to published measurements. What they come to stands in classes/*.json.
[[nodiscard]] const std::vector<ClassFigure>& published_figures();

struct RowAccuracy {
  std::string way;            ///< what ran: "auto" settled
  std::string model;          ///< class
  double predicted = 0;       ///< GB/s, figures as in the library
  double without_system = 0;  ///< GB/s, figures fitted to the rows of all other groups
};

struct Accuracy {
  std::vector<RowAccuracy> rows;  ///< of the included rows, in their order
  std::vector<double> fitted;     ///< of published_figures(), to all rows
};

/// Of a set of errors |predicted / measured - 1|.
struct ErrorSummary {
  std::size_t rows = 0;
  double median = 0, p90 = 0, worst = 0;
};

/// Throws where a row cannot be simulated, with its number.
[[nodiscard]] Accuracy accuracy_of(const std::vector<PublishedRow>& rows);

/// `without_system`: of those predictions, else of the library's. `copies`: counts rows of copies
/// too.
[[nodiscard]] ErrorSummary errors_of(const std::vector<PublishedRow>& rows,
                                     const Accuracy& accuracy, bool without_system, bool copies);

/// The table with its summary, and the excluded rows with their reasons.
[[nodiscard]] std::string accuracy_text(const std::vector<PublishedRow>& rows,
                                        const Accuracy& accuracy);

}  // namespace ringside::bench
