// SPDX-License-Identifier: MIT
#include "ringside/trainer/torch/networks.hpp"

#include <ATen/ATen.h>

#include <cstddef>

namespace ringside::trainer::torch_engine {
namespace {

using at::Tensor;

/// Takes layers' tensors in the order in which `tensors_of` lists them.
class Layers {
 public:
  Layers(const std::vector<Tensor>& parameters, const std::vector<Tensor>& statistics,
         bool training)
      : parameters_(parameters), statistics_(statistics), training_(training) {}

  Tensor convolution(const Tensor& x, std::int64_t stride = 1, std::int64_t padding = 0) {
    const auto [weight, bias] = next_layer();
    return at::conv2d(x, weight, bias, {stride, stride}, {padding, padding});
  }
  Tensor dense(const Tensor& x) {
    const auto [weight, bias] = next_layer();
    return at::linear(x, weight, bias);
  }
  Tensor batch_norm(const Tensor& x) {
    constexpr double momentum = 0.1, epsilon = 1e-5;  // libtorch's own
    const auto [weight, bias] = next_layer();
    const Tensor& mean = statistics_[next_statistic_++];
    const Tensor& variance = statistics_[next_statistic_++];
    return at::batch_norm(x, weight, bias, mean, variance, training_, momentum, epsilon, false);
  }

 private:
  struct Pair {
    const Tensor &weight, &bias;
  };
  Pair next_layer() {
    next_parameter_ += 2;
    return {parameters_[next_parameter_ - 2], parameters_[next_parameter_ - 1]};
  }

  const std::vector<Tensor>& parameters_;
  const std::vector<Tensor>& statistics_;
  bool training_;
  std::size_t next_parameter_ = 0, next_statistic_ = 0;
};

Tensor lenet(const std::vector<Tensor>& parameters, Tensor x) {
  for (std::size_t layer = 0; 2 * layer < parameters.size(); ++layer)
    x = lenet_layer(layer, x, parameters[2 * layer], parameters[2 * layer + 1]);
  return x;
}

Tensor residual_block(Layers& layers, const Tensor& x, bool halves) {
  Tensor y = layers.convolution(x, halves ? 2 : 1, 1);
  y = at::relu(layers.batch_norm(y));
  y = layers.convolution(y, 1, 1);
  y = layers.batch_norm(y);
  return at::relu(y + (halves ? layers.convolution(x, 2) : x));
}

Tensor resnet18(Layers layers, Tensor x) {
  x = at::relu(layers.batch_norm(layers.convolution(x, 1, 1)));
  for (int stage = 0; stage < 4; ++stage)
    for (int block = 0; block < 2; ++block) x = residual_block(layers, x, stage > 0 && block == 0);
  return layers.dense(at::adaptive_avg_pool2d(x, {1, 1}).flatten(1));
}

}  // namespace

at::ScalarType scalar_type(ElementType type) {
  return type == ElementType::float64 ? at::kDouble : at::kFloat;
}

Tensor images_of(const BatchView& batch, at::ScalarType type) {
  // The blob is only read, and only until its copy of another type is made.
  auto* pixels = const_cast<std::uint8_t*>(batch.pixels.data());
  constexpr auto side = static_cast<std::int64_t>(image_side);
  return at::from_blob(pixels, {static_cast<std::int64_t>(batch.samples()), 1, side, side},
                       at::kByte)
      .to(type)
      .div_(255);
}

Tensor lenet_layer(std::size_t layer, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  constexpr std::size_t first_dense = 2, last = 3;
  if (layer < first_dense)
    return at::avg_pool2d(at::relu(at::conv2d(x, weight, bias)), {2, 2}, {2, 2});
  const Tensor outputs = at::linear(x.flatten(1), weight, bias);
  return layer == last ? outputs : at::relu(outputs);
}

Tensor outputs_of(const ModelSettings& settings, const std::vector<Tensor>& parameters,
                  const std::vector<Tensor>& statistics, const Tensor& images, bool training) {
  if (settings.model == Model::lenet) return lenet(parameters, images);
  return resnet18(Layers(parameters, statistics, training), images);
}

}  // namespace ringside::trainer::torch_engine
