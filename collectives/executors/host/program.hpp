// SPDX-License-Identifier: MIT
/// A compiled plan bound to one rank, one message size, type and operator: flat lists of waits and
/// addresses that the rank's thread runs through.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ringside/collectives/plan_cache.hpp"
#include "ringside/collectives/reduction/fold.hpp"

namespace ringside::host {

/// "The progress of the rank's lane in this call must have reached `value`."
struct BoundWait {
  std::uint16_t rank = 0;
  std::uint16_t lane = 0;
  std::uint32_t value = 0;
};

/// Where a run begins: a base address of the call (see `base_index`) and an offset in bytes.
struct Address {
  std::uint32_t base = 0;
  std::size_t offset = 0;
};

/// Contiguous elements at all of an op's locations.
struct Run {
  std::size_t elements = 0;
  std::uint32_t first_address = 0;  ///< sources, then destinations
};

/// One slice of one op.
struct Step {
  std::uint32_t first_wait = 0, waits = 0;
  std::uint32_t first_run = 0, runs = 0;
  std::uint32_t sources = 0, destinations = 0;
  std::uint32_t kernel = 0;
  std::uint32_t op = 0;  ///< index in the plan
};

/// Base addresses of a rank: its input, output and scratch; and its scratch at the host, where the
/// other is elsewhere.
inline constexpr std::uint32_t bases_per_rank = 4;

/// Number of a rank's buffer among the base addresses of a call.
[[nodiscard]] inline std::uint32_t base_index(int rank, Buffer buffer) {
  return static_cast<std::uint32_t>(rank) * bases_per_rank + static_cast<std::uint32_t>(buffer);
}
[[nodiscard]] inline std::uint32_t host_scratch_index(int rank) {
  return static_cast<std::uint32_t>(rank) * bases_per_rank + bases_per_rank - 1;
}

struct Checks;

struct Program {
  std::shared_ptr<const CompiledPlan> compiled;
  std::vector<std::vector<Step>> lanes;  ///< slice after slice, in listed order
  std::vector<BoundWait> waits;
  std::vector<Run> runs;
  std::vector<Address> addresses;
  std::vector<FoldKernel> kernels;  ///< few: most steps fold alike
  std::vector<FoldShape> shapes;    ///< of the kernels
  std::vector<BoundWait> leave_waits;
  std::size_t scratch_bytes = 0;                          ///< of this rank
  std::size_t host_scratch_bytes = 0;                     ///< the same, if it is apart
  std::uint32_t most_sources = 0, most_destinations = 0;  ///< of a step
  std::shared_ptr<const Checks> checks;                   ///< null: without checksums

  /// Of what is allocated for it.
  [[nodiscard]] std::size_t bytes() const;

  /// Where scratch slots at the host lie.
  enum class HostSlots { among_the_others, apart };
  /// With checksums, runs are single chunks, and scratch has room for the sums behind the slots.
  enum class Checksums { none, all };
  /// Of `values` only type, operator, scalar and ranks are looked at.
  [[nodiscard]] static Program bind(std::shared_ptr<const CompiledPlan> compiled, int rank,
                                    std::span<const std::size_t> block_elements,
                                    const FoldShape& values,
                                    HostSlots host_slots = HostSlots::among_the_others,
                                    Checksums checksums = Checksums::none);
};

/// Places the operands of a step's runs, and after each calls `use(elements)`. `bases`: by
/// base_index; room for as many sources and destinations as it has.
template <class Use>
inline void for_each_run(const Program& program, const Step& step, std::byte* const* bases,
                         const std::byte** sources, std::byte** destinations, Use&& use) {
  for (std::uint32_t i = 0; i < step.runs; ++i) {
    const Run& run = program.runs[step.first_run + i];
    const Address* address = &program.addresses[run.first_address];
    for (std::uint32_t source = 0; source < step.sources; ++source, ++address)
      sources[source] = bases[address->base] + address->offset;
    for (std::uint32_t to = 0; to < step.destinations; ++to, ++address)
      destinations[to] = bases[address->base] + address->offset;
    use(run.elements);
  }
}

/// Runs a step; as for_each_run.
inline void fold_step(const Program& program, const Step& step, std::byte* const* bases,
                      const std::byte** sources, std::byte** destinations) {
  const FoldKernel& kernel = program.kernels[step.kernel];
  for_each_run(program, step, bases, sources, destinations,
               [&](std::size_t elements) { kernel(sources, destinations, elements); });
}

}  // namespace ringside::host
