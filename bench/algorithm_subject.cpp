// SPDX-License-Identifier: MIT
#include "ringside/bench/algorithm_subject.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "ringside/bench/volume.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/cost.hpp"
#include "ringside/collectives/layout.hpp"
#include "ringside/collectives/prover.hpp"
#include "ringside/collectives/reference.hpp"

namespace ringside::bench {
namespace {

/// Left to the library's choice of algorithm; has no plan of its own.
constexpr std::string_view automatic = "auto";

/// Elements that an op reads and writes, summed over the ops, for every element of a block.
double touched_per_element(const Plan& plan) {
  double touched = 0;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const Op op = plan.op(i);
    touched += static_cast<double>(op.count) *
               static_cast<double>(op.sources.size() + op.destinations.size());
  }
  return touched / std::max(1, plan.shape().chunks_per_block);
}

/// Elements of a block in a call that the reference interpreter is to follow: all of them, or as
/// many as make some million element visits (a few nanoseconds each); then an odd number, to have
/// chunks of unequal length.
std::uint64_t reference_elements(const Plan& plan, std::uint64_t count) {
  constexpr double visits = 2e6;
  const auto affordable =
      static_cast<std::uint64_t>(visits / std::max(1.0, touched_per_element(plan)));
  const auto least = 2 * static_cast<std::uint64_t>(plan.shape().chunks_per_block) + 1;
  const std::uint64_t most = std::max(affordable, least) | 1U;
  return std::min(count, most);
}

}  // namespace

PlanFacts plan_facts(const std::string& spec, const Request& request) {
  const Plan plan = make_plan(spec, request);
  // A length that any cut divides well enough: facts are ratios to the size column's bytes.
  constexpr std::size_t elements = std::size_t{1} << 20;
  const std::vector<std::size_t> blocks(static_cast<std::size_t>(block_count(request)), elements);
  const Cost cost = cost_of(plan, blocks, 1);
  const auto message = static_cast<double>(message_blocks(request));
  return {.steps = cost.steps,
          .ops = cost.ops,
          .busiest_sent = static_cast<double>(cost.busiest_sent()) / elements / message,
          .memory_traffic = touched_per_element(plan) / message};
}

std::optional<Error> refusal_of(const std::string& spec, const Request& request) try {
  (void)PlanStream(parse_spec(spec), request);
  return std::nullopt;
} catch (const Error& error) {
  if (error.code() != ErrorCode::unsupported) throw;
  return error;
}

AlgorithmSubject::AlgorithmSubject(Stage& stage, const std::string& spec, Call call)
    : stage_(stage), call_(call ? std::move(call) : Call(submit_call)), spec_(spec) {
  if (stage.request(Placement::out_of_place).collective == Collective::barrier) spec_ = automatic;
  if (spec_ == automatic) return;
  std::optional<Error> refused;
  for (const Placement placement : placements) {
    const Request wanted = stage.request(placement);
    if (wanted.in_place && !can_be_in_place(wanted.collective)) continue;
    if (auto why = refusal_of(spec, wanted)) {
      refusals_.at(static_cast<std::size_t>(placement)) = why->what();
      if (!refused) refused = std::move(why);
      continue;
    }
    const Plan plan = make_plan(spec, wanted);
    const bool is_definition = require_proof(plan, false).facts.is_definition();
    spec_ = plan.spec();
    if (facts_) continue;
    facts_ = plan_facts(spec, wanted);  // out of place, where that is served
    facts_->is_definition = is_definition;
  }
  if (!facts_) throw *refused;
}

Series AlgorithmSubject::describe() const {
  const Request request = stage_.request(Placement::out_of_place);
  Series series;
  const auto& mode = stage_.mode();
  series.spec = request.collective == Collective::barrier ? std::string(entry_label) : spec_;
  series.label = mode.label.empty() ? series.spec : fmt::format("{} [{}]", series.spec, mode.label);
  series.issue = mode.issue;
  series.copies = mode.copies;
  series.collective = request.collective;
  series.root = request.root;
  series.ranks = request.ranks;
  series.facts = facts_;
  return series;
}

std::optional<std::string> AlgorithmSubject::refusal(const Cell& cell) const {
  const std::string& why = refusals_.at(static_cast<std::size_t>(cell.placement));
  return why.empty() ? std::nullopt : std::optional(why);
}

