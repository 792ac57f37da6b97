// SPDX-License-Identifier: MIT
#include "ringside/trainer/mlp/mlp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "ringside/trainer/host_replica.hpp"
#include "ringside/trainer/mlp/add_scaled.hpp"
#include "ringside/trainer/mlp/section.hpp"

namespace ringside::trainer {
namespace {

/// The tensors' numbers.
enum Tensor : std::size_t { hidden_weight, hidden_bias, output_weight, output_bias };

template <class T>
class Mlp final : public HostReplica {
 public:
  explicit Mlp(const ModelSettings& settings)
      : HostReplica(settings),
        settings_(settings),
        width_(static_cast<std::size_t>(width_of(settings))) {}

  Memory forward(const BatchView& batch, Mode /*mode*/) override {
    const std::size_t samples = batch.samples();
    inputs_.resize(samples * image_pixels);
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      inputs_[i] = static_cast<T>(batch.pixels[i]) / T{255};
    hidden_.resize(samples * width_);
    outputs_.resize(samples * classes);
    for (std::size_t sample = 0; sample < samples; ++sample) {
      const auto hidden = row(hidden_, sample, width_);
      affine(input(sample), hidden_weight, hidden_bias, hidden);
      for (T& unit : hidden) unit = std::max(unit, T{0});
      affine(hidden, output_weight, output_bias, row(outputs_, sample, classes));
    }
    return {outputs_.data(), outputs_.size(), ElementTypeOf<T>::value};
  }

  void backward(Memory output_gradient, const GradientReady& ready) override {
    const std::span<const T> gradient = output_gradient.as<T>();
    const std::size_t samples = gradient.size() / classes;
    std::vector<T> hidden_gradient(samples * width_);
    output_layer_backward(gradient, hidden_gradient);
    tell(ready, output_bias);
    tell(ready, output_weight);
    const std::span<T> bias = gradient_of(hidden_bias), weights = gradient_of(hidden_weight);
    for (std::size_t sample = 0; sample < samples; ++sample) {
      const std::span<const T> own = row(hidden_gradient, sample, width_);
      add_scaled(bias, T{1}, own);
      for (std::size_t pixel = 0; pixel < image_pixels; ++pixel)
        add_scaled(weights.subspan(pixel * width_, width_), input(sample)[pixel], own);
    }
    tell(ready, hidden_bias);
    tell(ready, hidden_weight);
  }

  std::unique_ptr<Section> section(const SectionSettings& cut) override {
    return make_mlp_section(*this, settings_, cut);
  }

  [[nodiscard]] std::uint64_t peak_bytes() const override {
    return allocated_bytes() +
           sizeof(T) * (inputs_.capacity() + 2 * hidden_.capacity() + outputs_.capacity());
  }

 private:
  static std::span<T> row(std::vector<T>& numbers, std::size_t index, std::size_t length) {
    return std::span(numbers).subspan(index * length, length);
  }
  std::span<const T> input(std::size_t sample) { return row(inputs_, sample, image_pixels); }
  std::span<T> tensor(Tensor number) {
    return parameters().part(tensors().parameters.extent(number)).template as<T>();
  }
  std::span<T> gradient_of(Tensor number) { return gradient(number).template as<T>(); }

  void output_layer_backward(std::span<const T> gradient, std::vector<T>& hidden_gradient) {
    const std::span<T> bias_gradient = gradient_of(output_bias);
    const std::span<T> weight_gradient = gradient_of(output_weight);
    const std::span<const T> all_weights = tensor(output_weight);
    for (std::size_t sample = 0; sample < gradient.size() / classes; ++sample) {
      const auto own = gradient.subspan(sample * classes, classes);
      add_scaled(bias_gradient, T{1}, own);
      const auto hidden = row(hidden_, sample, width_);
      for (std::size_t unit = 0; unit < width_; ++unit) {
        if (hidden[unit] == T{0}) continue;  // ReLU passes nothing back
        add_scaled(weight_gradient.subspan(unit * classes, classes), hidden[unit], own);
        const auto weights = all_weights.subspan(unit * classes, classes);
        T sum = 0;
        for (std::size_t i = 0; i < classes; ++i) sum += weights[i] * own[i];
        hidden_gradient[sample * width_ + unit] = sum;
      }
    }
  }

  /// out = in x weight + bias.
  void affine(std::span<const T> in, Tensor weight, Tensor bias, std::span<T> out) {
    std::copy_n(tensor(bias).begin(), out.size(), out.begin());
    const std::span<const T> weights = tensor(weight);
    for (std::size_t i = 0; i < in.size(); ++i)
      add_scaled(out, in[i], weights.subspan(i * out.size(), out.size()));
  }

  ModelSettings settings_;
  std::size_t width_;
  std::vector<T> inputs_, hidden_, outputs_;
};

class MlpEngine final : public Engine {
 public:
  EngineFacts facts() override { return {"loops of our own", {}, {}}; }
  std::unique_ptr<Replica> make_replica(const ModelSettings& settings, int threads) override {
    if (settings.model != Model::mlp)
      throw Error(ErrorCode::unsupported,
                  fmt::format("the model {} needs libtorch", to_string(settings.model)));
    if (threads != 1) throw Error(ErrorCode::unsupported, "mlp computes with one thread a rank");
    if (settings.precision == ElementType::float64) return std::make_unique<Mlp<double>>(settings);
    return std::make_unique<Mlp<float>>(settings);
  }
};

}  // namespace

std::shared_ptr<Engine> make_mlp_engine() { return std::make_shared<MlpEngine>(); }

}  // namespace ringside::trainer
