// SPDX-License-Identifier: MIT
/// Stage 2 of ZeRO: no rank has all gradients. A tensor's gradient is copied to the buckets that it
/// lies in as soon as a backward pass has made it, and forgotten. A full bucket is reduced and
/// scattered; the rank adds its part to what it keeps, a k-th of all, and the bucket's memory goes
/// to the next one:
///
///     backward  fc | conv2 | conv1          staging: a few buckets
///     reduce_scatter [0][1][2] ..           kept:    a k-th of each
///
/// Buckets cut tensors anywhere, so that few of them at a time are little memory. Where all staging
/// is under way, the backward pass waits for the oldest bucket. Pieces of an accumulated batch each
/// travel, and are added up in what is kept.
#include <algorithm>
#include <deque>

#include "ringside/trainer/strategies/sharded.hpp"

namespace ringside::trainer {
namespace {

/// Buckets in staging memory at a time. More are taken only where tensors that are ready out of
/// order have begun as many and filled none.
constexpr std::size_t most_staged = 4;

/// Where two runs of a memory overlap.
Extent common(const Extent& a, const Extent& b) {
  const std::size_t begin = std::max(a.offset, b.offset);
  const std::size_t end = std::min(a.offset + a.length, b.offset + b.length);
  return {begin, end > begin ? end - begin : 0};
}

class ShardedGradients final : public Sharded {
 public:
  ShardedGradients(const StrategySettings& settings, Replica& replica, Communicator& comm,
                   StepTimes& times)
      : Sharded(settings, replica, comm, times,
                make_runs(replica.parameters().elements, wire_type(settings, replica),
                          settings.buckets)),
        wire_type_(wire_type(settings, replica)),
        kept_(replica.allocate(kept_elements(), replica.parameters().type)),
        filling_(shards_.size(), Memory{nullptr, 0, wire_type_}),
        elements_(shards_.size()) {
    const TensorLayout& layout = replica.tensors().parameters;
    for (std::size_t tensor = 0; tensor < layout.size(); ++tensor)
      for_each_bucket(layout.extent(tensor), [&](std::size_t bucket, const Extent& part) {
        elements_[bucket] += part.length;
      });
    replica.hand_over_gradients();
    if (is_narrow()) {
      widened_ = replica.allocate(longest_part(), kept_.type);
      staging_ = widened_.bytes();
    }
  }

  Loss accumulate(const BatchView& own, std::size_t /*samples*/, bool last) override {
    begin();
    const Loss loss = learn(own, [this](std::size_t tensor) { take_over(tensor); });
    timed(times_, Part::exposed, [&] { finish(); });
    if (last) summed_ = true;
    return loss;
  }

  [[nodiscard]] MemoryUse memory() override {
    MemoryUse use = Sharded::memory();
    use.gradients = kept_.bytes();
    return use;
  }

 protected:
  [[nodiscard]] Memory own_gradient(const Shard& shard) override { return kept_.part(shard.kept); }

 private:
  struct Call {
    std::size_t bucket;
    Memory memory;
    Handle handle;
  };

  static ElementType wire_type(const StrategySettings& settings, Replica& replica) {
    return settings.narrow_wire ? ElementType::bfloat16 : replica.parameters().type;
  }
  [[nodiscard]] bool is_narrow() const { return wire_type_ != kept_.type; }

  void begin() {
    if (summed_) replica_.clear(kept_);
    summed_ = false;
    started_ = 0;
    missing_ = elements_;
    computes_ = true;
  }

  void take_over(std::size_t tensor) {
    const Extent all = replica_.tensors().parameters.extent(tensor);
    const Memory gradient = replica_.gradient(tensor);
    for_each_bucket(all, [&](std::size_t bucket, const Extent& part) {
      stage(gradient.part({part.offset - all.offset, part.length}),
            room_for(bucket).part({part.offset - shards_[bucket].bucket.offset, part.length}));
      missing_[bucket] -= part.length;
      while (started_ < shards_.size() && missing_[started_] == 0) send_next();
    });
  }

