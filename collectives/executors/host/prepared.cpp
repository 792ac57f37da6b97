// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/host/prepared.hpp"

#include "ringside/collectives/dependencies.hpp"
#include "ringside/collectives/executors/host/shared.hpp"

namespace ringside::host {
namespace {

// Of a communicator, and of one rank at least and at most. Programs of many ranks and slices are
// long; a trainer makes some hundred different calls.
constexpr std::size_t most_bytes_of_all = std::size_t{256} << 20;
constexpr std::size_t least_limit = std::size_t{4} << 20;
constexpr std::size_t most_limit = std::size_t{64} << 20;
// What an entry takes beside itself: nodes of the map, what the allocator adds.
constexpr std::size_t bytes_beside = 256;

}  // namespace

Prepared prepare(const Call& call, const Preparation& how, PlanCache& plans) {
  Prepared prepared;
  if (call.collective == Collective::barrier) {
    prepared.signature = Signature::of(call, how.ranks, 0, "");
    prepared.digest = digest_of(prepared.signature);
    return prepared;
  }

  const auto blocks = all_blocks(call, how.ranks);
  const std::size_t element_bytes = size_of(call.type);
  const FoldShape values{
      .type = call.type, .op = call.op, .scalar = call.options->scalar, .ranks = how.ranks};
  const bool both = placement_may_differ(call, how.ranks);
  std::uint64_t hash = 0;
  const char* spec = "";
  std::array<std::shared_ptr<const CompiledPlan>, 2> plans_of;  // by placement
  bool travels = true;  // the proof may allow it in one placement only
  for (const bool in_place : {false, true}) {
    if (!both && in_place == (call.placement == Placement::out_of_place)) continue;
    const Request request = call.request(how.ranks, in_place);
    const auto compiled =
        plans.get(how.spec_for(request, total_elements(call, how.ranks) * element_bytes), request);
    if (call.op == ReduceOp::premul_sum) require_scalable(compiled->plan, compiled->schedule);
    hash = hash * 31 + compiled->hash;
    spec = compiled->plan.spec().c_str();  // the cache keeps the plan
    prepared.small =
        SmallMessage::make(request, compiled->facts, how.rank, blocks, values, how.most_inline);
    travels = travels && prepared.small;
    plans_of[in_place ? 1 : 0] = compiled;
  }
  if (!travels) {
    prepared.small.reset();
    for (std::size_t placement = 0; placement < plans_of.size(); ++placement) {
      if (!plans_of[placement]) continue;
      auto program = std::make_unique<const Program>(
          Program::bind(plans_of[placement], how.rank, blocks, values));
      prepared.scratch_bytes = std::max(prepared.scratch_bytes, program->scratch_bytes);
      prepared.programs[placement] = std::move(program);
    }
  }
  prepared.signature = Signature::of(call, how.ranks, hash, spec);
  prepared.digest = digest_of(prepared.signature);
  return prepared;
}

PreparedCalls::PreparedCalls(int ranks)
    : most_bytes_(std::clamp(most_bytes_of_all / static_cast<std::size_t>(ranks), least_limit,
                             most_limit)) {}

std::size_t PreparedCalls::full_hash_of(const Call& call, std::string_view asked) {
  std::size_t hash = kind_of(call);
  const auto mix = [&](std::size_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 32;
  };
  mix(scalar_of(call));
  mix(std::hash<std::string_view>()(asked));
  for (const auto length : call.blocks) mix(length);
  return hash;
}

PreparedCalls::Entry* PreparedCalls::find(const Call& call, std::string_view asked) {
  const auto [begin, end] = entries_.equal_range(full_hash_of(call, asked));
  for (auto entry = begin; entry != end; ++entry)
    if (entry->second->matches(call, asked)) return entry->second.get();
  return nullptr;
}

PreparedCalls::Entry* PreparedCalls::add(const Call& call, std::string_view asked,
                                         Prepared prepared) {
  std::size_t bytes = sizeof(Entry) + bytes_beside + call.blocks.size_bytes() + asked.size();
  if (prepared.small) bytes += prepared.small->bytes();
  for (const auto& program : prepared.programs)
    if (program) bytes += program->bytes();
  if (bytes_ + bytes > most_bytes_) {
    recent_ = {};
    entries_.clear();
    bytes_ = 0;
  }
  bytes_ += bytes;
  auto entry = std::make_unique<Entry>(Entry{kind_of(call),
                                             scalar_of(call),
                                             first_length_of(call),
                                             {call.blocks.begin(), call.blocks.end()},
                                             std::string(asked),
                                             std::move(prepared)});
  return entries_.emplace(full_hash_of(call, asked), std::move(entry))->second.get();
}

}  // namespace ringside::host
