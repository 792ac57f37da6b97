// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/cuda/program.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

#include "ringside/base/error.hpp"
#include "ringside/collectives/binding.hpp"
#include "ringside/collectives/executors/cuda/checks.hpp"
#include "ringside/collectives/executors/cuda/order.hpp"
#include "ringside/collectives/executors/program_parts.hpp"
#include "ringside/collectives/executors/scratch_places.hpp"

namespace ringside::cuda {
namespace {

class Binder {
 public:
  Binder(const CompiledPlan& compiled, std::span<const std::size_t> block_elements,
         const FoldShape& values, const AccessMatrix& access, Program& program)
      : plan_(compiled.plan),
        schedule_(compiled.schedule),
        binding_(compiled.plan, block_elements),
        places_(compiled.plan, binding_),
        values_(values),
        access_(access),
        program_(program) {
    program_.ranks = plan_.ranks();
    program_.lanes = schedule_.lanes;
    program_.element_bytes = size_of(values.type);
  }

  void bind(Program::Checksums checksums) {
    if (checksums == Program::Checksums::all) checks_.emplace(plan_, schedule_, values_);
    const int slices = plan_.shape().slices;
    first_step_.assign(static_cast<std::size_t>(slices) * plan_.size(), 0);
    for (int slice = 0; slice < slices; ++slice)
      for (std::size_t op = 0; op < plan_.size(); ++op) add_step(static_cast<int>(op), slice);
    find_last_steps();
    for (const auto elements : places_.device())
      program_.scratch.push_back(elements * program_.element_bytes);
    for (const auto elements : places_.host())
      program_.host_scratch.push_back(elements * program_.element_bytes);
    if (!checks_) return;
    add_ends();
    program_.checks = std::make_shared<const Checks>(checks_->finish(program_.scratch));
  }

 private:
  /// The slices of all ranks' inputs and outputs.
  void add_ends() {
    for (int rank = 0; rank < plan_.ranks(); ++rank)
      for (const Buffer buffer : {Buffer::input, Buffer::output})
        for_each_chunk(plan_, rank, buffer, [&](const Location& location) {
          for (int slice = 0; slice < plan_.shape().slices; ++slice)
            if (const std::size_t elements = binding_.extent(location, 0, slice).length)
              checks_->add_end(location, slice, address(location, 0, slice),
                               elements * program_.element_bytes);
        });
  }

  void add_step(int op, int slice) {
    const Op view = plan_.op(static_cast<std::size_t>(op));
    const OpFacts& facts = schedule_.facts[static_cast<std::size_t>(op)];
    Step step{
        .op = static_cast<std::uint32_t>(op),
        .stream = static_cast<std::uint32_t>(schedule_.stream_of[static_cast<std::size_t>(op)]),
        .first_wait = number_in_program(program_.waits.size()),
        .first_run = number_in_program(program_.runs.size()),
        .sources = static_cast<std::uint32_t>(view.sources.size()),
        .destinations = static_cast<std::uint32_t>(view.destinations.size())};
    for (const Wait& wait : schedule_.waits(op)) {
      if (wait.lag > slice) continue;
      const auto& ops = schedule_.streams[static_cast<std::size_t>(wait.stream)];
      const std::uint32_t before =
          step_of(ops[static_cast<std::size_t>(wait.position)], slice - wait.lag);
      program_.waits.push_back(before);
      program_.steps[before].recorded = true;
    }
    for (int offset = 0; offset < view.count; ++offset) add_run(view, offset, slice, step);
    step.waits = number_in_program(program_.waits.size()) - step.first_wait;
    step.runs = number_in_program(program_.runs.size()) - step.first_run;
    if (checks_) checks_->end_step();
    choose_way(view, facts, step);
    first_step_[static_cast<std::size_t>(slice) * plan_.size() + static_cast<std::size_t>(op)] =
        number_in_program(program_.steps.size());
    program_.steps.push_back(step);
  }

  [[nodiscard]] std::uint32_t step_of(int op, int slice) const {
    return first_step_[static_cast<std::size_t>(slice) * plan_.size() +
                       static_cast<std::size_t>(op)];
  }

  void choose_way(const Op& view, const OpFacts& facts, Step& step) {
    FoldShape shape = values_;
    shape.k = view.sources.size();
    shape.m = view.destinations.size();
    shape.raw_mask = facts.raw_mask;
    shape.all_raw = facts.all_raw;
    shape.completes = facts.completes;
    step.copies = is_plain_copy(shape);
    step.by_engine = step.copies && (!reached(view.rank, view.sources.front()) ||
                                     !reached(view.rank, view.destinations.front()));
    step.kernel = kernel(shape);
  }

  /// Whether a kernel of the rank may touch the location.
  [[nodiscard]] bool reached(int rank, const Location& location) const {
    return location.rank == rank || at_host(location) || access_.empty() ||
           access_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(location.rank)] ==
               Access::direct;
  }

  [[nodiscard]] bool at_host(const Location& location) const { return is_at_host(plan_, location); }

  /// The kernel that does it; made if no op before was like it.
  std::uint32_t kernel(const FoldShape& shape) {
    const auto known = std::find(shapes_.begin(), shapes_.end(), shape);
    if (known != shapes_.end())
      return number_in_program(static_cast<std::size_t>(known - shapes_.begin()));
    program_.kernels.push_back(resolve_device_fold(shape));
    shapes_.push_back(shape);
    return number_in_program(shapes_.size() - 1);
  }

