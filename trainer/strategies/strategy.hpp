// SPDX-License-Identifier: MIT
/// How k ranks learn together: who has which samples, or which part of the network, what travels
/// and when.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ringside/collectives/communicator.hpp"
#include "ringside/trainer/buckets.hpp"
#include "ringside/trainer/checkpoint.hpp"
#include "ringside/trainer/computing.hpp"
#include "ringside/trainer/engine.hpp"
#include "ringside/trainer/step_times.hpp"

namespace ringside::trainer {

enum class StrategyKind {
  single,         ///< one rank
  data_parallel,  ///< as nn.DataParallel: everything passes through rank 0
  from_scratch,   ///< as d2l 12.5: all-reduce behind the backward pass, tensor by tensor
  distributed,    ///< as DistributedDataParallel: buckets travel while the backward pass goes on
  sharded,        ///< as ZeRO: every rank keeps and updates its part only
  pipeline,       ///< layers over ranks, micro-batches through them
  tensor,         ///< a slice of every layer on each rank
};

[[nodiscard]] std::string_view to_string(StrategyKind kind);
[[nodiscard]] std::optional<StrategyKind> parse_strategy(std::string_view name);
[[nodiscard]] std::span<const std::string_view> strategy_names();

/// The collective that sums gradients.
[[nodiscard]] Collective what_sums(StrategyKind kind);

struct StrategySettings {
  StrategyKind kind = StrategyKind::distributed;
  /// Spec of the collective that sums gradients; empty: the library's choice.
  std::string algorithm;
  bool narrow_wire = false;  ///< gradients travel as bfloat16; parameters stay what they are
  BucketSizes buckets;       ///< distributed, sharded
  /// distributed, sharded: while the backward pass goes on; otherwise nothing goes on meanwhile.
  bool overlap = true;
  std::size_t micro_batches = 4;  ///< pipeline: of a piece of a batch
  /// sharded: 1 shards what the optimizer keeps, 2 the gradients, too.
  int zero_stage = 2;
  /// Of every batch, one a rank (share_of); empty: equal ones.
  std::vector<std::int64_t> shares;
  /// Factors, one a rank, by which it computes longer; empty: none does.
  std::vector<double> slow_ranks;
};

/// Bytes that a rank has of the numbers which strategies keep, at the most.
struct MemoryUse {
  std::uint64_t parameters = 0, gradients = 0;
  std::uint64_t optimizer = 0;  ///< momentum
  std::uint64_t staging = 0;    ///< copies of gradients on their way
};

/// One rank's part of a strategy. A step is `accumulate` for every piece of the batch, then
/// `update`. All ranks make the same calls.
class Strategy {
 public:
  Strategy(Replica& replica, Communicator& comm, StepTimes& times)
      : replica_(replica),
        comm_(comm),
        times_(times),
        computing_(times),
        output_gradient_{nullptr, 0, replica.parameters().type} {}
  Strategy(const Strategy&) = delete;
  Strategy& operator=(const Strategy&) = delete;
  virtual ~Strategy() = default;

  /// Shares and slowness of the settings.
  void take(const StrategySettings& settings);
  /// Others from the next step on, on all ranks.
  void set_shares(std::vector<std::int64_t> shares) { shares_ = std::move(shares); }

  /// Which of a piece's samples this rank loads, and how many it computes with.
  [[nodiscard]] virtual Extent loaded_of(std::size_t samples) const { return own_of(samples); }
  [[nodiscard]] virtual std::size_t computed_of(std::size_t samples) const {
    return own_of(samples).length;
  }

  /// Batch norms see the samples of all ranks; their numbers travel by `norms`, another
  /// communicator of the same ranks, as they do not wait in its queue for gradients.
  void synchronise_batch_norms(Communicator& norms);

  /// What an update with momentum needs, from zero, and as it was saved.
  virtual void keep_velocity() { replica_.keep_velocity(); }
  virtual void restore_velocity(const Checkpoint& /*saved*/) {}
  /// Called by all ranks: rank 0 gets the whole of it, at the host, where its replica has not. Else
  /// empty.
  [[nodiscard]] virtual std::vector<std::byte> gather_velocity() { return {}; }

  [[nodiscard]] virtual MemoryUse memory();

  /// Adds gradients for this rank's share of a piece of `samples` samples. With the last piece of a
  /// batch they become those of all ranks, where an update needs them. Returns the loss of those
  /// samples that this rank has the labels of.
  /// A rank without samples takes part in what all do.
  virtual Loss accumulate(const BatchView& own, std::size_t samples, bool last) = 0;

  virtual void update(const SgdStep& step);

  /// From then on, until the next update, all ranks hold the same parameters.
  virtual void synchronise() {}

 protected:
  /// Forward pass, loss and backward pass over this rank's own samples.
  Loss learn(const BatchView& own, const GradientReady& ready);
  /// Memory for as many outputs' gradients.
  [[nodiscard]] Memory output_gradient(std::size_t samples);
  /// A rank's share of a piece's samples.
  [[nodiscard]] Extent own_of(std::size_t samples, std::size_t rank) const;
  [[nodiscard]] Extent own_of(std::size_t samples) const {
    return own_of(samples, static_cast<std::size_t>(comm_.rank()));
  }
  /// Whether a rank runs the model: also without samples where others wait for it.
  [[nodiscard]] bool computes(std::size_t samples) const { return samples > 0 || norms_together_; }

  Replica& replica_;
  Communicator& comm_;
  StepTimes& times_;
  Computing computing_;
  std::uint64_t staging_ = 0;  ///< bytes

 private:
  std::vector<std::int64_t> shares_;
  bool norms_together_ = false;
  Memory output_gradient_;
};

/// What of the gradients travels: themselves, or a copy in bfloat16.
class Wire {
 public:
  Wire(Replica& replica, bool narrow);
  /// What is to be summed for these gradients.
  [[nodiscard]] Memory pack(const Extent& extent);
  /// It has been.
  void unpack(const Extent& extent);
  [[nodiscard]] std::uint64_t bytes() const { return narrow_.bytes(); }

 private:
  Replica& replica_;
  Memory narrow_;  ///< as long as the gradients, or empty
};

/// The model is the replica's. Throws Error(invalid_argument) for more than one rank with `single`,
/// and what check_split does.
[[nodiscard]] std::unique_ptr<Strategy> make_strategy(const StrategySettings& settings,
                                                      const ModelSettings& model, Replica& replica,
                                                      Communicator& comm, StepTimes& times);

}  // namespace ringside::trainer
