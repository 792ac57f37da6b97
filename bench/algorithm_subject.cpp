// SPDX-License-Identifier: MIT
#include "ringside/bench/algorithm_subject.hpp"

#include <algorithm>
#include <cstring>

#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/binding.hpp"
#include "ringside/collectives/cost.hpp"
#include "ringside/collectives/reference.hpp"

namespace ringside::bench {
namespace {

/// Left to the library's choice of algorithm; has no plan of its own.
constexpr std::string_view automatic = "auto";

/// What an output holds before a checked call: an element that the call forgets stays wrong.
constexpr int poison = 0xa5;

Request request_of(int ranks, Placement placement) {
  return {.collective = Collective::all_reduce,
          .ranks = ranks,
          .root = 0,
          .in_place = placement == Placement::in_place};
}

/// Elements of the message that an op reads and writes, summed over the ops, for every element of
/// the message.
double touched_per_element(const Plan& plan) {
  double touched = 0;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const Op op = plan.op(i);
    touched += static_cast<double>(op.count) *
               static_cast<double>(op.sources.size() + op.destinations.size());
  }
  return touched / std::max(1, plan.chunks());
}

/// The elements of a call that the reference interpreter is to follow: all of them, or as many as
/// make some million element visits (a few nanoseconds each); then an odd number, to have chunks of
/// unequal length.
std::uint64_t reference_elements(const Plan& plan, std::uint64_t count) {
  constexpr double visits = 2e6;
  const auto affordable =
      static_cast<std::uint64_t>(visits / std::max(1.0, touched_per_element(plan)));
  const auto least = 2 * static_cast<std::uint64_t>(plan.chunks()) + 1;
  const std::uint64_t most = std::max(affordable, least) | 1U;
  return std::min(count, most);
}

/// The time between a rank's first call and the end of each of its samples.
std::vector<double> timed_calls(const Block& block, const std::function<void()>& call) {
  std::vector<double> ends(static_cast<std::size_t>(block.samples));
  const Stopwatch watch;
  for (auto& end : ends) {
    for (std::int64_t i = 0; i < block.calls_per_sample; ++i) call();
    end = watch.elapsed().count();
  }
  return ends;
}

}  // namespace

PlanFacts plan_facts(const std::string& spec, int ranks) {
  const Plan plan = make_plan(spec, request_of(ranks, Placement::out_of_place));
  // A length that any cut divides well enough: facts are ratios.
  constexpr std::size_t elements = std::size_t{1} << 20;
  const Cost cost = cost_of(plan, std::vector{elements}, 1);
  return {.steps = cost.steps,
          .ops = cost.ops,
          .busiest_sent = static_cast<double>(cost.busiest_sent()) / elements,
          .memory_traffic = touched_per_element(plan)};
}

Stage::Stage(int ranks, std::size_t bytes, const BenchRequest& request)
    : team_(ranks, request.pin), timeout_(request.timeout) {
  const bool needs_inputs = request.measured[static_cast<std::size_t>(Placement::out_of_place)];
  const auto n = static_cast<std::size_t>(ranks);
  outputs_.resize(n);
  inputs_.resize(needs_inputs ? n : 0);
  team_.each([&](Communicator& communicator) {
    const auto rank = static_cast<std::size_t>(communicator.rank());
    for (auto* buffers : {&outputs_, &inputs_}) {
      if (buffers->empty()) continue;
      (*buffers)[rank] = PageBuffer(bytes);
      std::memset((*buffers)[rank].data(), 0, (*buffers)[rank].size());
    }
  });
}

std::byte* Stage::input(int rank, Placement placement) {
  if (placement == Placement::in_place) return output(rank);
  return inputs_[static_cast<std::size_t>(rank)].data();
}