  /// `body(bucket, part)`, with the part of the run of gradients that lies in the bucket. Buckets
  /// come from the end of the gradients to their beginning.
  template <class Body>
  void for_each_bucket(const Extent& run, Body&& body) {
    const auto first = std::partition_point(
        shards_.begin(), shards_.end(),
        [&](const Shard& shard) { return shard.bucket.offset >= run.offset + run.length; });
    for (auto shard = first; shard != shards_.end(); ++shard) {
      const Extent part = common(run, shard->bucket);
      if (part.length == 0) return;
      body(static_cast<std::size_t>(shard - shards_.begin()), part);
    }
  }

  void stage(const Memory& from, const Memory& to) {
    if (is_narrow())
      replica_.narrow(from, to);
    else
      replica_.copy(from, to);
  }

  void send_next() {
    const Memory memory = room_for(started_);
    filling_[started_] = {nullptr, 0, wire_type_};
    calls_.push_back({started_, memory, reduce(shards_[started_], memory)});
    ++started_;
    if (!overlap_) wait_for_oldest();
  }

  /// The bucket's memory, zero where nothing has come yet.
  Memory room_for(std::size_t bucket) {
    Memory& own = filling_[bucket];
    if (own.elements != 0) return own;
    own = free_memory().part({0, shards_[bucket].bucket.length});
    replica_.clear(own);
    return own;
  }

  Memory free_memory() {
    while (!calls_.empty() && calls_.front().handle.done()) put_away_oldest();
    if (free_.empty() && staged_ >= most_staged && !calls_.empty()) wait_for_oldest();
    if (free_.empty()) {
      ++staged_;
      free_.push_back(replica_.allocate(longest_bucket(), wire_type_));
      staging_ += free_.back().bytes();
    }
    const Memory memory = free_.back();
    free_.pop_back();
    return memory;
  }

  void wait_for_oldest() {
    if (computes_)
      computing_.interrupt([this] { put_away_oldest(); });
    else
      put_away_oldest();
  }

  void put_away_oldest() {
    Call& call = calls_.front();
    const Stopwatch waiting;
    call.handle.wait();
    waited_ += waiting.elapsed();
    running_ += call.handle.running_time();
    const Shard& shard = shards_[call.bucket];
    Memory own = call.memory.part(shard.own_in_bucket());
    if (is_narrow()) {
      const Memory wide = widened_.part({0, own.elements});
      replica_.widen(own, wide);
      own = wide;
    }
    replica_.add(own, kept_.part(shard.kept));
    free_.push_back(call.memory);
    calls_.pop_front();
  }

  /// Sends what is left, of a rank without samples all, and waits for all.
  void finish() {
    computes_ = false;
    while (started_ < shards_.size()) send_next();
    while (!calls_.empty()) put_away_oldest();
    times_.add(Part::hidden, std::max(running_ - waited_, Seconds{0}));
    running_ = waited_ = Seconds{0};
  }

  ElementType wire_type_;
  Memory kept_;     ///< gradients of this rank's parts
  Memory widened_;  ///< of a part that came narrow
  bool summed_ = true;
  bool computes_ = false;              ///< a backward pass is under way
  std::vector<Memory> filling_;        ///< of each bucket: its memory, if it has one
  std::vector<std::size_t> elements_;  ///< of each bucket: those of tensors, not between them
  std::vector<std::size_t> missing_;   ///< of each bucket: elements that are not ready
  std::size_t started_ = 0;            ///< buckets that have left
  std::size_t staged_ = 0;             ///< memories for buckets
  std::vector<Memory> free_;           ///< those that nothing is in
  Seconds running_{0}, waited_{0};
  std::deque<Call> calls_;  ///< in the order in which they were made
};

}  // namespace

std::unique_ptr<Strategy> make_sharded_gradients(const StrategySettings& settings, Replica& replica,
                                                 Communicator& comm, StepTimes& times) {
  return std::make_unique<ShardedGradients>(settings, replica, comm, times);
}

}  // namespace ringside::trainer
