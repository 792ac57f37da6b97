// SPDX-License-Identifier: MIT
/// Every rank has the whole model, but keeps only its part of what the optimizer needs (Rajbhandari
/// and others: ZeRO, memory optimizations toward training trillion parameter models, SC 2020). A
/// bucket of gradients is reduced and scattered instead of summed for all; a rank updates its own
/// part of the bucket, and then everybody gets all parts:
///
///     rank 0   forward  backward fc | conv2 | conv1   wait  update   wait
///                     [reduce_scatter 0][.. 1][.. 2]       [all_gather 0][.. 1][.. 2]
///
/// which moves as much as an all-reduce does. This is stage 1: the momentum is sharded, gradients
/// lie where they do for `distributed`. Stage 2 is in sharded_gradients.cpp.
#include "ringside/trainer/strategies/sharded.hpp"

#include <algorithm>

#include "ringside/trainer/strategies/departures.hpp"

namespace ringside::trainer {
namespace {

constexpr int keeper = 0;  // rank that writes checkpoints

std::vector<Extent> extents_of(const std::vector<Bucket>& buckets) {
  std::vector<Extent> extents;
  for (const Bucket& bucket : buckets) extents.push_back(bucket.extent);
  return extents;
}

class ShardedOptimizer final : public Sharded {
 public:
  ShardedOptimizer(const StrategySettings& settings, Replica& replica, Communicator& comm,
                   StepTimes& times, std::vector<Bucket> buckets)
      : Sharded(settings, replica, comm, times, extents_of(buckets)),
        wire_(replica, settings.narrow_wire),
        buckets_(
            std::move(buckets),
            [this](const Bucket& bucket) {
              return reduce(shard_of(bucket), wire_.pack(bucket.extent));
            },
            [this](const Bucket& bucket) { wire_.unpack(shard_of(bucket).own); }) {
    staging_ = wire_.bytes();
  }

  Loss accumulate(const BatchView& own, std::size_t /*samples*/, bool last) override {
    if (!last) return learn(own, {});
    buckets_.begin();
    GradientReady ready;
    if (overlap_) ready = [this](std::size_t tensor) { buckets_.note_ready(tensor); };
    const Loss loss = learn(own, ready);
    timed(times_, Part::exposed, [&] { buckets_.finish(times_); });
    return loss;
  }

 protected:
  [[nodiscard]] Memory own_gradient(const Shard& shard) override {
    return replica_.gradients().part(shard.own);
  }

 private:
  [[nodiscard]] const Shard& shard_of(const Bucket& bucket) const {
    return *std::find_if(shards_.begin(), shards_.end(), [&](const Shard& shard) {
      return shard.bucket.offset == bucket.extent.offset;
    });
  }

  Wire wire_;
  Departures buckets_;
};

}  // namespace

std::vector<Shard> make_shards(std::span<const Extent> buckets, std::size_t ranks,
                               std::size_t rank) {
  std::vector<Shard> shards;
  std::size_t kept = 0;
  for (const Extent& bucket : buckets) {
    Shard shard{bucket, {}, {}, {}};
    for (std::size_t of = 0; of < ranks; ++of)
      shard.blocks.push_back(part_of(bucket.length, ranks, of).length);
    const Extent own = part_of(bucket.length, ranks, rank);
    shard.own = {bucket.offset + own.offset, own.length};
    shard.kept = {kept, own.length};
    kept += own.length;
    shards.push_back(std::move(shard));
  }
  return shards;
}

Sharded::Sharded(const StrategySettings& settings, Replica& replica, Communicator& comm,
                 StepTimes& times, std::span<const Extent> buckets)
    : Strategy(replica, comm, times),
      shards_(make_shards(buckets, static_cast<std::size_t>(comm.size()),
                          static_cast<std::size_t>(comm.rank()))),
      overlap_(settings.overlap),
      options_{.algorithm = settings.algorithm},
      velocity_{nullptr, 0, replica.parameters().type} {}

std::size_t Sharded::kept_elements() const {
  return shards_.back().kept.offset + shards_.back().kept.length;
}

std::size_t Sharded::longest_bucket() const {
  return std::max_element(
             shards_.begin(), shards_.end(),
             [](const Shard& a, const Shard& b) { return a.bucket.length < b.bucket.length; })
      ->bucket.length;
}

void Sharded::keep_velocity() {
  keeps_velocity_ = true;
  velocity_ = replica_.allocate(kept_elements(), velocity_.type);
}

Memory Sharded::velocity_of_own(const Shard& shard) const {
  return keeps_velocity_ ? velocity_.part(shard.kept) : velocity_;
}

void Sharded::restore_velocity(const Checkpoint& saved) {
  if (!keeps_velocity_) return;
  const auto whole = velocity_of(saved, replica_.tensors().parameters);
  const std::size_t size = size_of(velocity_.type);
  for (const Shard& shard : shards_)
    replica_.copy_from_host(
        std::span(whole).subspan(shard.own.offset * size, shard.own.length * size),
        velocity_of_own(shard));
}

std::vector<std::byte> Sharded::gather_velocity() {
  if (!keeps_velocity_) return {};
  const bool keeps = comm_.rank() == keeper;
  const ElementType type = velocity_.type;
  std::vector<std::byte> whole(keeps ? replica_.parameters().bytes() : 0);
  const Memory all = replica_.allocate(keeps ? longest_bucket() : 0, type);
  for (const Shard& shard : shards_) {
    comm_.gather(velocity_of_own(shard).data, all.data, shard.blocks, type, keeper);
    if (keeps)
      replica_.copy_to_host(all.part({0, shard.bucket.length}),
                            std::span(whole).subspan(shard.bucket.offset * size_of(type),
                                                     shard.bucket.length * size_of(type)));
  }
  replica_.release(all);
  return whole;
}

MemoryUse Sharded::memory() {
  MemoryUse use = Strategy::memory();
  use.optimizer = velocity_.bytes();
  return use;
}

Handle Sharded::reduce(const Shard& shard, const Memory& memory) {
  return comm_.async().reduce_scatter(memory.data, memory.part(shard.own_in_bucket()).data,
                                      shard.blocks, memory.type, ReduceOp::sum, options_);
}

void Sharded::update(const SgdStep& step) {
  const Memory parameters = replica_.parameters();
  std::vector<Handle> calls;
  for (const Shard& shard : shards_) {
    const Memory own = parameters.part(shard.own);
    computing_.run(Part::update, [&] {
      replica_.update(own, own_gradient(shard), velocity_of_own(shard), step);
    });
    calls.push_back(comm_.async().all_gather(own.data, parameters.part(shard.bucket).data,
                                             shard.blocks, parameters.type));
    if (!overlap_) timed(times_, Part::exposed, [&] { calls.back().wait(); });
  }
  timed(times_, Part::exposed, [&] {
    for (Handle& call : calls) call.wait();
  });
}

std::unique_ptr<Strategy> make_sharded(const StrategySettings& settings, Replica& replica,
                                       Communicator& comm, StepTimes& times) {
  if (settings.zero_stage == 2) return make_sharded_gradients(settings, replica, comm, times);
  return std::make_unique<ShardedOptimizer>(
      settings, replica, comm, times,
      make_buckets(replica.tensors().parameters,
                   settings.narrow_wire ? ElementType::bfloat16 : replica.parameters().type,
                   settings.buckets));
}

}  // namespace ringside::trainer
