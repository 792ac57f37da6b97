// SPDX-License-Identifier: MIT
/// One program that drives all devices, as nn.DataParallel does (d2l 12.6). Rank 0 stands for its
/// first device: it has the parameters, the whole batch, all outputs and the loss.
///
///     rank 0   [broadcast W][scatter x] forward [gather y] loss [scatter dy] backward [reduce dW]
///     update rank 1   [broadcast W][scatter x] forward [gather y]  ..  [scatter dy] backward
///     [reduce dW]   ..
///
/// So device 0 holds and does more than the others, which wait for it.
#include <vector>

#include "ringside/trainer/strategies/kinds.hpp"

namespace ringside::trainer {
namespace {

constexpr int device_0 = 0;

class DataParallel final : public Strategy {
 public:
  DataParallel(const StrategySettings& settings, Replica& replica, Communicator& comm,
               StepTimes& times)
      : Strategy(replica, comm, times),
        wire_(replica, settings.narrow_wire),
        options_{.algorithm = settings.algorithm},
        all_outputs_{nullptr, 0, replica.parameters().type} {
    staging_ = wire_.bytes();
  }

  [[nodiscard]] Extent loaded_of(std::size_t samples) const override {
    return {0, is_device_0() ? samples : 0};
  }

  Loss accumulate(const BatchView& batch, std::size_t samples, bool last) override {
    const BatchView own = timed(times_, Part::exposed, [&] {
      replicate();
      return scatter_samples(batch, samples);
    });
    Memory outputs{nullptr, 0, replica_.parameters().type};
    if (computes(own.samples()))
      outputs = computing_.run(Part::forward,
                               [&] { return replica_.forward(own, Replica::Mode::training); });
    timed(times_, Part::exposed, [&] { gather_outputs(outputs, samples); });
    Loss loss;
    if (is_device_0())
      loss = computing_.run(Part::forward, [&] {
        return replica_.loss(outputs_of_all(samples), batch.labels, output_gradient(samples));
      });
    const Memory gradient = output_gradient(is_device_0() ? samples : own.samples());
    timed(times_, Part::exposed, [&] { scatter_gradients(gradient, samples); });
    if (computes(own.samples()))
      computing_.run(Part::backward, [&] {
        replica_.backward(gradient.part({0, own.samples() * classes}), {});
      });
    if (last) timed(times_, Part::exposed, [&] { reduce_gradients(); });
    return loss;
  }

  void update(const SgdStep& step) override {
    if (is_device_0()) Strategy::update(step);
    replicated_ = false;
  }

  void synchronise() override { replicate(); }

 private:
  [[nodiscard]] bool is_device_0() const { return comm_.rank() == device_0; }

  void replicate() {
    if (replicated_) return;
    const Memory own = replica_.parameters();
    comm_.broadcast(own.data, own.data, own.elements, own.type, device_0);
    replicated_ = true;
  }

  /// The lengths of the ranks' parts of so many samples, each of `elements` elements.
  [[nodiscard]] std::vector<std::size_t> blocks(std::size_t samples, std::size_t elements) const {
    const auto ranks = static_cast<std::size_t>(comm_.size());
    std::vector<std::size_t> lengths(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank)
      lengths[rank] = own_of(samples, rank).length * elements;
    return lengths;
  }

  /// This rank's samples; device 0's are the first of the batch, where they lie.
  BatchView scatter_samples(const BatchView& batch, std::size_t samples) {
    const auto lengths = blocks(samples, image_pixels);
    const std::size_t own = lengths[static_cast<std::size_t>(comm_.rank())];
    if (is_device_0()) {
      // In place at the root, which does not write there.
      auto* pixels = const_cast<std::uint8_t*>(batch.pixels.data());
      comm_.scatter(pixels, pixels, lengths, ElementType::uint8, device_0);
      return {batch.pixels.first(own), {}};
    }
    received_.resize(own);
    comm_.scatter(nullptr, received_.data(), lengths, ElementType::uint8, device_0);
    return {received_, {}};
  }

  void gather_outputs(const Memory& own, std::size_t samples) {
    const Memory all = is_device_0() ? outputs_of_all(samples) : Memory{};
    comm_.gather(own.data, all.data, blocks(samples, classes), own.type, device_0);
  }

  void scatter_gradients(const Memory& gradient, std::size_t samples) {
    comm_.scatter(is_device_0() ? gradient.data : nullptr, gradient.data, blocks(samples, classes),
                  gradient.type, device_0);
  }

  void reduce_gradients() {
    const Extent all{0, replica_.gradients().elements};
    const Memory own = wire_.pack(all);
    comm_.reduce(own.data, is_device_0() ? own.data : nullptr, own.elements, own.type,
                 ReduceOp::sum, device_0, options_);
    if (is_device_0()) wire_.unpack(all);
  }

  Memory outputs_of_all(std::size_t samples) {
    return grown(replica_, all_outputs_, samples * classes);
  }

  Wire wire_;
  CallOptions options_;
  bool replicated_ = false;
  std::vector<std::uint8_t> received_;
  Memory all_outputs_;
};

}  // namespace

std::unique_ptr<Strategy> make_data_parallel(const StrategySettings& settings, Replica& replica,
                                             Communicator& comm, StepTimes& times) {
  return std::make_unique<DataParallel>(settings, replica, comm, times);
}

}  // namespace ringside::trainer
