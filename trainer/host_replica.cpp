// SPDX-License-Identifier: MIT
#include "ringside/trainer/host_replica.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>

#include "ringside/collectives/reduction/element.hpp"
#include "ringside/trainer/random.hpp"

namespace ringside::trainer {
namespace {

template <class T>
void begin(const TensorLayout& layout, const Memory& memory, std::uint64_t seed) {
  for (std::size_t tensor = 0; tensor < layout.size(); ++tensor) {
    const std::span<T> numbers = memory.part(layout.extent(tensor)).as<T>();
    switch (layout[tensor].beginning) {
      case Beginning::zeros:
        break;
      case Beginning::ones:
        std::fill(numbers.begin(), numbers.end(), T{1});
        break;
      case Beginning::normal: {
        // A stream for each tensor: a model keeps its weights when another part of it changes.
        Random random(seed, tensor);
        for (T& number : numbers) number = static_cast<T>(initial_spread * random.normal());
      }
    }
  }
}

/// Cross-entropy of one sample's outputs, with the largest output taken off first so that no
/// exponential overflows.
template <class T>
double cross_entropy(std::span<const T> outputs, std::size_t label, std::span<T> gradient) {
  const T largest = *std::max_element(outputs.begin(), outputs.end());
  double sum = 0;
  for (const T output : outputs) sum += std::exp(static_cast<double>(output - largest));
  for (std::size_t i = 0; i < gradient.size(); ++i)
    gradient[i] = static_cast<T>(std::exp(static_cast<double>(outputs[i] - largest)) / sum -
                                 (i == label ? 1.0 : 0.0));
  return std::log(sum) - static_cast<double>(outputs[label] - largest);
}

template <class T>
Loss loss_of(const Memory& outputs, std::span<const std::uint8_t> labels, const Memory& gradient) {
  Loss loss;
  const std::span<const T> all = outputs.as<T>();
  const std::span<T> gradients = gradient.elements == 0 ? std::span<T>() : gradient.as<T>();
  for (std::size_t sample = 0; sample < labels.size(); ++sample) {
    const auto own = all.subspan(sample * classes, classes);
    const std::size_t label = labels[sample];
    loss.sum += cross_entropy(
        own, label, gradients.empty() ? gradients : gradients.subspan(sample * classes, classes));
    const auto largest = std::max_element(own.begin(), own.end()) - own.begin();
    loss.correct += static_cast<std::size_t>(largest) == label ? 1 : 0;
  }
  return loss;
}

template <class T>
void narrow_of(const Memory& from, const Memory& to) {
  const std::span<const T> wide = from.as<T>();
  const std::span<bfloat16> narrow = to.as<bfloat16>();
  for (std::size_t i = 0; i < wide.size(); ++i)
    narrow[i] = isa_default::to_bfloat16(static_cast<float>(wide[i]));
}

template <class T>
void add_of(const Memory& from, const Memory& to) {
  const std::span<const T> numbers = from.as<T>();
  const std::span<T> sum = to.as<T>();
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += numbers[i];
}

template <class T>
void widen_of(const Memory& from, const Memory& to) {
  const std::span<const bfloat16> narrow = from.as<bfloat16>();
  const std::span<T> wide = to.as<T>();
  for (std::size_t i = 0; i < wide.size(); ++i)
    wide[i] = static_cast<T>(isa_default::to_float32(narrow[i]));
}

template <class T>
void transpose_of(const Memory& from, std::size_t rows, const Memory& to) {
  const std::span<const T> matrix = from.as<T>();
  const std::span<T> transposed = to.as<T>();
  const std::size_t columns = matrix.size() / std::max<std::size_t>(rows, 1);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column)
      transposed[column * rows + row] = matrix[row * columns + column];
}

}  // namespace

void HostReplica::Free::operator()(void* memory) const {
  std::free(memory);  // NOLINT(cppcoreguidelines-no-malloc): of aligned_alloc
}

HostReplica::HostReplica(const ModelSettings& settings) : tensors_(tensors_of(settings)) {
  parameters_ = allocate(tensors_.parameters.elements(), settings.precision);
  statistics_ = allocate(tensors_.statistics.elements(), settings.precision);
  if (settings.precision == ElementType::float64) {
    begin<double>(tensors_.parameters, parameters_, settings.seed);
    begin<double>(tensors_.statistics, statistics_, settings.seed);
  } else {
    begin<float>(tensors_.parameters, parameters_, settings.seed);
    begin<float>(tensors_.statistics, statistics_, settings.seed);
  }
}

