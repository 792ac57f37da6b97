// SPDX-License-Identifier: MIT
#include "ringside/trainer/models.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "ringside/trainer/batch.hpp"

namespace ringside::trainer {
namespace {

constexpr auto names = std::to_array<std::string_view>({"mlp", "lenet", "resnet18"});

constexpr auto pixels = static_cast<std::int64_t>(image_pixels);
constexpr auto outputs = static_cast<std::int64_t>(classes);

/// Lists the tensors of layers.
class Lister {
 public:
  /// Weight and bias; a dense layer's sizes are {out, in}, a convolution's {out, in, height,
  /// width}.
  void layer(const std::string& name, std::vector<std::int64_t> sizes, std::int64_t out) {
    parameters_.push_back({name + ".weight", std::move(sizes), Beginning::normal});
    parameters_.push_back({name + ".bias", {out}, Beginning::zeros});
  }
  void convolution(const std::string& name, std::int64_t in, std::int64_t out, std::int64_t side) {
    layer(name, {out, in, side, side}, out);
  }
  void dense(const std::string& name, std::int64_t in, std::int64_t out) {
    layer(name, {out, in}, out);
  }
  void batch_norm(const std::string& name, std::int64_t channels) {
    parameters_.push_back({name + ".weight", {channels}, Beginning::ones});
    parameters_.push_back({name + ".bias", {channels}, Beginning::zeros});
    statistics_.push_back({name + ".running_mean", {channels}, Beginning::zeros});
    statistics_.push_back({name + ".running_var", {channels}, Beginning::ones});
  }
  ModelTensors result() {
    return {TensorLayout(std::move(parameters_)), TensorLayout(std::move(statistics_))};
  }

 private:
  std::vector<TensorShape> parameters_, statistics_;
};

ModelTensors mlp(std::int64_t width) {
  Lister list;
  // Stored inputs first, as d2l writes X W + b: the loops then run along rows.
  list.layer("hidden", {pixels, width}, width);
  list.layer("output", {width, outputs}, outputs);
  return list.result();
}

ModelTensors lenet() {
  Lister list;
  list.convolution("conv1", 1, 20, 3);
  list.convolution("conv2", 20, 50, 5);
  list.dense("fc1", 800, 128);
  list.dense("fc2", 128, outputs);
  return list.result();
}

ModelTensors resnet18(std::int64_t width) {
  Lister list;
  list.convolution("conv1", 1, width, 3);
  list.batch_norm("bn1", width);
  std::int64_t in = width;
  for (int stage = 1; stage <= 4; ++stage) {
    const std::int64_t out = width << (stage - 1);
    for (int block = 0; block < 2; ++block) {
      const auto name = fmt::format("layer{}.{}", stage, block);
      list.convolution(name + ".conv1", in, out, 3);
      list.batch_norm(name + ".bn1", out);
      list.convolution(name + ".conv2", out, out, 3);
      list.batch_norm(name + ".bn2", out);
      if (in != out) list.convolution(name + ".shortcut", in, out, 1);
      in = out;
    }
  }
  list.dense("fc", in, outputs);
  return list.result();
}

}  // namespace

std::string_view to_string(Model model) { return names[static_cast<std::size_t>(model)]; }

std::optional<Model> parse_model(std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<Model>(i);
  return std::nullopt;
}

std::span<const std::string_view> model_names() { return names; }

void check(const ModelSettings& settings) {
  constexpr int widest = 4096;
  if (settings.model == Model::lenet && settings.width != 0)
    throw Error(ErrorCode::invalid_argument, "lenet has no width to choose");
  if (settings.width < 0 || settings.width > widest)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a width is 1 to {}, got {}", widest, settings.width));
  if (settings.precision != ElementType::float32 && settings.precision != ElementType::float64)
    throw Error(ErrorCode::invalid_argument, "models compute in float32 or float64");
}

int width_of(const ModelSettings& settings) {
  if (settings.width != 0) return settings.width;
  return settings.model == Model::mlp ? 256 : settings.model == Model::resnet18 ? 64 : 0;
}

double textbook_rate(Model model) { return model == Model::lenet ? 0.2 : 0.1; }

bool needs_torch(Model model) { return model != Model::mlp; }

bool has_batch_norm(Model model) { return model == Model::resnet18; }

ModelTensors tensors_of(const ModelSettings& settings) {
  check(settings);
  switch (settings.model) {
    case Model::mlp:
      return mlp(width_of(settings));
    case Model::lenet:
      return lenet();
    case Model::resnet18:
      return resnet18(width_of(settings));
  }
  throw Error(ErrorCode::internal, "no such model");
}

}  // namespace ringside::trainer
