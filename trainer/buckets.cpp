// SPDX-License-Identifier: MIT
#include "ringside/trainer/buckets.hpp"

#include <algorithm>

namespace ringside::trainer {
namespace {

constexpr std::uint64_t largest_by_default = std::uint64_t{25} << 20U;
/// LeNet in eighths: the dense layers (80 % of the bytes), conv2, conv1, which are ready after
/// about 28, 70 and 100 % of the backward pass; ResNet-18: eight buckets, the first two of stage 4.
constexpr std::uint64_t parts_by_default = 8;
/// Four runs under way are then an eighth of the gradients.
constexpr std::uint64_t runs_by_default = 32;

std::uint64_t default_size(std::uint64_t all, std::uint64_t parts) {
  return std::max<std::uint64_t>(std::min(all / parts, largest_by_default), 1);
}

}  // namespace

std::vector<Bucket> make_buckets(const TensorLayout& gradients, ElementType type,
                                 const BucketSizes& sizes) {
  const std::uint64_t all = gradients.elements() * size_of(type);
  const std::uint64_t limit = sizes.bytes != 0 ? sizes.bytes : default_size(all, parts_by_default);
  std::vector<Bucket> buckets;
  bool full = true;
  for (std::size_t tensor = gradients.size(); tensor-- > 0;) {
    const Extent own = gradients.extent(tensor);
    if (full) buckets.push_back({tensor, tensor, own});
    Bucket& bucket = buckets.back();
    bucket.extent.length = bucket.extent.offset + bucket.extent.length - own.offset;
    bucket.extent.offset = own.offset;
    bucket.first = tensor;
    const std::uint64_t own_limit =
        buckets.size() == 1 && sizes.first_bytes != 0 ? sizes.first_bytes : limit;
    full = bucket.extent.length * size_of(type) >= own_limit;
  }
  return buckets;
}

std::vector<Extent> make_runs(std::size_t elements, ElementType type, const BucketSizes& sizes) {
  const auto length_of = [type](std::uint64_t bytes) {
    return static_cast<std::size_t>((bytes + size_of(type) - 1) / size_of(type));
  };
  const std::uint64_t all = elements * size_of(type);
  const std::size_t length =
      length_of(sizes.bytes != 0 ? sizes.bytes : default_size(all, runs_by_default));
  std::vector<Extent> runs;
  for (std::size_t left = elements; left > 0;) {
    const std::size_t wanted =
        runs.empty() && sizes.first_bytes != 0 ? length_of(sizes.first_bytes) : length;
    const std::size_t own = std::min(wanted, left);
    left -= own;
    runs.push_back({left, own});
  }
  return runs;
}

}  // namespace ringside::trainer
