// SPDX-License-Identifier: MIT
/// What both stages of `sharded` have in common: who owns which parameters, and the update.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ringside/trainer/strategies/kinds.hpp"

namespace ringside::trainer {

/// A bucket of the flat parameters and their gradients, cut over the ranks.
struct Shard {
  Extent bucket;
  std::vector<std::size_t> blocks;  ///< lengths of the ranks' parts, nearly equal
  Extent own;                       ///< this rank's part, in the flat memory
  Extent kept;                      ///< the same where it keeps its parts one after another

  /// The rank's part within the bucket.
  [[nodiscard]] Extent own_in_bucket() const { return {own.offset - bucket.offset, own.length}; }
};

[[nodiscard]] std::vector<Shard> make_shards(std::span<const Extent> buckets, std::size_t ranks,
                                             std::size_t rank);

class Sharded : public Strategy {
 public:
  Sharded(const StrategySettings& settings, Replica& replica, Communicator& comm, StepTimes& times,
          std::span<const Extent> buckets);

  void keep_velocity() override;
  void restore_velocity(const Checkpoint& saved) override;
  [[nodiscard]] std::vector<std::byte> gather_velocity() override;
  [[nodiscard]] MemoryUse memory() override;

  /// Each rank its own parts; then everybody gets all.
  void update(const SgdStep& step) override;

 protected:
  /// Elements of this rank's parts.
  [[nodiscard]] std::size_t kept_elements() const;
  [[nodiscard]] std::size_t longest_bucket() const;
  /// Elements of a rank's part of it, at the most.
  [[nodiscard]] std::size_t longest_part() const {
    return part_of(longest_bucket(), static_cast<std::size_t>(comm_.size()), 0).length;
  }
  /// Of all ranks' samples, for this rank's part.
  [[nodiscard]] virtual Memory own_gradient(const Shard& shard) = 0;
  /// Begins to sum a bucket that lies in `memory`: the rank's own part of it is right then.
  [[nodiscard]] Handle reduce(const Shard& shard, const Memory& memory);

  std::vector<Shard> shards_;
  bool overlap_;

 private:
  [[nodiscard]] Memory velocity_of_own(const Shard& shard) const;

  CallOptions options_;
  bool keeps_velocity_ = false;
  Memory velocity_;  ///< of this rank's parts
};

[[nodiscard]] std::unique_ptr<Strategy> make_sharded_gradients(const StrategySettings& settings,
                                                               Replica& replica, Communicator& comm,
                                                               StepTimes& times);

}  // namespace ringside::trainer
