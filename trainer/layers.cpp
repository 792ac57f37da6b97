// SPDX-License-Identifier: MIT
#include "ringside/trainer/layers.hpp"

#include <algorithm>

#include "ringside/trainer/batch.hpp"

namespace ringside::trainer {
namespace {

/// Lists layers one behind the other.
class Lister {
 public:
  /// `side`: of the image that is convolved to, before it is pooled.
  void convolution(std::size_t out, std::size_t kernel, std::size_t side, std::size_t pool) {
    const std::size_t in = layers_.empty() ? 1 : layers_.back().channels;
    add(out, side / pool, std::uint64_t{in} * kernel * kernel * out * side * side);
  }
  void dense(std::size_t out) {
    const std::size_t in = layers_.empty() ? image_pixels : layers_.back().elements();
    add(out, 1, std::uint64_t{in} * out);
  }
  std::vector<Layer> result() { return std::move(layers_); }

 private:
  void add(std::size_t channels, std::size_t side, std::uint64_t products) {
    const std::size_t tensor = 2 * layers_.size();
    layers_.push_back({tensor, tensor + 1, channels, side, products});
  }
  std::vector<Layer> layers_;
};

std::uint64_t products_of(std::span<const Layer> layers) {
  std::uint64_t sum = 0;
  for (const auto& layer : layers) sum += layer.products;
  return sum;
}

/// What the busiest stage has in the best cut.
std::uint64_t least_most(std::span<const Layer> layers, std::size_t stages) {
  if (stages == 1) return products_of(layers);
  std::uint64_t least = ~std::uint64_t{0};
  for (std::size_t first = 1; first + stages - 1 <= layers.size(); ++first)
    least = std::min(least, std::max(products_of(layers.first(first)),
                                     least_most(layers.subspan(first), stages - 1)));
  return least;
}

}  // namespace

std::vector<Layer> layers_of(const ModelSettings& settings) {
  Lister list;
  switch (settings.model) {
    case Model::mlp:
      list.dense(static_cast<std::size_t>(width_of(settings)));
      list.dense(classes);
      break;
    case Model::lenet:
      list.convolution(20, 3, 26, 2);
      list.convolution(50, 5, 9, 2);
      list.dense(128);
      list.dense(classes);
      break;
    case Model::resnet18:
      break;
  }
  return list.result();
}

Extent channels_in(const TensorLayout& layout, std::size_t tensor, const Extent& channels) {
  const Extent whole = layout.extent(tensor);
  const std::size_t row = whole.length / static_cast<std::size_t>(layout[tensor].sizes.front());
  return {whole.offset + channels.offset * row, channels.length * row};
}

std::vector<Extent> stages_of(std::span<const Layer> layers, std::size_t stages) {
  const std::uint64_t most = least_most(layers, stages);
  std::vector<Extent> cut;
  std::size_t first = 0;
  for (; stages > 0; --stages) {
    // As many layers as fit, as long as every later stage gets one.
    std::size_t count = stages == 1 ? layers.size() - first : 1;
    while (stages > 1 && layers.size() - first - count >= stages &&
           products_of(layers.subspan(first, count + 1)) <= most)
      ++count;
    cut.push_back({first, count});
    first += count;
  }
  return cut;
}

}  // namespace ringside::trainer
