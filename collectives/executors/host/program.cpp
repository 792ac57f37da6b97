// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/host/program.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "ringside/base/cache.hpp"
#include "ringside/base/error.hpp"
#include "ringside/collectives/binding.hpp"
#include "ringside/collectives/executors/host/checks.hpp"
#include "ringside/collectives/executors/host/shared.hpp"
#include "ringside/collectives/executors/program_parts.hpp"
#include "ringside/collectives/executors/scratch_places.hpp"

namespace ringside::host {
namespace {

class Binder {
 public:
  Binder(const CompiledPlan& compiled, std::span<const std::size_t> block_elements,
         const FoldShape& values, Program::HostSlots host_slots, Program& program)
      : plan_(compiled.plan),
        schedule_(compiled.schedule),
        binding_(compiled.plan, block_elements),
        values_(values),
        element_bytes_(size_of(values.type)),
        program_(program) {
    if (host_slots == Program::HostSlots::apart) places_.emplace(plan_, binding_);
    // In place, lines that are written have just been read: nothing is won by bypassing the cache.
    bypasses_cache_ = !plan_.request().in_place && user_bytes() > last_cache_bytes();
  }

  void bind(int rank, Program::Checksums checksums) {
    if (checksums == Program::Checksums::all)
      checks_.emplace(plan_, schedule_, binding_, values_, rank);
    const int slices = plan_.shape().slices;
    for (int lane = 0; lane < schedule_.lanes; ++lane) {
      const auto& ops = schedule_.streams[stream_of(rank, lane)];
      auto& steps = program_.lanes.emplace_back();
      steps.reserve(number_in_program(ops.size() * static_cast<std::size_t>(slices)));
      for (int slice = 0; slice < slices; ++slice)
        for (const int op : ops) steps.push_back(step(op, slice));
    }
    for (const Wait& wait : schedule_.leave_waits[static_cast<std::size_t>(rank)])
      program_.leave_waits.push_back(bound(wait, slices - 1));
    const auto of_rank = static_cast<std::size_t>(rank);
    program_.scratch_bytes =
        (places_ ? places_->device()[of_rank] : binding_.length(rank, Buffer::scratch)) *
        element_bytes_;
    if (places_) program_.host_scratch_bytes = places_->host()[of_rank] * element_bytes_;
    if (!checks_) return;
    program_.scratch_bytes = checks_->scratch_bytes(rank);
    program_.checks = std::make_shared<const Checks>(checks_->finish());
  }

 private:
  [[nodiscard]] std::size_t stream_of(int rank, int lane) const {
    return static_cast<std::size_t>(rank) * static_cast<std::size_t>(schedule_.lanes) +
           static_cast<std::size_t>(lane);
  }

  /// Of all ranks' inputs and outputs.
  [[nodiscard]] std::size_t user_bytes() const {
    std::size_t elements = 0;
    for (int rank = 0; rank < plan_.ranks(); ++rank)
      for (const Buffer buffer : {Buffer::input, Buffer::output})
        elements += binding_.length(rank, buffer);
    return elements * element_bytes_;
  }

  /// Progress counts finished steps: all of the earlier slices, then those up to the position.
  [[nodiscard]] BoundWait bound(const Wait& wait, int slice) const {
    const auto length = schedule_.streams[static_cast<std::size_t>(wait.stream)].size();
    return {static_cast<std::uint16_t>(wait.stream / schedule_.lanes),
            static_cast<std::uint16_t>(wait.stream % schedule_.lanes),
            static_cast<std::uint32_t>(static_cast<std::size_t>(slice - wait.lag) * length +
                                       static_cast<std::size_t>(wait.position) + 1)};
  }

