// SPDX-License-Identifier: MIT
#include "ringside/collectives/selector/contenders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ringside/collectives/executors/simulated/access.hpp"
#include "ringside/collectives/stored_plan.hpp"

namespace ringside {
namespace {

/// More ops and their locations than this are not looked at: a ring of 512 ranks has 1.6 million.
constexpr std::size_t most_locations = 2'000'000;
/// Nor are more ops times slices: they take the twin about a second.
constexpr std::size_t most_sliced_ops = 500'000;
/// Slices are powers of two up to here. More cost more than they gain: at 1 GB on 8 GPUs one of
/// 256 slices is half a megabyte, 20 us at 24 GB/s, and issuing an op takes some.
constexpr int most_slices_tried = 256;
/// A slice of a chunk is at least so long: 4 KB take less time on any link than issuing an op.
constexpr std::size_t shortest_slice = 4096;
/// As make_plan has it where a spec does not say.
constexpr int depth_of_scratch = 2;

/// The plan, or nothing if its ops have more than `most_locations`.
std::optional<Plan> plan_within_limits(const Spec& spec, const Request& request) {
  std::size_t locations = 0;
  return stored_plan(spec, request, [&](const Plan& /*so_far*/, const Op& op) {
    locations += (op.sources.size() + op.destinations.size()) * static_cast<std::size_t>(op.count);
    return locations <= most_locations;
  });
}

Spec with(Spec spec, const std::string& parameter, int value) {
  spec.parameters.emplace_back(parameter, std::to_string(value));
  return spec;
}

}  // namespace

Contenders::Contenders(const Machine& machine, std::vector<int> gpus, const Request& request,
                       Breadth breadth)
    : machine_(machine),
      gpus_(std::move(gpus)),
      request_(request),
      is_staged_(access_of(machine, gpus_) != full_access(static_cast<int>(gpus_.size()))),
      candidates_(ringside::candidates(machine, gpus_, request, breadth)) {
  for (const Candidate& candidate : candidates_.listed) add(candidate);
}

std::shared_ptr<const MappedPlan> Contenders::mapped(const Spec& spec) {
  const auto plan = plan_within_limits(spec, request_);
  if (!plan) return nullptr;
  return std::make_shared<const MappedPlan>(machine_, gpus_,
                                            lower(*plan, access_of(machine_, gpus_)));
}

void Contenders::add(const Candidate& candidate) {
  const Spec& spec = candidate.spec;
  const int lanes = PlanStream(spec, request_).shape().lanes;
  const int sliced_lanes = PlanStream(with(spec, "slices", 2), request_).shape().lanes;
  const auto unsliced = mapped(spec);
  if (!unsliced) {
    candidates_.refused.push_back(
        {to_string(spec),
         fmt::format("{} has too many ops to predict on {} ranks", spec.name, request_.ranks)});
    return;
  }
  const Contender base{
      .spec = spec, .algorithm = spec.name, .fits = candidate.fits, .mapped = unsliced};
  add(base);
  const auto add_sliced = [&](const Spec& as, int with_lanes) {
    Contender contender = base;
    contender.spec = as;
    contender.sliced = true;
    if (with_lanes != lanes) contender.mapped = mapped(with(as, "slices", 2));
    add(std::move(contender));
  };
  add_sliced(spec, sliced_lanes);
  for (const int fewer : {2, 1})
    if (fewer < sliced_lanes) add_sliced(with(spec, "lanes", fewer), fewer);
  // Where copies through the host were inserted, they overlap with others only in more lanes.
  if (is_staged_)
    for (const int more : {4, 8})
      if (more > sliced_lanes) add_sliced(with(spec, "lanes", more), more);
}

/// Some specs are other words for the same plan, such as many for two ranks or two groups.
void Contenders::add(Contender contender) {
  const std::uint64_t hash = contender.mapped->hash();
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto known = first; known != last; ++known) {
    const Contender& other = all_[known->second];
    if (other.sliced == contender.sliced && *other.mapped == *contender.mapped) return;
  }
  by_hash_.emplace(hash, all_.size());
  all_.push_back(std::move(contender));
}

double Contenders::overhead(const Contender& contender, int slices) {
  return contender.mapped->without_bytes(slices, std::min(slices, depth_of_scratch));
}

std::vector<int> Contenders::slices(const Contender& contender, const CallSize& size) const {
  if (!contender.sliced) return {1};
  std::vector<int> list;
  const std::size_t chunk = size.block_elements * size.element_bytes /
                            static_cast<std::size_t>(contender.mapped->chunks_per_block());
  for (int slices = 2; slices <= most_slices_tried; slices *= 2) {
    const auto count = static_cast<std::size_t>(slices);
    if (chunk / count < shortest_slice || contender.mapped->ops() * count > most_sliced_ops) break;
    list.push_back(slices);
  }
  return list;
}

LowerLimit Contenders::limit(const Contender& contender, const CallSize& size, int slices) const {
  return contender.mapped->for_slices(size, slices, std::min(slices, depth_of_scratch));
}

Spec Contenders::spec_of(const Contender& contender, int slices) {
  if (slices == 1) return contender.spec;
  Spec spec = contender.spec;
  // Before the other parameters that every algorithm takes, as canonical specs have it.
  const auto at = std::find_if(spec.parameters.begin(), spec.parameters.end(),
                               [](const auto& each) { return each.first == "lanes"; });
  spec.parameters.insert(at, {"slices", std::to_string(slices)});
  return spec;
}

}  // namespace ringside