Memory HostReplica::gradients() {
  if (handing_over_) return {nullptr, 0, parameters_.type};
  if (gradients_.elements == 0) gradients_ = allocate(parameters_.elements, parameters_.type);
  return gradients_;
}

Memory HostReplica::gradient(std::size_t tensor) {
  const Extent extent = tensors_.parameters.extent(tensor);
  if (!handing_over_) return gradients().part(extent);
  handed_over_.resize(tensors_.parameters.size());
  Memory& own = handed_over_[tensor];
  if (own.elements == 0) own = allocate(extent.length, parameters_.type);
  return own;
}

void HostReplica::tell(const GradientReady& ready, std::size_t tensor) {
  if (ready) ready(tensor);
  if (!handing_over_) return;
  release(handed_over_[tensor]);
  handed_over_[tensor] = {};
}

void HostReplica::keep_velocity() {
  if (velocity_.elements == 0) velocity_ = allocate(parameters_.elements, parameters_.type);
}

std::unique_ptr<Section> HostReplica::section(const SectionSettings& /*settings*/) {
  throw Error(ErrorCode::unsupported, "this engine computes whole models only");
}

Loss HostReplica::loss(Memory outputs, std::span<const std::uint8_t> labels, Memory gradient) {
  return outputs.type == ElementType::float64 ? loss_of<double>(outputs, labels, gradient)
                                              : loss_of<float>(outputs, labels, gradient);
}

void HostReplica::clear_gradients() { clear(gradients_); }

void HostReplica::update(Memory parameters, Memory gradients, Memory velocity,
                         const SgdStep& step) {
  trainer::update(parameters, gradients, velocity, step);
}

void HostReplica::narrow(Memory from, Memory to) {
  if (from.type == ElementType::float64)
    narrow_of<double>(from, to);
  else
    narrow_of<float>(from, to);
}

void HostReplica::widen(Memory from, Memory to) {
  if (to.type == ElementType::float64)
    widen_of<double>(from, to);
  else
    widen_of<float>(from, to);
}

void HostReplica::copy(Memory from, Memory to) {
  if (from.elements != 0) std::memcpy(to.data, from.data, from.bytes());
}

void HostReplica::add(Memory from, Memory to) {
  if (to.type == ElementType::float64)
    add_of<double>(from, to);
  else
    add_of<float>(from, to);
}

void HostReplica::clear(Memory memory) {
  if (memory.elements != 0) std::memset(memory.data, 0, memory.bytes());
}

Memory HostReplica::allocate(std::size_t elements, ElementType type) {
  constexpr std::size_t alignment = 64;
  const std::size_t bytes = (elements * size_of(type) + alignment - 1) / alignment * alignment;
  if (bytes == 0) return {nullptr, 0, type};
  std::unique_ptr<void, Free> memory(std::aligned_alloc(alignment, bytes));
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory.get(), 0, bytes);
  allocated_ += bytes;
  most_allocated_ = std::max(most_allocated_, allocated_);
  owned_.push_back({std::move(memory), bytes});
  return {owned_.back().memory.get(), elements, type};
}

void HostReplica::release(Memory memory) {
  const auto own = std::find_if(owned_.begin(), owned_.end(),
                                [&](const Owned& it) { return it.memory.get() == memory.data; });
  if (own == owned_.end()) return;
  allocated_ -= own->bytes;
  owned_.erase(own);
}

void HostReplica::transpose(Memory from, std::size_t rows, Memory to) {
  if (from.type == ElementType::float64)
    transpose_of<double>(from, rows, to);
  else
    transpose_of<float>(from, rows, to);
}

void HostReplica::copy_to_host(Memory from, std::span<std::byte> to) {
  if (!to.empty()) std::memcpy(to.data(), from.data, to.size());
}

void HostReplica::copy_from_host(std::span<const std::byte> from, Memory to) {
  if (!from.empty()) std::memcpy(to.data, from.data(), from.size());
}

}  // namespace ringside::trainer