  [[nodiscard]] Address address(const Location& location, int offset, int slice) const {
    std::size_t at = binding_.extent(location, offset, slice).offset;
    Base base = location.buffer == Buffer::input ? Base::input : Base::output;
    if (location.buffer == Buffer::scratch) {
      base = at_host(location) ? Base::host_scratch : Base::scratch;
      at = places_.moved(location, at);
    }
    return {Address::number(location.rank, base), at * program_.element_bytes};
  }

  void add_run(const Op& view, int offset, int slice, const Step& step) {
    const std::size_t elements = binding_.extent(view.sources.front(), offset, slice).length;
    if (elements == 0) return;
    const std::uint32_t first = number_in_program(program_.addresses.size());
    for (const auto& source : view.sources)
      program_.addresses.push_back(address(source, offset, slice));
    for (const auto& destination : view.destinations)
      program_.addresses.push_back(address(destination, offset, slice));
    if (checks_) {
      checks_->add_run(step.op, offset, slice, std::span(program_.addresses).subspan(first),
                       elements * program_.element_bytes);
      program_.runs.push_back({elements, first});
    } else if (program_.runs.size() > step.first_run &&
               continues(program_.runs.back(),
                         program_.runs.back().elements * program_.element_bytes, program_.addresses,
                         first)) {
      program_.runs.back().elements += elements;
      program_.addresses.resize(first);
    } else {
      program_.runs.push_back({elements, first});
    }
  }

  /// Runs through the steps as the streams will, and notes for every rank the last steps at its
  /// buffers, without those that others imply.
  void find_last_steps() {
    const std::size_t streams =
        static_cast<std::size_t>(program_.ranks) * static_cast<std::size_t>(program_.lanes);
    constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
    std::vector<std::vector<std::uint32_t>> last_at(static_cast<std::size_t>(program_.ranks),
                                                    std::vector<std::uint32_t>(streams, none));
    std::vector<std::uint32_t> last(streams, none);
    StreamOrder order;
    std::vector<Moment> moments;
    moments.reserve(program_.steps.size());
    for (std::uint32_t i = 0; i < program_.steps.size(); ++i) {
      const Step& step = program_.steps[i];
      const int stream = static_cast<int>(step.stream);
      for (const auto before : program_.waits_of(step)) order.wait(stream, moments[before]);
      moments.push_back(order.append(stream));
      last[step.stream] = i;
      if (step.runs == 0) continue;
      // Its rank's sums are complete behind all its own steps.
      if (checks_) last_at[static_cast<std::size_t>(program_.rank_of(step))][step.stream] = i;
      for (const Address& at : program_.addresses_of(step, program_.runs_of(step).front()))
        if (at.is_users()) last_at[static_cast<std::size_t>(at.rank())][step.stream] = i;
    }
    const auto necessary = [&](const std::vector<std::uint32_t>& candidates) {
      std::vector<const Moment*> all;
      for (const auto step : candidates)
        if (step != none) all.push_back(&moments[step]);
      std::vector<std::uint32_t> steps;
      for (const Moment* moment : needed_waits(StreamOrder(), 0, all)) {
        steps.push_back(static_cast<std::uint32_t>(moment - moments.data()));
        program_.steps[steps.back()].recorded = true;
      }
      return steps;
    };
    for (const auto& candidates : last_at) program_.leave_steps.push_back(necessary(candidates));
    program_.last_steps = necessary(last);
  }

  const Plan& plan_;
  const Schedule& schedule_;
  Binding binding_;
  ScratchPlaces places_;
  FoldShape values_;
  const AccessMatrix& access_;
  Program& program_;
  std::optional<CheckBinder> checks_;
  std::vector<FoldShape> shapes_;          // of the program's kernels
  std::vector<std::uint32_t> first_step_;  // [slice x ops + op]
};

}  // namespace

bool Program::uses_scratch() const {
  const auto any = [](const std::vector<std::size_t>& bytes) {
    return std::any_of(bytes.begin(), bytes.end(), [](std::size_t n) { return n > 0; });
  };
  return any(scratch) || any(host_scratch);
}

std::size_t Program::bytes() const {
  std::size_t sum = sizeof(Program) + steps.capacity() * sizeof(Step) +
                    waits.capacity() * sizeof(std::uint32_t) + runs.capacity() * sizeof(Run) +
                    addresses.capacity() * sizeof(Address) +
                    kernels.capacity() * sizeof(DeviceFold);
  for (const auto& list : leave_steps) sum += list.capacity() * sizeof(std::uint32_t);
  return sum;
}

Program Program::bind(std::shared_ptr<const CompiledPlan> compiled,
                      std::span<const std::size_t> block_elements, const FoldShape& values,
                      const AccessMatrix& access, Checksums checksums) {
  static std::atomic<std::uint64_t> programs{0};
  Program program;
  program.id = ++programs;
  program.compiled = std::move(compiled);
  Binder(*program.compiled, block_elements, values, access, program).bind(checksums);
  return program;
}

}  // namespace ringside::cuda