void Stage::fill_with_ones(ElementType type, std::uint64_t count) {
  const std::size_t bytes = size_of(type);
  std::uint64_t one = 1;
  if (type == ElementType::float16) one = 0x3c00;
  if (type == ElementType::bfloat16) one = 0x3f80;
  if (type == ElementType::float8_e4m3) one = 0x38;
  if (type == ElementType::float8_e5m2) one = 0x3c;
  if (type == ElementType::float32) one = 0x3f800000;
  if (type == ElementType::float64) one = 0x3ff0000000000000;
  team_.each([&](Communicator& communicator) {
    const int rank = communicator.rank();
    for (std::byte* to :
         {output(rank), inputs_.empty() ? nullptr : input(rank, Placement::out_of_place)})
      for (std::uint64_t i = 0; to != nullptr && i < count; ++i)
        std::memcpy(to + i * bytes, &one, bytes);
  });
}

const ExactInputs& Stage::exact_inputs(ElementType type, ReduceOp op) {
  odd_check_ = !odd_check_;
  const std::uint64_t seed = odd_check_ ? 1 : 2;
  return exact_inputs_.try_emplace({type, op, odd_check_}, type, op, team_.size(), seed)
      .first->second;
}

AlgorithmSubject::AlgorithmSubject(Stage& stage, const std::string& spec, Call call)
    : stage_(stage), call_(std::move(call)), spec_(spec) {
  if (spec == automatic) return;
  facts_ = plan_facts(spec, stage.team().size());
  // In place is another request, which may be refused on its own.
  spec_ = make_plan(spec, request_of(stage.team().size(), Placement::in_place)).spec();
}

Series AlgorithmSubject::describe() const {
  Series series;
  series.label = spec_;
  series.ranks = stage_.team().size();
  series.facts = facts_;
  return series;
}

std::optional<std::string> AlgorithmSubject::refusal(const Cell&) const { return std::nullopt; }

CallOptions AlgorithmSubject::call_options() const {
  CallOptions options;
  options.algorithm = spec_;
  options.scalar = checked_scalar;
  options.timeout = stage_.timeout();
  return options;
}

void AlgorithmSubject::invoke(Communicator& communicator, const std::byte* input, std::byte* output,
                              std::size_t elements, const Cell& cell,
                              const CallOptions& options) const {
  if (call_)
    call_(communicator, input, output, elements, cell.type, cell.op, options);
  else
    communicator.all_reduce(input, output, elements, cell.type, cell.op, options);
}

BlockTimes AlgorithmSubject::time(const Cell& cell, const Block& block) {
  const auto n = static_cast<std::size_t>(stage_.team().size());
  std::vector<std::vector<double>> ends(n);
  const CallOptions options = call_options();
  stage_.team().each([&](Communicator& communicator) {
    const int rank = communicator.rank();
    const std::byte* const input = stage_.input(rank, cell.placement);
    std::byte* const output = stage_.output(rank);
    const auto call = [&] {
      communicator.all_reduce(input, output, cell.count, cell.type, cell.op, options);
    };
    for (int i = 0; i < block.lead_in; ++i) call();
    if (block.lead_in == 0) {
      std::uint64_t element = 0;  // of any type
      communicator.all_reduce(&element, &element, 1, cell.type, cell.op, options);
    }
    ends[static_cast<std::size_t>(rank)] = timed_calls(block, call);
  });

  BlockTimes times;
  for (const auto& of_rank : ends) times.rank_seconds.push_back(of_rank.back());
  times.sample_seconds.resize(static_cast<std::size_t>(block.samples));
  for (const auto& of_rank : ends) {
    double begin = 0;
    for (std::size_t i = 0; i < of_rank.size(); ++i) {
      const double one = (of_rank[i] - begin) / static_cast<double>(block.calls_per_sample);
      times.sample_seconds[i] = std::max(times.sample_seconds[i], one);
      begin = of_rank[i];
    }
  }
  return times;
}

std::optional<CheckOutcome> AlgorithmSubject::check(const Cell& cell) {
  CheckOutcome outcome;
  check_exact(cell, outcome);
  check_against_reference(cell, outcome);
  return outcome;
}