  Step step(int op, int slice) {
    const Op view = plan_.op(static_cast<std::size_t>(op));
    Step step{.first_wait = number_in_program(program_.waits.size()),
              .first_run = number_in_program(program_.runs.size()),
              .sources = static_cast<std::uint32_t>(view.sources.size()),
              .destinations = static_cast<std::uint32_t>(view.destinations.size()),
              .kernel = kernel(view, schedule_.facts[static_cast<std::size_t>(op)]),
              .op = static_cast<std::uint32_t>(op)};
    for (const Wait& wait : schedule_.waits(op))
      if (wait.lag <= slice) program_.waits.push_back(bound(wait, slice));
    for (int offset = 0; offset < view.count; ++offset) add_run(view, offset, slice, step);
    step.waits = static_cast<std::uint32_t>(program_.waits.size()) - step.first_wait;
    step.runs = static_cast<std::uint32_t>(program_.runs.size()) - step.first_run;
    return step;
  }

  /// The kernel that does the op; made if no op before was like it.
  std::uint32_t kernel(const Op& view, const OpFacts& facts) {
    FoldShape shape = values_;
    shape.k = view.sources.size();
    shape.m = view.destinations.size();
    shape.raw_mask = facts.raw_mask;
    shape.all_raw = facts.all_raw;
    shape.completes = facts.completes;
    shape.streaming = bypasses_cache_ && facts.last_use;
    program_.most_sources = std::max(program_.most_sources, number_in_program(shape.k));
    program_.most_destinations = std::max(program_.most_destinations, number_in_program(shape.m));
    auto& shapes = program_.shapes;
    const auto known = std::find(shapes.begin(), shapes.end(), shape);
    if (known != shapes.end())
      return number_in_program(static_cast<std::size_t>(known - shapes.begin()));
    shapes.push_back(shape);
    program_.kernels.push_back(resolve_fold(shape));
    return number_in_program(shapes.size() - 1);
  }

  [[nodiscard]] Address address(const Location& location, int offset, int slice) const {
    std::uint32_t base = base_index(location.rank, location.buffer);
    std::size_t at = binding_.extent(location, offset, slice).offset;
    if (places_ && location.buffer == Buffer::scratch) {
      at = places_->moved(location, at);
      if (is_at_host(plan_, location)) base = host_scratch_index(location.rank);
    }
    return {base, at * element_bytes_};
  }

  void add_run(const Op& view, int offset, int slice, const Step& step) {
    const std::size_t elements = binding_.extent(view.sources.front(), offset, slice).length;
    if (elements == 0) return;
    const std::uint32_t first = number_in_program(program_.addresses.size());
    const auto add = [&](const Location& location) {
      program_.addresses.push_back(address(location, offset, slice));
    };
    for (const auto& source : view.sources) add(source);
    for (const auto& destination : view.destinations) add(destination);
    if (checks_) {
      checks_->add_run(step.op, offset, slice);
      program_.runs.push_back({elements, first});
    } else if (program_.runs.size() > step.first_run &&
               continues(program_.runs.back(), program_.runs.back().elements * element_bytes_,
                         program_.addresses, first)) {
      program_.runs.back().elements += elements;
      program_.addresses.resize(first);
    } else {
      program_.runs.push_back({elements, first});
    }
  }

  const Plan& plan_;
  const Schedule& schedule_;
  Binding binding_;
  FoldShape values_;
  std::size_t element_bytes_;
  std::optional<ScratchPlaces> places_;  // if slots at the host are apart
  bool bypasses_cache_ = false;
  std::optional<CheckBinder> checks_;
  Program& program_;
};

}  // namespace

std::size_t Program::bytes() const {
  std::size_t sum = waits.capacity() * sizeof(BoundWait) + runs.capacity() * sizeof(Run) +
                    addresses.capacity() * sizeof(Address) +
                    kernels.capacity() * sizeof(FoldKernel) + shapes.capacity() * sizeof(FoldShape);
  for (const auto& lane : lanes) sum += lane.capacity() * sizeof(Step);
  return sum + sizeof(Program) + (checks ? checks->bytes() : 0);
}

Program Program::bind(std::shared_ptr<const CompiledPlan> compiled, int rank,
                      std::span<const std::size_t> block_elements, const FoldShape& values,
                      HostSlots host_slots, Checksums checksums) {
  Program program;
  program.compiled = std::move(compiled);
  Binder(*program.compiled, block_elements, values, host_slots, program).bind(rank, checksums);
  return program;
}

}  // namespace ringside::host
