// SPDX-License-Identifier: MIT
/// Checksums of a program's data, from a rank's input to another's output; what is compared is the
/// same as on the host (executors/host/checks.hpp), and when is another: kernels only sum.
///
/// A rank has a table of sums behind its scratch: of the values that it makes, then of what it
/// finds of others' (what a fold is about to read, what a copy has brought to its memory, its
/// output at the end). The tables go to the host behind the call, and are compared there. That
/// kernels touch no more than memory of their own, plans with checksums are lowered so that ranks
/// reach each other by copies alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ringside/collectives/executors/cuda/program.hpp"
#include "ringside/collectives/executors/cuda/runtime.hpp"
#include "ringside/collectives/executors/custody.hpp"

namespace ringside::cuda {

/// What of a program is summed and compared.
struct Checks {
  /// A run of bytes, and which of the rank's sums it is.
  struct Task {
    Address at;
    std::size_t bytes = 0;
    std::uint32_t sum = 0;
  };
  /// Tasks of a step: some before its operations, some behind them.
  struct Around {
    std::uint32_t first = 0, before = 0, after = 0;
  };
  /// A sum of a rank's that must be that of another.
  struct Comparison {
    Value found, made;
    std::size_t op = 0;  ///< that has found it; the plan's size: it is of the output
    Location at;
  };
  std::vector<Task> tasks;
  std::vector<Around> steps;                       ///< by step of the program
  std::vector<std::vector<Task>> inputs, outputs;  ///< by rank
  std::vector<Comparison> comparisons;
  std::vector<std::size_t> tables;  ///< by rank: where its sums begin in its scratch
  std::vector<std::uint32_t> sums;  ///< by rank: how many

  [[nodiscard]] std::span<const Task> before(std::size_t step) const {
    return std::span(tasks).subspan(steps[step].first, steps[step].before);
  }
  [[nodiscard]] std::span<const Task> after(std::size_t step) const {
    return std::span(tasks).subspan(steps[step].first + steps[step].before, steps[step].after);
  }
};

/// Makes them along with a program.
class CheckBinder {
 public:
  /// Both outlive it. Of `values` only type, operator, scalar and ranks are looked at.
  CheckBinder(const Plan& plan, const Schedule& schedule, const FoldShape& values);

  /// Of an op's next run: a slice of its `offset`-th chunk, `bytes` bytes at `addresses`.
  void add_run(std::size_t op, int offset, int slice, std::span<const Address> addresses,
               std::size_t bytes);
  /// Behind the last run of a step.
  void end_step();
  /// A slice of a chunk of a rank's input or output.
  void add_end(const Location& location, int slice, const Address& at, std::size_t bytes);
  /// Adds the tables behind the scratch of these lengths, by rank.
  [[nodiscard]] Checks finish(std::vector<std::size_t>& scratch);

 private:
  [[nodiscard]] Value sum_of(const Value& value, int slice) const;
  /// A new sum of a rank's.
  [[nodiscard]] Checks::Task found(int rank, const Value& value, int slice, std::size_t op,
                                   const Location& at, const Address& address, std::size_t bytes);

  const Plan& plan_;
  Custody custody_;
  std::vector<Checks::Task> before_, after_;
  Checks checks_;
};

/// Where the tables of a communicator's ranks come to in the end. Used by one thread at a time, and
/// by one call.
class SumTables {
 public:
  explicit SumTables(int ranks) : tables_(static_cast<std::size_t>(ranks)) {}
  /// Of a rank, for so many sums. Throws Error(io) without memory, Error(device).
  [[nodiscard]] std::byte* of(int rank, std::size_t sums);
  /// The first comparison of a program that does not hold: Error(corrupted), by the rank that found
  /// it.
  [[nodiscard]] std::optional<Error> difference(const Program& program, std::uint64_t call) const;

 private:
  [[nodiscard]] std::uint64_t sum(const Value& value) const;
  std::vector<PinnedMemory> tables_;
};

}  // namespace ringside::cuda
