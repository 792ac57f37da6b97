// SPDX-License-Identifier: MIT
#include "ringside/trainer/torch/section.hpp"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/variable.h>

#include <map>
#include <string>
#include <vector>

#include "ringside/trainer/torch/networks.hpp"
#include "ringside/trainer/torch/words.hpp"

namespace ringside::trainer::torch_engine {
namespace {

class LenetSection final : public Section {
 public:
  LenetSection(Replica& replica, const std::vector<Layer>& layers, const SectionSettings& settings)
      : type_(replica.parameters().type), first_(settings.layers.offset) {
    if (first_ > 0) before_ = layers[first_ - 1];
    for (std::size_t number = first_; number < first_ + settings.layers.length; ++number) {
      const Layer& layer = layers[number];
      const Extent own = part_of(layer.channels, settings.slices, settings.slice);
      parameters_.push_back({leaf(replica, layer.weight, own), leaf(replica, layer.bias, own)});
    }
  }

  Memory forward(const BatchView& images, std::size_t micro_batch) override {
    return in_our_words(
        [&] { return run(images_of(images, scalar_type(type_)), passes_[micro_batch] = {}); });
  }

  Memory forward(Memory inputs, std::size_t micro_batch) override {
    return in_our_words([&] {
      Pass& pass = passes_[micro_batch] = {};
      const auto channels = static_cast<std::int64_t>(before_.channels);
      const auto side = static_cast<std::int64_t>(before_.side);
      pass.inputs = at::from_blob(inputs.data, {channels, samples_of(inputs), side, side},
                                  scalar_type(type_));
      pass.inputs.requires_grad_();
      const at::AutoGradMode on(true);
      return run(pass.inputs.transpose(0, 1), pass);
    });
  }

  Memory backward(Memory output_gradient, std::size_t micro_batch) override {
    return in_our_words([&] {
      Pass& pass = passes_[micro_batch];
      const auto gradient =
          at::from_blob(output_gradient.data, pass.graph.sizes(), scalar_type(type_));
      torch::autograd::backward({pass.graph}, {gradient});
      pass.graph.reset();
      if (!pass.inputs.defined()) return Memory{nullptr, 0, type_};
      pass.input_gradient = pass.inputs.grad().contiguous();
      pass.inputs.reset();
      return memory_of(pass.input_gradient);
    });
  }

 private:
  struct Parameters {
    at::Tensor weight, bias;
  };
  /// What a micro-batch needs between its passes, and what it has given away.
  struct Pass {
    at::Tensor inputs, graph, outputs, input_gradient;
  };

  /// A slice of a parameter, whose gradient is added to the same slice of the replica's gradients.
  [[nodiscard]] at::Tensor leaf(Replica& replica, std::size_t tensor, const Extent& own) const {
    const TensorLayout& layout = replica.tensors().parameters;
    const Extent extent = channels_in(layout, tensor, own);
    std::vector<std::int64_t> sizes = layout[tensor].sizes;
    sizes.front() = static_cast<std::int64_t>(own.length);
    const auto view = [&](const Memory& all) {
      return at::from_blob(all.part(extent).data, sizes, scalar_type(type_));
    };
    at::Tensor parameter = view(replica.parameters());
    parameter.requires_grad_();
    parameter.mutable_grad() = view(replica.gradients());
    return parameter;
  }

  /// `x`: {samples, channels, side, side}.
  Memory run(at::Tensor x, Pass& pass) {
    const at::AutoGradMode on(true);
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      x = lenet_layer(first_ + i, x, parameters_[i].weight, parameters_[i].bias);
    pass.graph = x.transpose(0, 1);
    pass.outputs = pass.graph.detach().contiguous();
    return memory_of(pass.outputs);
  }

  [[nodiscard]] std::int64_t samples_of(const Memory& inputs) const {
    return static_cast<std::int64_t>(inputs.elements / before_.elements());
  }
  [[nodiscard]] Memory memory_of(const at::Tensor& tensor) const {
    return {tensor.data_ptr(), static_cast<std::size_t>(tensor.numel()), type_};
  }

  ElementType type_;
  std::size_t first_;
  Layer before_;                        ///< whose outputs are the inputs, where they are no images
  std::vector<Parameters> parameters_;  ///< of every layer
  std::map<std::size_t, Pass> passes_;  ///< by number of the micro-batch
};

}  // namespace

std::unique_ptr<Section> make_section(Replica& replica, const ModelSettings& model,
                                      const SectionSettings& settings) {
  if (model.model != Model::lenet)
    throw Error(ErrorCode::unsupported,
                std::string(to_string(model.model)) + " is not cut in sections");
  return in_our_words(
      [&] { return std::make_unique<LenetSection>(replica, layers_of(model), settings); });
}

}  // namespace ringside::trainer::torch_engine
