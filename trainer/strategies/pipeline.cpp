// SPDX-License-Identifier: MIT
/// Pipeline parallelism (Huang and others: GPipe, 2019). A rank has some consecutive layers; a
/// batch goes through the ranks in micro-batches, forward, then backward in the opposite order, so
/// that all ranks have something to do most of the time:
///
///     rank 0   F0 F1 F2 F3          . . .          B3 B2 B1 B0  update
///     rank 1      F0 F1 F2 F3       . .         B3 B2 B1 B0     update
///     rank 2         F0 F1 F2 F3 loss  B3 B2 B1 B0              update
///
/// Of the time of k stages with M micro-batches (k - 1) / (M + k - 1) is idle at best: the bubble.
/// Activations of a stage's last layer travel, and their gradients back; parameters do not.
#include <algorithm>
#include <utility>
#include <vector>

#include "ringside/trainer/strategies/kinds.hpp"
#include "ringside/trainer/strategies/split.hpp"

namespace ringside::trainer {
namespace {

class Pipeline final : public Split {
 public:
  Pipeline(const StrategySettings& settings, const ModelSettings& model, Replica& replica,
           Communicator& comm, StepTimes& times)
      : Split(replica, comm, times),
        layers_(layers_of(model)),
        stages_(stages_of(layers_, static_cast<std::size_t>(comm.size()))),
        section_(replica.section({own_stage(), 0, 1})),
        micro_batches_(settings.micro_batches) {}

  /// Images are the first stage's to load, labels the last one's.
  [[nodiscard]] Extent loaded_of(std::size_t samples) const override {
    return {0, is_first() || is_last() ? samples : 0};
  }

  Loss accumulate(const BatchView& batch, std::size_t samples, bool /*last*/) override {
    cut_.clear();
    for (std::size_t i = 0; i < micro_batches_.size(); ++i) {
      const Extent own = part_of(samples, micro_batches_.size(), i);
      if (own.length > 0) cut_.push_back(own);
    }
    Loss loss;
    expect_inputs();
    for (std::size_t i = 0; i < cut_.size(); ++i) {
      const Loss own = forward(batch, i);
      loss.sum += own.sum;
      loss.correct += own.correct;
    }
    expect_gradients();
    for (std::size_t i = cut_.size(); i-- > 0;) backward(i);
    timed(times_, Part::exposed, [&] {
      for (Handle& send : sends_) send.wait();
    });
    sends_.clear();
    return loss;
  }

 protected:
  [[nodiscard]] std::vector<Extent> owned() const override { return {parameters_of(own_stage())}; }

  void exchange(const Memory& all) override {
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      const Memory its = all.part(parameters_of(stages_[stage]));
      comm_.broadcast(its.data, its.data, its.elements, its.type, static_cast<int>(stage));
    }
  }

 private:
  struct MicroBatch {
    Memory inputs, gradient;  ///< received: of this stage's first layer, of its last
    Handle comes, gradient_comes;
  };

  [[nodiscard]] const Extent& own_stage() const {
    return stages_[static_cast<std::size_t>(comm_.rank())];
  }
  [[nodiscard]] bool is_first() const { return comm_.rank() == 0; }
  [[nodiscard]] bool is_last() const { return comm_.rank() == comm_.size() - 1; }

  /// Layers' tensors lie in the layers' order.
  [[nodiscard]] Extent parameters_of(const Extent& stage) const {
    const TensorLayout& layout = replica_.tensors().parameters;
    const Extent first = layout.extent(layers_[stage.offset].weight);
    const Extent last = layout.extent(layers_[stage.offset + stage.length - 1].bias);
    return {first.offset, last.offset + last.length - first.offset};
  }

  [[nodiscard]] Memory room(Memory& kept, std::size_t layer, std::size_t micro_batch) {
    if (kept.data == nullptr) kept = none();
    return grown(replica_, kept, layers_[layer].elements() * cut_[micro_batch].length);
  }

  /// All that will come is asked for at once: a rank before this one need not wait for it.
  void expect_inputs() {
    if (is_first()) return;
    for (std::size_t i = 0; i < cut_.size(); ++i) {
      const Memory to = room(micro_batches_[i].inputs, own_stage().offset - 1, i);
      micro_batches_[i].comes = comm_.async().recv(to.data, to.elements, to.type, comm_.rank() - 1);
    }
  }
  void expect_gradients() {
    if (is_last()) return;
    for (std::size_t i = cut_.size(); i-- > 0;) {
      const Memory to = gradient(i);
      micro_batches_[i].gradient_comes =
          comm_.async().recv(to.data, to.elements, to.type, comm_.rank() + 1);
    }
  }
  [[nodiscard]] Memory gradient(std::size_t micro_batch) {
    return room(micro_batches_[micro_batch].gradient, own_stage().offset + own_stage().length - 1,
                micro_batch);
  }
  void send(const Memory& what, int to) {
    sends_.push_back(comm_.async().send(what.data, what.elements, what.type, to));
  }

  Loss forward(const BatchView& batch, std::size_t number) {
    const Memory outputs = is_first() ? forward_images(batch, number) : forward_inputs(number);
    if (!is_last()) {
      send(outputs, comm_.rank() + 1);
      return {};
    }
    return computing_.run(Part::forward, [&] {
      return loss_of(outputs, batch.labels.subspan(cut_[number].offset, cut_[number].length),
                     gradient(number));
    });
  }
  Memory forward_images(const BatchView& batch, std::size_t number) {
    const auto& [offset, length] = cut_[number];
    const BatchView images(batch.pixels.subspan(offset * image_pixels, length * image_pixels), {});
    return computing_.run(Part::forward, [&] { return section_->forward(images, number); });
  }
  Memory forward_inputs(std::size_t number) {
    timed(times_, Part::exposed, [&] { micro_batches_[number].comes.wait(); });
    const Memory inputs = room(micro_batches_[number].inputs, own_stage().offset - 1, number);
    return computing_.run(Part::forward, [&] { return section_->forward(inputs, number); });
  }

  void backward(std::size_t number) {
    if (!is_last())
      timed(times_, Part::exposed, [&] { micro_batches_[number].gradient_comes.wait(); });
    const Memory due = computing_.run(Part::backward,
                                      [&] { return section_->backward(gradient(number), number); });
    if (!is_first()) send(due, comm_.rank() - 1);
  }

  std::vector<Layer> layers_;   ///< of the model
  std::vector<Extent> stages_;  ///< of every rank: its layers
  std::unique_ptr<Section> section_;
  std::vector<MicroBatch> micro_batches_;
  std::vector<Extent> cut_;  ///< the samples of every micro-batch that has some
  std::vector<Handle> sends_;
};

}  // namespace

std::unique_ptr<Strategy> make_pipeline(const StrategySettings& settings,
                                        const ModelSettings& model, Replica& replica,
                                        Communicator& comm, StepTimes& times) {
  return std::make_unique<Pipeline>(settings, model, replica, comm, times);
}

}  // namespace ringside::trainer
