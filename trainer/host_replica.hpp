// SPDX-License-Identifier: MIT
/// What replicas at the host have in common: all but the computing of a model.
#pragma once

#include <memory>
#include <vector>

#include "ringside/trainer/engine.hpp"

namespace ringside::trainer {

class HostReplica : public Replica {
 public:
  /// With the first weights of the settings.
  explicit HostReplica(const ModelSettings& settings);

  [[nodiscard]] const ModelTensors& tensors() const override { return tensors_; }
  [[nodiscard]] Memory parameters() override { return parameters_; }
  [[nodiscard]] Memory gradients() override { return gradients_; }
  [[nodiscard]] Memory velocity() override { return velocity_; }
  [[nodiscard]] Memory statistics() override { return statistics_; }
  void keep_velocity() override;

  [[nodiscard]] Loss loss(Memory outputs, std::span<const std::uint8_t> labels,
                          Memory gradient) override;
  void clear_gradients() override;
  void update(const SgdStep& step) override;
  void update(const SgdStep& step, const Extent& part) override;
  void narrow(Memory from, Memory to) override;
  void widen(Memory from, Memory to) override;
  [[nodiscard]] Memory allocate(std::size_t elements, ElementType type) override;
  void transpose(Memory from, std::size_t rows, Memory to) override;
  void copy_to_host(Memory from, std::span<std::byte> to) override;
  void copy_from_host(std::span<const std::byte> from, Memory to) override;

 protected:
  [[nodiscard]] std::uint64_t allocated_bytes() const { return allocated_; }

 private:
  struct Free {
    void operator()(void* memory) const;
  };
  ModelTensors tensors_;
  std::vector<std::unique_ptr<void, Free>> owned_;
  std::uint64_t allocated_ = 0;
  Memory parameters_, gradients_, velocity_, statistics_;
};

}  // namespace ringside::trainer
