// SPDX-License-Identifier: MIT
/// A compiled plan bound to one message size, type and operator, for all ranks: the operations to
/// be put in streams, in the order in which they are put there.
///
/// A lane of a rank is a stream of the rank's device. The steps stand in the order (slice, op of
/// the plan), which is one that runs; so an event has been recorded before anybody is made to wait
/// for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ringside/collectives/lower.hpp"
#include "ringside/collectives/plan_cache.hpp"
#include "ringside/collectives/reduction/cuda/device_fold.hpp"
#include "ringside/collectives/reduction/fold.hpp"

namespace ringside::cuda {

/// The memory of a rank that operations address.
enum class Base : std::uint32_t {
  input,
  output,
  scratch,       ///< of the rank's device
  host_scratch,  ///< pinned
};
inline constexpr std::uint32_t bases_per_rank = 4;

/// Where a run begins: the number of a base address, and an offset in bytes.
struct Address {
  std::uint32_t base = 0;
  std::size_t offset = 0;

  [[nodiscard]] static std::uint32_t number(int rank, Base base) {
    return static_cast<std::uint32_t>(rank) * bases_per_rank + static_cast<std::uint32_t>(base);
  }
  [[nodiscard]] int rank() const { return static_cast<int>(base / bases_per_rank); }
  [[nodiscard]] Base kind() const { return static_cast<Base>(base % bases_per_rank); }
  [[nodiscard]] bool is_users() const { return kind() == Base::input || kind() == Base::output; }
};

/// Contiguous elements at all of an op's locations.
struct Run {
  std::size_t elements = 0;
  std::uint32_t first_address = 0;  ///< sources, then destinations
};

/// One slice of one op.
struct Step {
  std::uint32_t op = 0;      ///< index in the plan
  std::uint32_t stream = 0;  ///< rank x lanes + lane
  std::uint32_t first_wait = 0, waits = 0;
  std::uint32_t first_run = 0, runs = 0;
  std::uint32_t sources = 0, destinations = 0;
  std::uint32_t kernel = 0;
  bool copies = false;     ///< one source, one destination, no arithmetic
  bool by_engine = false;  ///< it must be a copy engine: a kernel cannot reach the data
  bool recorded = false;   ///< somebody waits for it
};

struct Checks;

struct Program {
  std::uint64_t id = 0;  ///< no other program has it
  std::shared_ptr<const CompiledPlan> compiled;
  int ranks = 1, lanes = 1;
  std::size_t element_bytes = 1;
  std::vector<Step> steps;
  std::vector<std::uint32_t> waits;  ///< steps, earlier ones
  std::vector<Run> runs;
  std::vector<Address> addresses;
  std::vector<DeviceFold> kernels;  ///< few: most steps fold alike
  /// By rank: the steps behind all of which its buffers are its own again.
  std::vector<std::vector<std::uint32_t>> leave_steps;
  /// The steps behind all of which nothing is left to do.
  std::vector<std::uint32_t> last_steps;
  /// Bytes, by rank.
  std::vector<std::size_t> scratch, host_scratch;
  std::shared_ptr<const Checks> checks;  ///< null: without checksums

  [[nodiscard]] int rank_of(const Step& step) const {
    return static_cast<int>(step.stream) / lanes;
  }
  [[nodiscard]] std::span<const std::uint32_t> waits_of(const Step& step) const {
    return std::span(waits).subspan(step.first_wait, step.waits);
  }
  [[nodiscard]] std::span<const Run> runs_of(const Step& step) const {
    return std::span(runs).subspan(step.first_run, step.runs);
  }
  /// Sources, then destinations.
  [[nodiscard]] std::span<const Address> addresses_of(const Step& step, const Run& run) const {
    return std::span(addresses).subspan(run.first_address, step.sources + step.destinations);
  }
  [[nodiscard]] bool uses_scratch() const;
  /// Of what is allocated for it.
  [[nodiscard]] std::size_t bytes() const;

  enum class Checksums { none, all };
  /// Of `values` only type, operator, scalar and ranks are looked at. `access` is what the plan was
  /// lowered to. Throws Error(unsupported) for an op with more operands than a kernel takes.
  [[nodiscard]] static Program bind(std::shared_ptr<const CompiledPlan> compiled,
                                    std::span<const std::size_t> block_elements,
                                    const FoldShape& values, const AccessMatrix& access,
                                    Checksums checksums = Checksums::none);
};

}  // namespace ringside::cuda
