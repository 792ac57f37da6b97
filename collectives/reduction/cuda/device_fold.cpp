// SPDX-License-Identifier: MIT
/// Chooses the kernel of a fold, cuts its run and sizes its grid.
#include "ringside/collectives/reduction/cuda/device_fold.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string>

#include "ringside/base/error.hpp"
#include "ringside/collectives/reduction/checksum.hpp"
#include "ringside/collectives/reduction/cuda/checksum_kernel.hpp"
#include "ringside/collectives/reduction/element.hpp"

namespace ringside::cuda {
namespace {

// ---- The grid -----------------------------------------------------------------------------------

/// Streaming multiprocessors of the current device.
cudaError_t current_multiprocessors(unsigned& count) {
  static std::array<std::atomic<int>, 64> known{};
  int device = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) return error;
  const auto slot = static_cast<std::size_t>(device);
  int found = slot < known.size() ? known[slot].load(std::memory_order_relaxed) : 0;
  if (found == 0) {
    const cudaError_t error =
        cudaDeviceGetAttribute(&found, cudaDevAttrMultiProcessorCount, device);
    if (error != cudaSuccess) return error;
    if (slot < known.size()) known[slot].store(found, std::memory_order_relaxed);
  }
  count = static_cast<unsigned>(std::max(found, 1));
  return cudaSuccess;
}

/// Blocks that a multiprocessor holds at once, about: the kernels take 40 to 80 registers.
constexpr unsigned resident_blocks = 4;
/// Blocks beyond those at once, so that one multiprocessor's being slower does not matter.
constexpr unsigned waves = 4;

/// Fills in `tiled_items`, and returns the number of blocks. A run too short to give every resident
/// block a tile is spread instead: one item a thread.
unsigned choose_blocks(FoldRun& run, unsigned at_once, std::uint64_t units_in_items,
                       unsigned multiprocessors) {
  const std::uint64_t resident = std::uint64_t{multiprocessors} * resident_blocks;
  const std::uint64_t tile = std::uint64_t{fold_threads} * at_once;
  const std::uint64_t tiles = run.items / tile;
  if (tiles >= resident) {
    run.tiled_items = tiles * tile;
    return static_cast<unsigned>(std::min(tiles, resident * waves));
  }
  const std::uint64_t threads = std::max(run.items, run.units - units_in_items);
  return static_cast<unsigned>(
      std::min((threads + fold_threads - 1) / fold_threads, resident * waves));
}

// ---- How the operands lie -----------------------------------------------------------------------

struct Lie {
  std::size_t first = 0;   ///< the first operand's address
  std::size_t differ = 0;  ///< bits in which others' addresses differ from it
  /// True if all operands lie at the same distance from a multiple of `size`, a power of two.
  [[nodiscard]] bool alike(std::size_t size) const { return (differ & (size - 1)) == 0; }
  [[nodiscard]] bool aligned(std::size_t size) const {
    return alike(size) && (first & (size - 1)) == 0;
  }
};

Lie lie_of(const std::byte* const* sources, std::size_t k, std::byte* const* destinations,
           std::size_t m) {
  Lie lie{.first = reinterpret_cast<std::size_t>(sources[0])};
  for (std::size_t j = 1; j < k; ++j)
    lie.differ |= lie.first ^ reinterpret_cast<std::size_t>(sources[j]);
  for (std::size_t i = 0; i < m; ++i)
    lie.differ |= lie.first ^ reinterpret_cast<std::size_t>(destinations[i]);
  return lie;
}

constexpr std::size_t vector_bytes = 16;

/// The kernel, and what it moves at once.
struct Choice {
  const KernelPair* kernels;
  std::uint32_t at_once;
  std::size_t item_bytes;
};

Choice choose_copy(const Lie& lie) {
  std::size_t word = copy_word_sizes - 1;
  while (!lie.alike(std::size_t{1} << word)) --word;
  const CopyKernels& copies = copy_kernels();
  return {&copies.by_word[word], copies.at_once, std::size_t{1} << word};
}

Choice choose_fold(const TypeKernels& type, FoldKind kind, const Lie& lie) {
  const auto of = [&](const KernelForm& form, std::size_t item_bytes) {
    return Choice{&form.kernels[static_cast<std::size_t>(kind)], form.at_once, item_bytes};
  };
  if (!lie.aligned(type.element_bytes)) return of(type.bytes, type.element_bytes);
  if (lie.alike(vector_bytes)) return of(type.vectors, vector_bytes);
  return of(type.elements, type.element_bytes);
}

/// `units` of `unit_bytes`, in items of `item_bytes` from the first address on that is a multiple
/// of these.
FoldRun cut(std::uint64_t units, std::size_t unit_bytes, std::size_t item_bytes, const Lie& lie) {
  FoldRun run{.units = units};
  if (item_bytes > unit_bytes)
    run.head = std::min<std::uint64_t>(units, ((0 - lie.first) & (item_bytes - 1)) / unit_bytes);
  run.items = (units - run.head) / (item_bytes / unit_bytes);
  return run;
}

// ---- Resolving ----------------------------------------------------------------------------------

template <class T>
const TypeKernels& type_kernels(double scalar, std::uint64_t& scalar_bits) {
  const auto value = isa_default::scalar_as<isa_default::Accumulator<T>>(scalar);
  std::memcpy(&scalar_bits, &value, sizeof(value));
  return kernels_of<T>();
}

const TypeKernels& type_kernels(ElementType type, double scalar, std::uint64_t& scalar_bits) {
  switch (type) {
    case ElementType::int8:
      return type_kernels<std::int8_t>(scalar, scalar_bits);
    case ElementType::uint8:
      return type_kernels<std::uint8_t>(scalar, scalar_bits);
    case ElementType::int32:
      return type_kernels<std::int32_t>(scalar, scalar_bits);
    case ElementType::uint32:
      return type_kernels<std::uint32_t>(scalar, scalar_bits);
    case ElementType::int64:
      return type_kernels<std::int64_t>(scalar, scalar_bits);
    case ElementType::uint64:
      return type_kernels<std::uint64_t>(scalar, scalar_bits);
    case ElementType::float16:
      return type_kernels<float16>(scalar, scalar_bits);
    case ElementType::float32:
      return type_kernels<float>(scalar, scalar_bits);
    case ElementType::float64:
      return type_kernels<double>(scalar, scalar_bits);
    case ElementType::bfloat16:
      return type_kernels<bfloat16>(scalar, scalar_bits);
    case ElementType::float8_e4m3:
      return type_kernels<float8_e4m3>(scalar, scalar_bits);
    case ElementType::float8_e5m2:
      return type_kernels<float8_e5m2>(scalar, scalar_bits);
  }
  throw Error(ErrorCode::internal, "unknown element type");
}

FoldKind kind_of(const ResolvedFold& fold) {
  if (fold.all_raw || fold.raw_mask != 0) return FoldKind::scaled;
  if (fold.divisor != 1) return FoldKind::divided;
  switch (fold.op) {
    case ReduceOp::prod:
      return FoldKind::prod;
    case ReduceOp::max:
      return FoldKind::max;
    case ReduceOp::min:
      return FoldKind::min;
    case ReduceOp::sum:
    case ReduceOp::avg:
    case ReduceOp::premul_sum:
      break;
  }
  return FoldKind::sum;
}

cudaError_t launch_kernel(const void* kernel, unsigned blocks, unsigned threads, void* parameters,
                          cudaStream_t stream) {
  void* arguments[] = {parameters};
  return cudaLaunchKernel(kernel, dim3(blocks), dim3(threads), arguments, 0, stream);
}

}  // namespace

