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
  [[nodiscard]] Memory gradients() override;
  [[nodiscard]] Memory velocity() override { return velocity_; }
  [[nodiscard]] Memory statistics() override { return statistics_; }
  void keep_velocity() override;
  void hand_over_gradients() override { handing_over_ = true; }
  [[nodiscard]] Memory gradient(std::size_t tensor) override;
  void synchronise_batch_norms(int /*ranks*/, GatherFromRanks /*gather*/) override {}

  /// Refused, where an engine has no sections.
  [[nodiscard]] std::unique_ptr<Section> section(const SectionSettings& settings) override;
  [[nodiscard]] Loss loss(Memory outputs, std::span<const std::uint8_t> labels,
                          Memory gradient) override;
  void clear_gradients() override;
  using Replica::update;
  void update(Memory parameters, Memory gradients, Memory velocity, const SgdStep& step) override;
  void narrow(Memory from, Memory to) override;
  void widen(Memory from, Memory to) override;
  void copy(Memory from, Memory to) override;
  void add(Memory from, Memory to) override;
  void clear(Memory memory) override;
  [[nodiscard]] Memory allocate(std::size_t elements, ElementType type) override;
  void release(Memory memory) override;
  void transpose(Memory from, std::size_t rows, Memory to) override;
  void copy_to_host(Memory from, std::span<std::byte> to) override;
  void copy_from_host(std::span<const std::byte> from, Memory to) override;

 protected:
  /// The most at a time.
  [[nodiscard]] std::uint64_t allocated_bytes() const { return most_allocated_; }
  [[nodiscard]] bool handing_over() const { return handing_over_; }
  /// Tells of a tensor's gradient, and forgets it if that hands it over.
  void tell(const GradientReady& ready, std::size_t tensor);

 private:
  struct Free {
    void operator()(void* memory) const;
  };
  ModelTensors tensors_;
  struct Owned {
    std::unique_ptr<void, Free> memory;
    std::uint64_t bytes;
  };
  std::vector<Owned> owned_;
  std::uint64_t allocated_ = 0, most_allocated_ = 0;
  bool handing_over_ = false;
  std::vector<Memory> handed_over_;  ///< by tensor: what a backward pass has made so far
  Memory parameters_, gradients_, velocity_, statistics_;
};

}  // namespace ringside::trainer
