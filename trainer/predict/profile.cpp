// SPDX-License-Identifier: MIT
#include "ringside/trainer/predict/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/collectives/layout.hpp"
#include "ringside/trainer/batch.hpp"
#include "ringside/trainer/grouped.hpp"

namespace ringside::trainer {
namespace {

constexpr double float_bytes = 4;

/// What a layer's backward pass takes, with that of the functions without parameters behind it.
struct Work {
  double flops = 0, bytes = 0;  // a sample
  int launches = 0;             // a step
};

/// Lists the work of layers in the order of a forward pass. Each has two tensors, weight and bias,
/// as models.cpp lists them.
class Walk {
 public:
  /// Channels and the side of what comes in.
  Walk(double channels, double side) : channels_(channels), side_(side) {}

  void convolution(double out, double kernel, double side_out) {
    convolution_from(numbers(), channels_, out, kernel, side_out);
    channels_ = out;
    side_ = side_out;
  }
  void dense(double out) { convolution(out, side_, 1); }
  /// Reads what came in and its gradient twice, for the sums over the batch and for the result.
  void batch_norm() {
    layers_.emplace_back();
    element_wise(5);
  }
  void relu() { element_wise(3); }
  /// A window of a quarter of the size.
  void average_pool() {
    element_wise(1);
    side_ = std::floor(side_ / 2);
    last().bytes += float_bytes * numbers();
  }
  void average_all() {
    element_wise(1);
    side_ = 1;
  }
  /// The loss, or a sum of gradients: reads two, writes one.
  void sum() { element_wise(3); }

  /// A 1x1 convolution from what came into a block to what comes out of it.
  void shortcut(double in, double side_in) {
    convolution_from(in * side_in * side_in, in, channels_, 1, side_);
  }
  [[nodiscard]] double channels() const { return channels_; }
  [[nodiscard]] double side() const { return side_; }
  [[nodiscard]] const std::vector<Work>& layers() const { return layers_; }

 private:
  [[nodiscard]] double numbers() const { return channels_ * side_ * side_; }
  Work& last() { return layers_.back(); }

  /// One kernel that goes over all numbers so many times.
  void element_wise(double times) {
    last().bytes += float_bytes * times * numbers();
    ++last().launches;
  }

  /// Gradients of the weights, the biases and, but for the first layer, of what came in.
  void convolution_from(double numbers_in, double in, double out, double kernel, double side_out) {
    const bool first = layers_.empty();
    const double numbers_out = out * side_out * side_out;
    const double multiplications = numbers_out * in * kernel * kernel;
    const double gradients = first ? 1 : 2;
    layers_.push_back({.flops = 2 * gradients * multiplications,
                       .bytes = float_bytes * (gradients * numbers_out + gradients * numbers_in),
                       .launches = first ? 2 : 3});
  }

  double channels_, side_;
  std::vector<Work> layers_;
};

constexpr double image = static_cast<double>(image_side);
constexpr double outputs = static_cast<double>(classes);

std::vector<Work> mlp(double width) {
  Walk walk(static_cast<double>(image_pixels), 1);
  walk.dense(width);
  walk.relu();
  walk.dense(outputs);
  walk.sum();
  return walk.layers();
}

std::vector<Work> lenet() {
  Walk walk(1, image);
  walk.convolution(20, 3, image - 2);
  walk.relu();
  walk.average_pool();
  walk.convolution(50, 5, walk.side() - 4);
  walk.relu();
  walk.average_pool();
  walk.dense(128);
  walk.relu();
  walk.dense(outputs);
  walk.sum();
  return walk.layers();
}

void residual_block(Walk& walk, double out, bool halves) {
  const double in = walk.channels(), side_in = walk.side();
  const double side_out = halves ? std::ceil(side_in / 2) : side_in;
  walk.convolution(out, 3, side_out);
  walk.batch_norm();
  walk.relu();
  walk.convolution(out, 3, side_out);
  walk.batch_norm();
  if (in != out) walk.shortcut(in, side_in);
  walk.relu();
  walk.sum();  // of the gradients of both ways, for what came in
}

std::vector<Work> resnet18(double width) {
  Walk walk(1, image);
  walk.convolution(width, 3, image);
  walk.batch_norm();
  walk.relu();
  for (int stage = 0; stage < 4; ++stage)
    for (int block = 0; block < 2; ++block)
      residual_block(walk, width * (1 << stage), stage > 0 && block == 0);
  walk.average_all();
  walk.dense(outputs);
  walk.sum();
  return walk.layers();
}

std::vector<Work> work_of(const ModelSettings& settings) {
  const double width = width_of(settings);
  switch (settings.model) {
    case Model::mlp:
      return mlp(width);
    case Model::lenet:
      return lenet();
    case Model::resnet18:
      return resnet18(width);
  }
  throw Error(ErrorCode::internal, "no such model");
}

/// A backward pass goes from the last layer to the first; both tensors of a layer are ready at its
/// end.
std::vector<double> ready_by(const std::vector<double>& seconds, std::size_t tensors_each) {
  const double all = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  std::vector<double> ready(seconds.size() * tensors_each);
  double before = 0;  // what earlier layers take, which come later
  for (std::size_t layer = 0; layer < seconds.size(); ++layer) {
    std::fill_n(ready.begin() + static_cast<std::ptrdiff_t>(layer * tensors_each), tensors_each,
                1 - before / all);
    before += seconds[layer];
  }
  return ready;
}

}  // namespace

ModelProfile profile_of(const ModelSettings& settings, std::size_t samples,
                        const ReferenceDevice& device) {
  ModelProfile profile;
  profile.gradients = tensors_of(settings).parameters;
  std::vector<double> seconds;
  for (const Work& work : work_of(settings))
    seconds.push_back(work.flops / device.flops + work.bytes / device.bandwidth +
                      work.launches * device.launch / static_cast<double>(samples));
  profile.ready = ready_by(seconds, 2);
  if (profile.ready.size() != profile.gradients.size())
    throw Error(ErrorCode::internal, "a model's work is not that of its tensors");
  profile.name = to_string(settings.model);
  if (settings.width != 0) profile.name += fmt::format(" of width {}", settings.width);
  profile.sample_bytes = image_pixels;
  profile.sample_outputs = classes;
  profile.how = fmt::format(
      "computed from the arithmetic, memory traffic and launches of each layer (GPU of {:.0f} "
      "TFLOP/s, {:.0f} TB/s, {:.0f} us a launch)",
      device.flops / 1e12, device.bandwidth / 1e12, device.launch * 1e6);
  return profile;
}

ModelProfile even_profile(double parameters, int layers) {
  if (layers < 1 || !(parameters >= layers))
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{:.0f} parameters cannot lie in {} layers", parameters, layers));
  const auto all = static_cast<std::size_t>(std::llround(parameters));
  const auto count = static_cast<std::size_t>(layers);
  std::vector<TensorShape> tensors;
  for (std::size_t layer = 0; layer < count; ++layer)
    tensors.push_back({fmt::format("layer{}", layer),
                       {static_cast<std::int64_t>(part_of(all, count, layer).length)}});
  ModelProfile profile;
  profile.gradients = TensorLayout(std::move(tensors));
  profile.ready = ready_by(std::vector<double>(count, 1.0), 1);
  profile.name = fmt::format("{} parameters", grouped(all));
  profile.how = fmt::format("assumed: {} layers that are alike", layers);
  return profile;
}

}  // namespace ringside::trainer