template <std::size_t most, class Submit>
cudaError_t DeviceFold::choose_with(const std::byte* const* sources, std::byte* const* destinations,
                                    std::size_t elements, Submit&& submit) const {
  FoldParameters<most> p;  // operands beyond k + m stay undefined: nobody reads them
  p.raw_mask = raw_mask_;
  p.scalar_bits = scalar_bits_;
  p.divisor = divisor_;
  p.all_raw = all_raw_ ? 1 : 0;
  p.k = k_;
  p.m = m_;
  std::copy_n(sources, k_, p.operands);
  std::copy_n(destinations, m_, p.operands + k_);
  p.bytes = std::uint64_t{elements} * type_->element_bytes;

  const Lie lie = lie_of(sources, k_, destinations, m_);
  const Choice choice = copies_ ? choose_copy(lie) : choose_fold(*type_, kind_, lie);
  const std::size_t unit_bytes = copies_ ? 1 : type_->element_bytes;
  p.run = cut(p.bytes / unit_bytes, unit_bytes, choice.item_bytes, lie);

  unsigned multiprocessors = 0;
  if (const cudaError_t error = current_multiprocessors(multiprocessors); error != cudaSuccess)
    return error;
  const unsigned blocks = choose_blocks(
      p.run, choice.at_once, p.run.items * (choice.item_bytes / unit_bytes), multiprocessors);
  const void* const kernel = most == few_fold_operands ? choice.kernels->few : choice.kernels->many;
  return submit(kernel, blocks, &p);
}

