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

#include "ringside/collectives/communicator.hpp"
#include "ringside/trainer/buckets.hpp"
#include "ringside/trainer/engine.hpp"
#include "ringside/trainer/step_times.hpp"

namespace ringside::trainer {

enum class StrategyKind {
  single,         ///< one rank
  data_parallel,  ///< as nn.DataParallel: everything passes through rank 0
  from_scratch,   ///< as d2l 12.5: all-reduce behind the backward pass, tensor by tensor
  distributed,    ///< as DistributedDataParallel: buckets travel while the backward pass goes on
  pipeline,       ///< layers over ranks, micro-batches through them
  tensor,         ///< a slice of every layer on each rank
};

[[nodiscard]] std::string_view to_string(StrategyKind kind);
[[nodiscard]] std::optional<StrategyKind> parse_strategy(std::string_view name);
[[nodiscard]] std::span<const std::string_view> strategy_names();

struct StrategySettings {
  StrategyKind kind = StrategyKind::distributed;
  /// Spec of the collective that sums gradients (all_reduce, or reduce for data_parallel); empty:
  /// the library's choice.
  std::string algorithm;
  bool narrow_wire = false;  ///< gradients travel as bfloat16; parameters stay what they are
  BucketSizes buckets;       ///< distributed
  /// distributed: while the backward pass goes on; otherwise the same calls behind it.
  bool overlap = true;
  std::size_t micro_batches = 4;  ///< pipeline: of a piece of a batch
};

/// One rank's part of a strategy. A step is `accumulate` for every piece of the batch, then
/// `update`. All ranks make the same calls.
class Strategy {
 public:
  Strategy(Replica& replica, Communicator& comm, StepTimes& times)
      : replica_(replica),
        comm_(comm),
        times_(times),
        output_gradient_{nullptr, 0, replica.parameters().type} {}
  Strategy(const Strategy&) = delete;
  Strategy& operator=(const Strategy&) = delete;
  virtual ~Strategy() = default;

  /// Which of a piece's samples this rank loads.
  [[nodiscard]] virtual Extent share_of(std::size_t samples) const;

  /// Adds gradients for this rank's share of a piece of `samples` samples. With the last piece of a
  /// batch they become those of all ranks, where an update needs them. Returns the loss of those
  /// samples that this rank has the labels of.
  virtual Loss accumulate(const BatchView& own, std::size_t samples, bool last) = 0;

  virtual void update(const SgdStep& step);

  /// From then on, until the next update, all ranks hold the same parameters.
  virtual void synchronise() {}

 protected:
  /// Forward pass, loss and backward pass over this rank's own samples.
  Loss learn(const BatchView& own, const GradientReady& ready);
  /// Memory for as many outputs' gradients.
  [[nodiscard]] Memory output_gradient(std::size_t samples);

  Replica& replica_;
  Communicator& comm_;
  StepTimes& times_;

 private:
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
