// SPDX-License-Identifier: MIT
/// Tensor parallelism (Krizhevsky: One weird trick, 2014; Shoeybi and others: Megatron-LM, 2019). A
/// rank has a slice of every layer's outputs: channels of a convolution, neurons of a dense layer.
/// It computes them from the whole input, so the slices are gathered behind every layer; going
/// back, it knows what of an input's gradient is due to its slice, so these are summed, and each
/// rank gets the sum for the slice of the layer before that is its own:
///
///     rank 0   conv1[0:10] [all_gather] conv2[0:25] [all_gather] ...  loss
///     rank 1   conv1[10:]  [all_gather] conv2[25:]  [all_gather] ...  loss
///
///     rank 0   ... conv2[0:25] [reduce_scatter] conv1[0:10]  update
///     rank 1   ... conv2[25:]  [reduce_scatter] conv1[10:]   update
///
/// All ranks see the whole batch. Nothing is computed while something travels: every layer needs
/// all of the one before.
#include <utility>
#include <vector>

#include "ringside/trainer/strategies/kinds.hpp"
#include "ringside/trainer/strategies/split.hpp"

namespace ringside::trainer {
namespace {

class Tensor final : public Split {
 public:
  Tensor(const ModelSettings& model, Replica& replica, Communicator& comm, StepTimes& times)
      : Split(replica, comm, times), layers_(layers_of(model)) {
    const auto slices = static_cast<std::size_t>(comm.size());
    const auto slice = static_cast<std::size_t>(comm.rank());
    for (std::size_t number = 0; number < layers_.size(); ++number)
      parts_.push_back({replica.section({{number, 1}, slice, slices}), none(), none()});
  }

  [[nodiscard]] Extent loaded_of(std::size_t samples) const override { return {0, samples}; }

  /// All ranks know the loss; rank 0 tells it.
  Loss accumulate(const BatchView& batch, std::size_t samples, bool /*last*/) override {
    if (samples == 0) return {};
    samples_ = samples;
    for (std::size_t number = 0; number < layers_.size(); ++number) forward(batch, number);
    const Memory gradient = grown(replica_, output_gradient_, layers_.back().elements() * samples_);
    const Loss loss = computing_.run(Part::forward, [&] {
      return loss_of(outputs(layers_.size() - 1), batch.labels, gradient);
    });
    Memory own = gradient.part(slice_of(layers_.size() - 1));
    for (std::size_t number = layers_.size(); number-- > 0;) own = backward(own, number);
    return comm_.rank() == 0 ? loss : Loss{};
  }

 protected:
  [[nodiscard]] std::vector<Extent> owned() const override {
    const TensorLayout& layout = replica_.tensors().parameters;
    std::vector<Extent> extents;
    for (const Layer& layer : layers_)
      for (const std::size_t tensor : {layer.weight, layer.bias})
        extents.push_back(channels_in(layout, tensor, channels_of(layer, comm_.rank())));
    return extents;
  }

  void exchange(const Memory& all) override {
    const TensorLayout& layout = replica_.tensors().parameters;
    for (const Layer& layer : layers_)
      for (const std::size_t tensor : {layer.weight, layer.bias}) {
        std::vector<std::size_t> lengths;
        for (int rank = 0; rank < comm_.size(); ++rank)
          lengths.push_back(channels_in(layout, tensor, channels_of(layer, rank)).length);
        const Extent mine = channels_in(layout, tensor, channels_of(layer, comm_.rank()));
        comm_.all_gather(all.part(mine).data, all.part(layout.extent(tensor)).data, lengths,
                         all.type);
      }
  }

 private:
  struct LayerPart {
    std::unique_ptr<Section> section;
    Memory outputs;         ///< of all ranks
    Memory slice_gradient;  ///< of this rank's outputs, summed over what it is due to
  };

  [[nodiscard]] Extent channels_of(const Layer& layer, int rank) const {
    return part_of(layer.channels, static_cast<std::size_t>(comm_.size()),
                   static_cast<std::size_t>(rank));
  }
  /// This rank's run of a layer's outputs.
  [[nodiscard]] Extent slice_of(std::size_t number) const {
    const std::size_t channel = layers_[number].channel_elements() * samples_;
    const Extent own = channels_of(layers_[number], comm_.rank());
    return {own.offset * channel, own.length * channel};
  }
  /// The lengths of all ranks' runs.
  [[nodiscard]] std::vector<std::size_t> slices(std::size_t number) const {
    std::vector<std::size_t> lengths;
    for (int rank = 0; rank < comm_.size(); ++rank)
      lengths.push_back(channels_of(layers_[number], rank).length *
                        layers_[number].channel_elements() * samples_);
    return lengths;
  }
  [[nodiscard]] Memory outputs(std::size_t number) {
    return grown(replica_, parts_[number].outputs, layers_[number].elements() * samples_);
  }

  void forward(const BatchView& batch, std::size_t number) {
    Section& section = *parts_[number].section;
    const Memory own = computing_.run(Part::forward, [&] {
      return number == 0 ? section.forward(batch, 0) : section.forward(outputs(number - 1), 0);
    });
    const Memory all = outputs(number);
    timed(times_, Part::exposed,
          [&] { comm_.all_gather(own.data, all.data, slices(number), own.type); });
  }

  /// The gradient of this rank's outputs of the layer before.
  Memory backward(const Memory& own, std::size_t number) {
    const Memory due =
        computing_.run(Part::backward, [&] { return parts_[number].section->backward(own, 0); });
    if (number == 0) return none();
    const Memory before =
        grown(replica_, parts_[number - 1].slice_gradient, slice_of(number - 1).length);
    timed(times_, Part::exposed, [&] {
      comm_.reduce_scatter(due.data, before.data, slices(number - 1), due.type, ReduceOp::sum);
    });
    return before;
  }

  std::vector<Layer> layers_;
  std::vector<LayerPart> parts_;  ///< of this rank, by layer
  Memory output_gradient_ = none();
  std::size_t samples_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_tensor(const ModelSettings& model, Replica& replica,
                                      Communicator& comm, StepTimes& times) {
  return std::make_unique<Tensor>(model, replica, comm, times);
}

}  // namespace ringside::trainer