template <class Submit>
cudaError_t DeviceFold::choose(const std::byte* const* sources, std::byte* const* destinations,
                               std::size_t elements, Submit&& submit) const {
  if (k_ + m_ <= few_fold_operands)
    return choose_with<few_fold_operands>(sources, destinations, elements, submit);
  return choose_with<most_fold_operands>(sources, destinations, elements, submit);
}

cudaError_t DeviceFold::launch(const std::byte* const* sources, std::byte* const* destinations,
                               std::size_t elements, cudaStream_t stream) const {
  if (elements == 0) return cudaSuccess;
  return choose(sources, destinations, elements,
                [&](const void* kernel, unsigned blocks, void* parameters) {
                  return launch_kernel(kernel, blocks, fold_threads, parameters, stream);
                });
}

cudaError_t DeviceFold::add_node(cudaGraph_t graph, const cudaGraphNode_t* after, std::size_t count,
                                 const std::byte* const* sources, std::byte* const* destinations,
                                 std::size_t elements, cudaGraphNode_t* node) const {
  if (elements == 0) return cudaErrorInvalidValue;
  return choose(sources, destinations, elements,
                [&](const void* kernel, unsigned blocks, void* parameters) {
                  void* arguments[] = {parameters};
                  cudaKernelNodeParams kernel_node{};
                  kernel_node.func = const_cast<void*>(kernel);
                  kernel_node.gridDim = dim3(blocks);
                  kernel_node.blockDim = dim3(fold_threads);
                  kernel_node.kernelParams = arguments;
                  return cudaGraphAddKernelNode(node, graph, after, count, &kernel_node);
                });
}

DeviceFold resolve_device_fold(const FoldShape& shape) {
  const ResolvedFold resolved = resolve_fold(shape).resolved();
  if (shape.k > most_fold_operands || shape.m > most_fold_operands - shape.k)
    throw Error(ErrorCode::unsupported,
                "one kernel folds at most " + std::to_string(most_fold_operands) +
                    " sources and destinations together, not " + std::to_string(shape.k) + " and " +
                    std::to_string(shape.m));
  DeviceFold fold;
  fold.type_ = &type_kernels(resolved.type, resolved.scalar, fold.scalar_bits_);
  fold.kind_ = kind_of(resolved);
  fold.all_raw_ = resolved.all_raw;
  fold.divisor_ = resolved.divisor;
  fold.k_ = static_cast<std::uint32_t>(resolved.k);
  fold.m_ = static_cast<std::uint32_t>(resolved.m);
  fold.raw_mask_ = resolved.raw_mask;
  fold.copies_ =
      resolved.k == 1 && fold.kind_ != FoldKind::scaled && fold.kind_ != FoldKind::divided;
  return fold;
}

cudaError_t launch_checksum(const std::byte* data, std::size_t bytes, std::uint64_t* sum,
                            cudaStream_t stream) {
  unsigned multiprocessors = 0;
  if (const cudaError_t error = current_multiprocessors(multiprocessors); error != cudaSuccess)
    return error;
  const std::uint64_t words = bytes / checksum_word_bytes + 1;
  const auto blocks = static_cast<unsigned>(std::min<std::uint64_t>(
      (words + fold_threads - 1) / fold_threads, std::uint64_t{multiprocessors} * resident_blocks));
  ChecksumParameters p;
  p.data = data;
  p.bytes = bytes;
  p.sum = sum;
  return launch_kernel(checksum_kernel(), blocks, fold_threads, &p, stream);
}

cudaError_t launch_spin(std::uint64_t cycles, cudaStream_t stream) {
  SpinParameters p{cycles};
  return launch_kernel(spin_kernel(), 1, 1, &p, stream);
}

}  // namespace ringside::cuda
