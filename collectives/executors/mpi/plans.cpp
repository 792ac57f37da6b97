// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/mpi/plans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/collectives/lower.hpp"
#include "ringside/collectives/spec.hpp"

namespace ringside::mpi {
namespace {

AccessMatrix access_between(const Board& board, Reach reach) {
  const auto inside = reach == Reach::shared   ? Access::direct
                      : reach == Reach::single ? Access::scratch_or_copy
                                               : Access::scratch_only;
  AccessMatrix access = full_access(board.ranks());
  const Team& team = board.team();
  const auto host_of = [&](std::size_t rank) {
    return team.host_of(board.member(static_cast<int>(rank)));
  };
  for (std::size_t a = 0; a < access.size(); ++a)
    for (std::size_t b = 0; b < access.size(); ++b)
      access[a][b] = host_of(a) == host_of(b) ? inside : Access::message;
  return access;
}

std::vector<bool> near_ranks(const Board& board) {
  std::vector<bool> near;
  for (int rank = 0; rank < board.ranks(); ++rank) near.push_back(board.is_near(rank));
  return near;
}

bool is_private(const Location& location, int rank, Reach reach) {
  return reach != Reach::shared && location.rank != rank && location.buffer != Buffer::scratch;
}

std::vector<Role> roles_of(const Plan& plan, Reach reach) {
  std::vector<Role> roles(plan.size());
  std::map<std::pair<int, int>, int> senders;  // by (receiver, slot of the wire)
  for (std::size_t index = 0; index < plan.size(); ++index) {
    const Op op = plan.op(index);
    const Location& from = op.sources.front();
    const Location& to = op.destinations.front();
    if (is_wire(plan, to)) {
      roles[index] = {Role::Kind::send, to.rank};
      senders[{to.rank, to.slot}] = op.rank;
    } else if (is_wire(plan, from)) {
      roles[index] = {Role::Kind::receive, senders.at({from.rank, from.slot})};
    } else if (is_private(from, op.rank, reach)) {
      roles[index] = {Role::Kind::fetch, from.rank};
    } else if (is_private(to, op.rank, reach)) {
      roles[index] = {Role::Kind::deliver, to.rank};
    }
  }
  return roles;
}

/// What an all-reduce of private buffers of one host runs where the spec says nothing of slices:
/// what is copied is folded soon after, so slices that stay in a core's cache until then save a way
/// to memory and back. Measured on 2 cores, ranks' buffers of 16 MiB together and more: 1.1 to 1.7
/// times as fast; below, where all of it stays in the last cache, slower. Changes no bits.
std::string sliced_for_copies(std::string spec, const Plan& plan,
                              std::span<const std::size_t> blocks, std::size_t element_bytes) {
  constexpr std::size_t least_together = std::size_t{16} << 20, slice_bytes = 256U << 10;
  constexpr std::size_t most_slices = 64;
  const Request& request = plan.request();
  if (request.collective != Collective::all_reduce || is_plan_file(spec)) return spec;
  Spec parsed = parse_spec(spec);
  for (const auto& [name, value] : parsed.parameters)
    if (name == "slices") return spec;
  const std::size_t bytes = blocks.front() * element_bytes;
  const auto ranks = static_cast<std::size_t>(request.ranks);
  const auto chunks = static_cast<std::size_t>(plan.shape().chunks_per_block);
  const std::size_t slices = std::min(bytes / chunks / slice_bytes, most_slices);
  if (bytes * ranks < least_together || slices < 2) return spec;
  parsed.parameters.emplace_back("slices", fmt::to_string(slices));
  return to_string(parsed);
}

}  // namespace

std::size_t Prepared::bytes() const {
  std::size_t sum = small ? small->bytes() : 0;
  for (const auto& by_placement : programs)
    for (const auto& program : by_placement)
      if (program) sum += program->bytes();
  return sum;
}

Plans::Plans(const Board& board)
    : rank_(board.rank()),
      ranks_(board.ranks()),
      one_host_(board.one_host()),
      single_copies_(board.team().single_copies()),
      copies_(board.team().copies()) {
  if (copies_ == Team::Copies::single && !single_copies_)
    throw Error(ErrorCode::unsupported,
                "option mpi_copies: this system does not let processes copy each other's memory");
  for (std::size_t reach = 0; reach < reaches; ++reach)
    lowered_[reach] = std::make_unique<PlanCache>(access_between(board, static_cast<Reach>(reach)),
                                                  near_ranks(board));
}

Reach Plans::reach_of_private() const {
  // Measured on 2 ranks of a 2-core virtual machine, of messages beyond those that travel in the
  // entries (8 KiB): 16 KiB by copies of the kernel's take a quarter of the time that they take
  // through shared memory, 256 KiB a tenth; what a peer has not changed since stays in the cache.
  return copies_ == Team::Copies::staged || !single_copies_ ? Reach::staged : Reach::single;
}

std::unique_ptr<const Bound> Plans::bind(Reach reach, const std::string& spec,
                                         const Request& request,
                                         std::span<const std::size_t> blocks,
                                         const FoldShape& values) {
  const auto compiled = lowered_[static_cast<std::size_t>(reach)]->get(spec, request);
  auto bound = std::make_unique<Bound>();
  bound->program = host::Program::bind(compiled, rank_, blocks, values);
  bound->roles = roles_of(compiled->plan, reach);
  bound->lanes = base_.get(spec, request)->plan.shape().lanes;
  bound->element_bytes = size_of(values.type);
  return bound;
}

Prepared Plans::prepare(const Call& call, std::size_t most_inline, bool shared,
                        const SpecFor& spec_for) {
  Prepared prepared;
  if (call.collective == Collective::barrier) {
    prepared.signature = host::Signature::of(call, ranks_, 0, "");
    prepared.digest = host::digest_of(prepared.signature);
    return prepared;
  }
  const ChosenPlans chosen = choose_plans(call, ranks_, spec_for, base_);
  const auto blocks = all_blocks(call, ranks_);
  const FoldShape values{
      .type = call.type, .op = call.op, .scalar = call.options->scalar, .ranks = ranks_};
  prepared.signature = host::Signature::of(call, ranks_, chosen.hash, chosen.spec);
  prepared.digest = host::digest_of(prepared.signature);
  bool travels = true;  // the proof may allow it in one placement only
  for (const auto& compiled : chosen.by_placement) {
    if (!compiled) continue;
    prepared.small = host::SmallMessage::make(compiled->plan.request(), compiled->facts, rank_,
                                              blocks, values, most_inline);
    travels = travels && prepared.small;
  }
  if (travels) return prepared;
  prepared.small.reset();
  const std::size_t bytes = total_elements(call, ranks_) * size_of(call.type);
  prepared.with_private = reach_of_private();
  for (std::size_t placement = 0; placement < chosen.by_placement.size(); ++placement) {
    const auto& compiled = chosen.by_placement[placement];
    if (!compiled) continue;
    const Plan& plan = compiled->plan;
    const std::string spec = spec_for(plan.request(), bytes);
    for (const Reach reach : {Reach::shared, prepared.with_private}) {
      if (reach == Reach::shared && !shared) continue;  // then not all are
      auto& program = prepared.programs[static_cast<std::size_t>(reach)][placement];
      const bool copied = reach == Reach::single && one_host_;
      program =
          bind(reach, copied ? sliced_for_copies(spec, plan, blocks, size_of(call.type)) : spec,
               plan.request(), blocks, values);
      prepared.scratch_bytes = std::max(prepared.scratch_bytes, program->program.scratch_bytes);
    }
  }
  return prepared;
}

}  // namespace ringside::mpi
