// SPDX-License-Identifier: MIT
#include "ringside/trainer/torch/networks.hpp"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>
#include <cstddef>
#include <span>
#include <tuple>
#include <vector>

#include "ringside/trainer/batch_norm.hpp"

namespace ringside::trainer::torch_engine {
namespace {

using at::Tensor;

constexpr double momentum = 0.1, epsilon = 1e-5;  // of batch norms: libtorch's own

/// Numbers of a tensor, one a channel, in the precision that ranks exchange, and back.
std::vector<double> numbers_of(const Tensor& channels) {
  const Tensor wide = channels.to(at::kDouble).contiguous();
  const double* first = wide.data_ptr<double>();
  return {first, first + wide.numel()};
}

Tensor tensor_of(const std::vector<double>& numbers, const at::TensorOptions& options) {
  return at::tensor(numbers, at::kDouble).to(options);
}

/// As it is broadcast over {samples, channels, height, width}.
Tensor by_channel(const Tensor& channels) { return channels.view({1, -1, 1, 1}); }

/// A batch norm that sees the samples of all ranks. Forward, ranks exchange how many values they
/// have, their means and squared distances; backward, the sums of the gradient and of its product
/// with the normalised values. The gradients of weight and bias are those of a rank's own samples:
/// like all others they are summed later.
class NormOfRanks : public torch::autograd::Function<NormOfRanks> {
 public:
  using Context = torch::autograd::AutogradContext;

  static Tensor forward(Context* context, const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const Tensor& running_mean, const Tensor& running_variance,
                        const RanksTogether& ranks) {
    const auto channels = static_cast<std::size_t>(x.size(1));
    const Moments all = combined(exchanged(ranks, told(moments_of(x))), channels);
    std::vector<double> variance(channels), unbiased(channels), inverse(channels);
    for (std::size_t channel = 0; channel < channels; ++channel) {
      variance[channel] = all.variance(channel);
      unbiased[channel] = all.unbiased_variance(channel);
      inverse[channel] = 1 / std::sqrt(variance[channel] + epsilon);
    }
    const Tensor mean = tensor_of(all.mean, weight.options());
    // Both are views of the replica's memory.
    Tensor(running_mean).mul_(1 - momentum).add_(mean, momentum);
    Tensor(running_variance)
        .mul_(1 - momentum)
        .add_(tensor_of(unbiased, weight.options()), momentum);
    context->save_for_backward({x, weight, mean, tensor_of(inverse, weight.options())});
    context->saved_data["together"] = at::IValue::make_capsule(c10::make_intrusive<Held>(ranks));
    context->saved_data["count"] = all.count;
    if (x.numel() == 0) return at::empty_like(x);
    return std::get<0>(at::native_batch_norm(
        x, weight, bias, mean, tensor_of(variance, weight.options()), false, 0, epsilon));
  }

  static torch::autograd::variable_list backward(Context* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor &x = saved[0], &weight = saved[1], &mean = saved[2], &inverse = saved[3];
    const auto held =
        c10::static_intrusive_pointer_cast<Held>(context->saved_data["together"].toCapsule());
    const Tensor gradient = gradients[0].contiguous();
    // sum of gradient x normalised, and of gradient
    Tensor own_weight = at::zeros_like(weight), own_bias = at::zeros_like(weight);
    if (x.numel() != 0)
      std::tie(std::ignore, own_weight, own_bias) = at::native_batch_norm_backward(
          gradient, x, weight, {}, {}, mean, inverse, true, epsilon, {false, true, true});
    std::vector<double> own = numbers_of(own_weight);
    const std::size_t channels = own.size();
    const auto bias_sums = numbers_of(own_bias);
    own.insert(own.end(), bias_sums.begin(), bias_sums.end());
    const auto sums = summed(exchanged(held->ranks, own), own.size());
    const double count = context->saved_data["count"].toDouble();
    const Tensor means = tensor_of(sums, weight.options()).div_(count);
    const auto length = static_cast<std::int64_t>(channels);
    const Tensor weight_mean = means.narrow(0, 0, length),
                 bias_mean = means.narrow(0, length, length);
    Tensor own_x = (x - by_channel(mean)).mul_(by_channel(inverse * weight_mean));
    own_x.add_(by_channel(bias_mean)).neg_().add_(gradient).mul_(by_channel(inverse * weight));
    return {own_x, own_weight, own_bias, {}, {}, {}};
  }

 private:
  struct Held final : torch::CustomClassHolder {
    explicit Held(const RanksTogether& the_ranks) : ranks(the_ranks) {}
    const RanksTogether& ranks;
  };

  static Moments moments_of(const Tensor& x) {
    const auto channels = static_cast<std::size_t>(x.size(1));
    if (x.numel() == 0) return {0, std::vector<double>(channels), std::vector<double>(channels)};
    const auto [mean, variance] = at::batch_norm_update_stats(x, {}, {}, momentum);
    Moments own{static_cast<double>(x.numel()) / static_cast<double>(channels), numbers_of(mean),
                numbers_of(variance)};
    for (double& square : own.squares) square *= own.count;
    return own;
  }

  static std::vector<double> exchanged(const RanksTogether& ranks, const std::vector<double>& own) {
    std::vector<double> all(own.size() * static_cast<std::size_t>(ranks.count));
    ranks.gather(own, all);
    return all;
  }
};

/// Takes layers' tensors in the order in which `tensors_of` lists them.
class Layers {
 public:
  Layers(const std::vector<Tensor>& parameters, const std::vector<Tensor>& statistics,
         bool training, const RanksTogether& ranks)
      : parameters_(parameters), statistics_(statistics), training_(training), ranks_(ranks) {}

  Tensor convolution(const Tensor& x, std::int64_t stride = 1, std::int64_t padding = 0) {
    const auto [weight, bias] = next_layer();
    return at::conv2d(x, weight, bias, {stride, stride}, {padding, padding});
  }
  Tensor dense(const Tensor& x) {
    const auto [weight, bias] = next_layer();
    return at::linear(x, weight, bias);
  }
  Tensor batch_norm(const Tensor& x) {
    const auto [weight, bias] = next_layer();
    const Tensor& mean = statistics_[next_statistic_++];
    const Tensor& variance = statistics_[next_statistic_++];
    if (training_ && ranks_.gather)
      return NormOfRanks::apply(x, weight, bias, mean, variance, ranks_);
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
  const RanksTogether& ranks_;
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
                  const std::vector<Tensor>& statistics, const Tensor& images, bool training,
                  const RanksTogether& ranks) {
  if (settings.model == Model::lenet) return lenet(parameters, images);
  return resnet18(Layers(parameters, statistics, training, ranks), images);
}

}  // namespace ringside::trainer::torch_engine
