// SPDX-License-Identifier: MIT
/// What the strategies have in common that split the network instead of the batch.
#pragma once

#include <vector>

#include "ringside/trainer/layers.hpp"
#include "ringside/trainer/strategies/strategy.hpp"

namespace ringside::trainer {

/// Whether ranks share one network instead of one batch.
[[nodiscard]] constexpr bool splits_network(StrategyKind kind) {
  return kind == StrategyKind::pipeline || kind == StrategyKind::tensor;
}

/// Throws Error(invalid_argument) where a strategy that splits the network cannot split this one
/// over so many ranks; others pass.
void check_split(StrategyKind kind, const ModelSettings& model, int ranks);

/// A rank keeps the whole replica, computes a part of it, and updates only what it computes.
class Split : public Strategy {
 public:
  using Strategy::Strategy;

  /// All of them, through its part of the network.
  [[nodiscard]] std::size_t computed_of(std::size_t samples) const override { return samples; }

  void update(const SgdStep& step) override;
  void synchronise() override;

 protected:
  /// The runs of the flat parameters that this rank computes.
  [[nodiscard]] virtual std::vector<Extent> owned() const = 0;
  /// Everybody gets the owners' parts of memory that lies like the parameters.
  virtual void exchange(const Memory& all) = 0;

  /// Of all outputs, channel by channel; and their gradient, alike.
  Loss loss_of(Memory outputs, std::span<const std::uint8_t> labels, Memory gradient);
  [[nodiscard]] Memory none() const { return {nullptr, 0, replica_.parameters().type}; }

 private:
  Memory outputs_ = none(), gradient_ = none();  ///< sample by sample
  bool synchronised_ = true;
};

}  // namespace ringside::trainer
