// SPDX-License-Identifier: MIT
#include "ringside/trainer/mlp/section.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "ringside/trainer/mlp/add_scaled.hpp"

namespace ringside::trainer {
namespace {

/// Rows are channels, {channels, samples}: the loops run along samples.
template <class T>
class MlpSection final : public Section {
 public:
  MlpSection(Replica& replica, const ModelSettings& model, const Extent& layers)
      : replica_(replica), all_(layers_of(model)), range_(layers) {}

  Memory forward(const BatchView& images, std::size_t micro_batch) override {
    const std::size_t samples = images.samples();
    const Memory inputs = grown(replica_, passes_[micro_batch].images, image_pixels * samples);
    const std::span<T> pixels = inputs.as<T>();
    for (std::size_t pixel = 0; pixel < image_pixels; ++pixel)
      for (std::size_t sample = 0; sample < samples; ++sample)
        pixels[pixel * samples + sample] =
            static_cast<T>(images.pixels[sample * image_pixels + pixel]) / T{255};
    return forward(inputs, micro_batch);
  }

  Memory forward(Memory inputs, std::size_t micro_batch) override {
    Pass& pass = passes_[micro_batch];
    pass.samples = inputs.elements / inputs_of(range_.offset);
    pass.activations = {inputs};
    pass.kept.resize(range_.length, none());
    for (std::size_t i = 0; i < range_.length; ++i) {
      const Layer& layer = all_[range_.offset + i];
      const Memory outputs = grown(replica_, pass.kept[i], layer.elements() * pass.samples);
      compute(layer, pass.samples, pass.activations.back().template as<T>(),
              outputs.template as<T>());
      pass.activations.push_back(outputs);
    }
    return pass.activations.back();
  }

  Memory backward(Memory output_gradient, std::size_t micro_batch) override {
    Pass& pass = passes_[micro_batch];
    pass.gradients.resize(range_.length, none());
    for (std::size_t i = range_.length; i-- > 0;) {
      const std::size_t number = range_.offset + i;
      const std::span<T> gradient = output_gradient.as<T>();
      mask(all_[number], pass.activations[i + 1].template as<T>(), gradient);
      add_gradients(all_[number], pass.samples, pass.activations[i].template as<T>(), gradient);
      if (number == 0) return none();  // images
      const Memory due = grown(replica_, pass.gradients[i], inputs_of(number) * pass.samples);
      pass_back(all_[number], pass.samples, gradient, due.template as<T>());
      output_gradient = due;
    }
    return output_gradient;
  }

 private:
  /// What a micro-batch needs between its passes.
  struct Pass {
    Memory images = none();
    std::size_t samples = 0;
    std::vector<Memory> activations;      ///< inputs, then every layer's outputs
    std::vector<Memory> kept, gradients;  ///< memory of ours, by layer
  };

  static Memory none() { return {nullptr, 0, ElementTypeOf<T>::value}; }
  [[nodiscard]] std::size_t inputs_of(std::size_t layer) const {
    return layer == 0 ? image_pixels : all_[layer - 1].elements();
  }
  [[nodiscard]] bool has_relu(const Layer& layer) const { return &layer != &all_.back(); }
  std::span<T> part(const Memory& all, std::size_t tensor) {
    return all.part(replica_.tensors().parameters.extent(tensor)).template as<T>();
  }

  void compute(const Layer& layer, std::size_t samples, std::span<const T> in, std::span<T> out) {
    const auto weight = part(replica_.parameters(), layer.weight);
    const auto bias = part(replica_.parameters(), layer.bias);
    for (std::size_t unit = 0; unit < layer.channels; ++unit) {
      const auto own = out.subspan(unit * samples, samples);
      std::fill(own.begin(), own.end(), bias[unit]);
      for (std::size_t i = 0; i * samples < in.size(); ++i)
        add_scaled(own, weight[i * layer.channels + unit], in.subspan(i * samples, samples));
    }
    if (has_relu(layer))
      for (T& number : out) number = std::max(number, T{0});
  }

  /// ReLU passes nothing back where it gave zero.
  void mask(const Layer& layer, std::span<const T> out, std::span<T> gradient) {
    if (!has_relu(layer)) return;
    for (std::size_t i = 0; i < out.size(); ++i)
      if (out[i] == T{0}) gradient[i] = 0;
  }

  void add_gradients(const Layer& layer, std::size_t samples, std::span<const T> in,
                     std::span<const T> gradient) {
    const auto weight = part(replica_.gradients(), layer.weight);
    const auto bias = part(replica_.gradients(), layer.bias);
    for (std::size_t unit = 0; unit < layer.channels; ++unit) {
      const auto own = gradient.subspan(unit * samples, samples);
      bias[unit] += std::accumulate(own.begin(), own.end(), T{0});
      for (std::size_t i = 0; i * samples < in.size(); ++i)
        weight[i * layer.channels + unit] += std::inner_product(
            own.begin(), own.end(), in.begin() + static_cast<std::ptrdiff_t>(i * samples), T{0});
    }
  }

  void pass_back(const Layer& layer, std::size_t samples, std::span<const T> gradient,
                 std::span<T> due) {
    const auto weight = part(replica_.parameters(), layer.weight);
    std::fill(due.begin(), due.end(), T{0});
    for (std::size_t i = 0; i * samples < due.size(); ++i)
      for (std::size_t unit = 0; unit < layer.channels; ++unit)
        add_scaled(due.subspan(i * samples, samples), weight[i * layer.channels + unit],
                   gradient.subspan(unit * samples, samples));
  }

  Replica& replica_;
  std::vector<Layer> all_;  ///< of the model
  Extent range_;            ///< those of this section
  std::map<std::size_t, Pass> passes_;
};

}  // namespace

std::unique_ptr<Section> make_mlp_section(Replica& replica, const ModelSettings& model,
                                          const SectionSettings& settings) {
  if (settings.slices != 1)
    throw Error(ErrorCode::unsupported,
                "mlp stores its weights inputs first, so its outputs are not cut in slices");
  if (model.precision == ElementType::float64)
    return std::make_unique<MlpSection<double>>(replica, model, settings.layers);
  return std::make_unique<MlpSection<float>>(replica, model, settings.layers);
}

}  // namespace ringside::trainer
