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

Tensor lenet(Layers layers, Tensor x) {
  x = at::avg_pool2d(at::relu(layers.convolution(x)), {2, 2}, {2, 2});
  x = at::avg_pool2d(at::relu(layers.convolution(x)), {2, 2}, {2, 2});
  x = at::relu(layers.dense(x.flatten(1)));
  return layers.dense(x);
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

Tensor outputs_of(const ModelSettings& settings, const std::vector<Tensor>& parameters,
                  const std::vector<Tensor>& statistics, const Tensor& images, bool training) {
  const Layers layers(parameters, statistics, training);
  return settings.model == Model::lenet ? lenet(layers, images) : resnet18(layers, images);
}

}  // namespace ringside::trainer::torch_engine