std::string AlgorithmSubject::choice(const Cell& cell) {
  if (spec_ != automatic || cell.collective == Collective::barrier) return {};
  const Request request = stage_.request(cell.placement);
  const std::size_t bytes =
      static_cast<std::size_t>(block_count(request)) * cell.count * size_of(cell.type);
  std::string chosen;
  stage_.team().each([&](Communicator& communicator) {
    auto choice =
        communicator.algorithm_for(cell.collective, bytes, request.in_place, call_options());
    if (communicator.rank() == stage_.team().first_rank_here()) chosen = std::move(choice);
  });
  return chosen;
}

CallOptions AlgorithmSubject::call_options() const {
  CallOptions options;
  options.algorithm = spec_;
  options.scalar = checked_scalar;
  options.timeout = stage_.timeout();
  return options;
}

BlockTimes AlgorithmSubject::time(const Cell& cell, const Block& block) {
  return stage_.time(cell, block, call_options());
}

std::optional<CheckOutcome> AlgorithmSubject::check(const Cell& cell) {
  if (cell.collective == Collective::barrier) return check_barrier(stage_, call_options(), call_);
  CheckOutcome outcome = check_exact(stage_, cell, call_options(), call_);
  check_against_reference(cell, outcome);
  return outcome;
}

void AlgorithmSubject::check_against_reference(const Cell& cell, CheckOutcome& outcome) {
  const Request request = stage_.request(cell.placement);
  const std::string chosen = spec_ == automatic ? choice(cell) : spec_;
  const Plan plan = make_plan(chosen, request);
  const std::uint64_t count = reference_elements(plan, cell.count);
  const auto key =
      std::make_tuple(chosen + (request.in_place ? " in place" : ""), cell.type, cell.op, count);
  auto known = compared_.find(key);
  if (known == compared_.end()) {
    Cell part = cell;
    part.count = count;
    known = compared_.emplace(key, compare_with_reference(part, plan)).first;
  }
  outcome.reference_bytes = message_blocks(request) * count * size_of(cell.type);
  outcome.wrong += known->second.wrong;
  outcome.failed_ranks = std::max(outcome.failed_ranks, known->second.failed_ranks);
}

CheckOutcome AlgorithmSubject::compare_with_reference(const Cell& cell, const Plan& plan) {
  const Request& request = plan.request();
  const auto n = static_cast<std::size_t>(request.ranks);
  const std::size_t element = size_of(cell.type);
  const std::size_t count = cell.count;

  // What the reference makes of the contributions, in memory laid out as in the call.
  std::vector<CallShape> shapes;
  std::vector<std::vector<std::byte>> contributions(n), inputs(n), results(n);
  PlanBuffers buffers;
  for (std::size_t rank = 0; rank < n; ++rank) {
    const CallShape shape = call_shape(request, static_cast<int>(rank), count);
    shapes.push_back(shape);
    contributions[rank].resize(shape.input * element);
    fill_rounding(cell.type, cell.op, 3, static_cast<int>(rank), contributions[rank].data(),
                  shape.input);
    results[rank].resize(std::max(shape.memory(request.in_place), shape.output) * element);
    if (shape.shared)
      std::ranges::copy(contributions[rank], results[rank].begin() + static_cast<std::ptrdiff_t>(
                                                                         shape.input_at * element));
    else
      inputs[rank] = contributions[rank];
    buffers.inputs.push_back(shape.shared ? results[rank].data() + shape.input_at * element
                                          : inputs[rank].data());
    buffers.outputs.push_back(results[rank].data() + shape.output_at * element);
  }
  run_reference(plan,
                {.block_elements = std::vector<std::size_t>(
                     static_cast<std::size_t>(block_count(request)), count),
                 .type = cell.type,
                 .op = cell.op,
                 .scalar = checked_scalar},
                buffers);

  CallOptions options = call_options();
  options.algorithm = plan.spec();
  std::vector<std::uint64_t> wrong(n);
  stage_.team().each([&](Communicator& communicator) {
    const int rank = communicator.rank();
    const auto i = static_cast<std::size_t>(rank);
    auto checked = bench::checked_call(communicator, cell, shapes[i], call_);
    checked.write = [&](const Stage::Memory& memory) {
      std::memset(memory.output, poison, shapes[i].output * element);
      std::ranges::copy(contributions[i], memory.input);  // may be empty: no memcpy
    };
    checked.read = [&](const Stage::Memory& memory) {
      wrong[i] = count_different(memory.output, buffers.outputs[i], shapes[i].output, element);
    };
    stage_.run(rank, checked, options);
  });
  return outcome_of(stage_, std::move(wrong));
}

}  // namespace ringside::bench
