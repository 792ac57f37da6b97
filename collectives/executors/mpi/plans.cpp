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

bool is_gpus(Reach reach) { return reach == Reach::gpu_shared || reach == Reach::gpu_staged; }

/// Between hosts messages, within a host `inside`.
AccessMatrix access_within(const Board& board, Access inside) {
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

AccessMatrix access_between(const Board& board, Reach reach) {
  return access_within(board, reach == Reach::shared   ? Access::direct
                              : reach == Reach::single ? Access::scratch_or_copy
                                                       : Access::scratch_only);
}

bool is_all_direct(const AccessMatrix& access) {
  for (std::size_t a = 0; a < access.size(); ++a)
    for (std::size_t b = 0; b < access.size(); ++b)
      if (a != b && access[a][b] != Access::direct && access[a][b] != Access::message) return false;
  return true;
}

/// Bases that a program uses, but for those of other hosts.
std::vector<std::uint32_t> used_bases(const host::Program& program, const Board& board) {
  std::vector<bool> used(static_cast<std::size_t>(board.ranks()) * host::bases_per_rank);
  for (const host::Address& address : program.addresses) used[address.base] = true;
  std::vector<std::uint32_t> bases;
  for (std::uint32_t base = 0; base < used.size(); ++base)
    if (used[base] && board.is_near(static_cast<int>(base / host::bases_per_rank)))
      bases.push_back(base);
  return bases;
}

/// An op of any rank: all refuse the plan, or none.
void check_operands(const Plan& plan, std::size_t most) {
  for (std::size_t index = 0; index < plan.size(); ++index)
    if (const Op op = plan.op(index); op.sources.size() + op.destinations.size() > most)
      throw Error(ErrorCode::unsupported,
                  fmt::format("{}: an op of {} operands, and a kernel of a GPU takes {}",
                              plan.spec(), op.sources.size() + op.destinations.size(), most));
}

std::vector<bool> near_ranks(const Board& board) {
  std::vector<bool> near;
  for (int rank = 0; rank < board.ranks(); ++rank) near.push_back(board.is_near(rank));
  return near;
}

bool is_private(const Location& location, int rank, Reach reach) {
  return !is_gpus(reach) && reach != Reach::shared && location.rank != rank &&
         location.buffer != Buffer::scratch;
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
/// to memory and back. Measured on 2 cores, ranks' buffers of 16 MiB together and more: 1.1 to 1.8
/// times as fast; below, where all of it stays in the last cache, slower. Changes no bits.
std::string sliced_for_copies(std::string spec, const Plan& plan,
                              std::span<const std::size_t> blocks, std::size_t element_bytes) {
  constexpr std::size_t least_together = std::size_t{16} << 20, slice_bytes = 256U << 10;
  constexpr std::size_t most_slices = 64;
  const Request& request = plan.request();
  if (request.collective != Collective::all_reduce || is_plan_file(spec)) return spec;
  for (const auto& [name, value] : parse_spec(spec).parameters)
    if (name == "slices") return spec;
  const std::size_t bytes = blocks.front() * element_bytes;
  const auto ranks = static_cast<std::size_t>(request.ranks);
  const auto chunks = static_cast<std::size_t>(plan.shape().chunks_per_block);
  const std::size_t slices = std::min(bytes / chunks / slice_bytes, most_slices);
  if (bytes * ranks < least_together || slices < 2) return spec;
  return with_parameters(spec, fmt::format("slices={}", slices));
}

}  // namespace

std::size_t Prepared::bytes() const {
  std::size_t sum = small ? small->bytes() : 0;
  for (const auto& by_placement : programs)
    for (const auto& program : by_placement)
      if (program) sum += program->bytes();
  return sum;
}

Plans::Plans(const Board& board, const Gpus& gpus, host::Program::Checksums checksums)
    : board_(board),
      gpu_(gpus.own()),
      rank_(board.rank()),
      ranks_(board.ranks()),
      on_gpus_(gpus.all_have(board.members())),
      one_host_(board.one_host()),
      single_copies_(board.team().single_copies()),
      copies_(board.team().copies()),
      checksums_(checksums) {
  if (copies_ == Team::Copies::single && !single_copies_)
    throw Error(ErrorCode::unsupported,
                "option mpi_copies: this system does not let processes copy each other's memory");
  const auto set = [&](Reach reach, AccessMatrix access) {
    lowered_[static_cast<std::size_t>(reach)] =
        std::make_unique<PlanCache>(std::move(access), near_ranks(board));
  };
  for (const Reach reach : {Reach::shared, Reach::single, Reach::staged})
    set(reach, access_between(board, reach));
  if (!on_gpus_) return;
  const auto access = gpus.access_among(board.members());
  all_direct_ = is_all_direct(access);
  set(Reach::gpu_shared, access);
  set(Reach::gpu_staged, access_within(board, all_direct_ ? Access::scratch_only : Access::none));
}

std::vector<Reach> Plans::possible_reaches(Memory memory) const {
  switch (memory) {
    case Memory::apart:
      return {reach_of_private()};
    case Memory::shared:
      return {Reach::shared, reach_of_private()};
    case Memory::gpu:
      if (on_gpus_) return {Reach::gpu_staged};
      return {};
    case Memory::shared_gpu:
      if (on_gpus_) return {Reach::gpu_shared, Reach::gpu_staged};
      return {};
    case Memory::none:
      if (on_gpus_)
        return {Reach::shared, reach_of_private(), Reach::gpu_shared, Reach::gpu_staged};
      return {Reach::shared, reach_of_private()};
  }
  return {};
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
                                         const FoldShape& values, const PlanWait& wait) {
  // Lowered from what the ranks agree on: who is asked again might answer differently.
  const auto agreed = base_.get(spec, request, wait);
  const auto compiled = lowered_[static_cast<std::size_t>(reach)]->get(*agreed);
  auto bound = std::make_unique<Bound>();
  // Where all memory of GPUs is reached, that is what stands for memory of the host.
  const bool apart = is_gpus(reach) && !(reach == Reach::gpu_staged && all_direct_);
  using HostSlots = host::Program::HostSlots;
  bound->program =
      host::Program::bind(compiled, rank_, blocks, values,
                          apart ? HostSlots::apart : HostSlots::among_the_others, checksums_);
  bound->roles = roles_of(compiled->plan, reach);
  bound->lanes = agreed->plan.shape().lanes;
  bound->element_bytes = size_of(values.type);
  if (!is_gpus(reach)) return bound;
  check_operands(compiled->plan, gpu_->most_operands());
  bound->kernels = gpu_->resolve(bound->program.shapes);
  bound->by_engine = !all_direct_;
  bound->bases = used_bases(bound->program, board_);
  return bound;
}

Prepared Plans::prepare(const Call& call, std::size_t most_inline, Memory memory,
                        const SpecFor& spec_for, const PlanWait& wait) {
  Prepared prepared;
  if (call.collective == Collective::barrier) {
    prepared.signed_call = host::signed_by(host::Signature::of(call, ranks_, 0, ""));
    return prepared;
  }
  const ChosenPlans chosen = choose_plans(call, ranks_, spec_for, base_, wait);
  const auto blocks = all_blocks(call, ranks_);
  const FoldShape values{
      .type = call.type, .op = call.op, .scalar = call.options->scalar, .ranks = ranks_};
  std::uint64_t hash = chosen.hash;  // of all plans that may come to be run
  const auto sign = [&] {
    auto signature = host::Signature::of(call, ranks_, hash, chosen.spec);
    signature.summed = checksums_ == host::Program::Checksums::all;
    prepared.signed_call = host::signed_by(signature);
  };
  prepared.small = host::SmallMessage::make(chosen, rank_, blocks, values, most_inline);
  if (prepared.small) {
    sign();
    return prepared;
  }
  const std::size_t bytes = total_elements(call, ranks_) * size_of(call.type);
  prepared.with_private = reach_of_private();
  for (std::size_t placement = 0; placement < chosen.by_placement.size(); ++placement) {
    const auto& compiled = chosen.by_placement[placement];
    if (!compiled) continue;
    const Plan& plan = compiled->plan;
    const std::string spec = spec_for(plan.request(), bytes);
    const std::string of_copies = prepared.with_private == Reach::single && one_host_
                                      ? sliced_for_copies(spec, plan, blocks, size_of(call.type))
                                      : spec;
    if (of_copies != spec) hash = hash * 31 + base_.get(of_copies, plan.request(), wait)->hash;
    for (const Reach reach : possible_reaches(memory)) {
      auto& bound = prepared.programs[static_cast<std::size_t>(reach)][placement];
      bound = bind(reach, reach == Reach::single ? of_copies : spec, plan.request(), blocks, values,
                   wait);
      std::size_t& scratch = is_gpus(reach) ? prepared.gpu_scratch_bytes : prepared.scratch_bytes;
      scratch = std::max(scratch, bound->program.scratch_bytes);
      prepared.pinned_bytes = std::max(prepared.pinned_bytes, bound->program.host_scratch_bytes);
    }
  }
  sign();
  return prepared;
}

}  // namespace ringside::mpi
