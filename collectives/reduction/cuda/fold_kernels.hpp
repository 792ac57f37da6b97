// SPDX-License-Identifier: MIT
/// What the fold kernels take and which there are: between the launches (device_fold.cpp) and the
/// device code (*.cu). Internal.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ringside/collectives/reduction/types.hpp"

namespace ringside::cuda {

/// Sources and destinations of one launch: what fits into 4 KiB of kernel parameters, which every
/// CUDA version and device can take.
inline constexpr std::size_t most_fold_operands = 480;

/// Up to so many, a launch carries a small parameter block.
inline constexpr std::size_t few_fold_operands = 16;

/// Threads of a block. Kernels work with any number that divides it.
inline constexpr unsigned fold_threads = 256;

/// The run as the kernels cut it: `units` (elements; of a copy, bytes) are `head` units, then
/// `items` of what the kernel moves at once (a vector, an element), then what is left.
/// The first `tiled_items` items make whole tiles: of fold_threads threads with `at_once` items
/// each.
struct FoldRun {
  std::uint64_t units = 0;
  std::uint64_t head = 0;
  std::uint64_t items = 0;
  std::uint64_t tiled_items = 0;
};

/// The one parameter of a fold kernel.
template <std::size_t most_operands>
struct FoldParameters {
  FoldRun run;
  std::uint64_t bytes;        ///< of every run: what the kernel reads and writes of each operand
  std::uint64_t raw_mask;     ///< scaled: bit j says that source j is raw
  std::uint64_t scalar_bits;  ///< scaled: the accumulator's bits, from the lowest byte on
  std::int32_t divisor;       ///< divided
  std::uint32_t all_raw;      ///< scaled: not 0 if all sources are raw
  std::uint32_t k;
  std::uint32_t m;
  const std::byte* operands[most_operands];  ///< k sources, then m destinations
};
static_assert(sizeof(FoldParameters<most_fold_operands>) <= 4096);

struct SpinParameters {
  std::uint64_t cycles;
};

/// What a kernel does besides loading and storing. `divided` is a sum, divided before it is stored;
/// `scaled` a sum of which raw sources are multiplied by the scalar first.
enum class FoldKind : std::uint8_t { sum, prod, max, min, divided, scaled };
inline constexpr std::size_t fold_kinds = 6;

/// A kernel for many operands and one for few, as cudaLaunchKernel takes them.
struct KernelPair {
  const void* few = nullptr;
  const void* many = nullptr;
};

/// The same by how the operands lie. `at_once`: items of a thread that are on their way at the same
/// time.
struct KernelForm {
  KernelPair kernels[fold_kinds];
  std::uint32_t at_once = 1;
};

struct TypeKernels {
  std::uint32_t element_bytes = 0;
  KernelForm vectors;   ///< 16-byte vectors; head and rest by elements
  KernelForm elements;  ///< elements aligned to their size
  KernelForm bytes;     ///< elements anywhere (none of one byte)
};

/// Copies in words of 1 << i bytes.
inline constexpr std::size_t copy_word_sizes = 5;
struct CopyKernels {
  KernelPair by_word[copy_word_sizes];
  std::uint32_t at_once = 1;
};

/// Defined in the .cu files, for the storage types of `ElementType`.
template <class T>
const TypeKernels& kernels_of();
const CopyKernels& copy_kernels();
const void* spin_kernel();

}  // namespace ringside::cuda