void AlgorithmSubject::check_exact(const Cell& cell, CheckOutcome& outcome) {
  const ExactInputs& inputs = stage_.exact_inputs(cell.type, cell.op);
  const CallOptions options = call_options();
  std::vector<std::uint64_t> wrong(static_cast<std::size_t>(stage_.team().size()));
  stage_.team().each([&](Communicator& communicator) {
    const int rank = communicator.rank();
    std::byte* const input = stage_.input(rank, cell.placement);
    std::byte* const output = stage_.output(rank);
    std::memset(output, poison, cell.count * size_of(cell.type));
    inputs.fill(rank, input, cell.count);
    invoke(communicator, input, output, cell.count, cell, options);
    auto& count = wrong[static_cast<std::size_t>(rank)];
    count = inputs.wrong(output, cell.count);
    if (input != output) count += inputs.changed(rank, input, cell.count);
  });
  outcome.exact_bytes = cell.count * size_of(cell.type);
  for (const auto count : wrong) {
    outcome.wrong += count;
    outcome.failed_ranks += count > 0 ? 1 : 0;
  }
}

void AlgorithmSubject::check_against_reference(const Cell& cell, CheckOutcome& outcome) {
  const int ranks = stage_.team().size();
  const auto n = static_cast<std::size_t>(ranks);
  const std::size_t element = size_of(cell.type);
  const CallOptions options = call_options();
  const bool in_place = cell.placement == Placement::in_place;

  std::string resolved = spec_;
  if (spec_ == automatic)
    stage_.team().each([&](Communicator& communicator) {
      auto choice = communicator.algorithm_for(Collective::all_reduce, cell.count * element,
                                               in_place, options);
      if (communicator.rank() == 0) resolved = std::move(choice);
    });
  const Plan plan = make_plan(resolved, request_of(ranks, cell.placement));
  const std::uint64_t count = reference_elements(plan, cell.count);
  CallOptions resolved_options = options;
  resolved_options.algorithm = resolved;

  const auto known = compared_.try_emplace(
      {resolved + (in_place ? " in place" : ""), cell.type, cell.op, count}, CheckOutcome{});
  CheckOutcome& found = known.first->second;
  if (known.second) {
    std::vector<std::vector<std::byte>> inputs(n), results(n);
    PlanBuffers buffers;
    for (std::size_t rank = 0; rank < n; ++rank) {
      inputs[rank].resize(count * element);
      fill_rounding(cell.type, cell.op, 3, static_cast<int>(rank), inputs[rank].data(), count);
      results[rank] = inputs[rank];
      buffers.inputs.push_back(in_place ? results[rank].data() : inputs[rank].data());
      buffers.outputs.push_back(results[rank].data());
    }
    run_reference(
        plan,
        {.block_elements = {count}, .type = cell.type, .op = cell.op, .scalar = checked_scalar},
        buffers);

    std::vector<std::uint64_t> wrong(n);
    stage_.team().each([&](Communicator& communicator) {
      const int rank = communicator.rank();
      std::byte* const input = stage_.input(rank, cell.placement);
      std::byte* const output = stage_.output(rank);
      std::memset(output, poison, count * element);
      std::ranges::copy(inputs[static_cast<std::size_t>(rank)], input);  // may be empty: no memcpy
      invoke(communicator, input, output, count, cell, resolved_options);
      wrong[static_cast<std::size_t>(rank)] =
          count_different(output, results[static_cast<std::size_t>(rank)].data(), count, element);
    });
    for (const auto different : wrong) {
      found.wrong += different;
      found.failed_ranks += different > 0 ? 1 : 0;
    }
  }
  outcome.reference_bytes = count * element;
  outcome.wrong += found.wrong;
  outcome.failed_ranks = std::max(outcome.failed_ranks, found.failed_ranks);
}

}  // namespace ringside::bench
