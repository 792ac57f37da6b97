// SPDX-License-Identifier: MIT
/// The kernel that copies one source to all destinations byte for byte, and the one that spins.
#include "ringside/collectives/reduction/cuda/fold_kernels.cuh"

namespace ringside::cuda {

inline constexpr unsigned copies_at_once = 4;

/// `count` words, `stride` words apart.
template <class Word, unsigned count, std::size_t most>
__device__ inline void copy_words_at(const FoldParameters<most>& p, std::uint64_t offset,
                                     std::uint64_t stride) {
  stride *= sizeof(Word);
  Word words[count];
  const std::byte* const from = p.operands[0] + offset;
#pragma unroll
  for (unsigned i = 0; i < count; ++i) words[i] = *reinterpret_cast<const Word*>(from + i * stride);
#pragma unroll 1
  for (std::uint32_t j = 1; j <= p.m; ++j) {
    std::byte* const to = const_cast<std::byte*>(p.operands[j]) + offset;
#pragma unroll
    for (unsigned i = 0; i < count; ++i) *reinterpret_cast<Word*>(to + i * stride) = words[i];
  }
}

template <class Word, std::size_t most>
__global__ void __launch_bounds__(fold_threads)
    copy_words(const __grid_constant__ FoldParameters<most> p) {
  walk<copies_at_once>(
      p.run, sizeof(Word),
      [&](auto count, std::uint64_t first, std::uint64_t stride) {
        copy_words_at<Word, decltype(count)::value>(p, p.run.head + first * sizeof(Word), stride);
      },
      [&](std::uint64_t unit) {
        if constexpr (sizeof(Word) > 1) copy_words_at<std::uint8_t, 1>(p, unit, 0);
      });
}

template <class Word>
KernelPair copies_by() {
  return {RINGSIDE_KERNEL(copy_words<Word, few_fold_operands>),
          RINGSIDE_KERNEL(copy_words<Word, most_fold_operands>)};
}

const CopyKernels& copy_kernels() {
  static const CopyKernels table = {
      {copies_by<std::uint8_t>(), copies_by<std::uint16_t>(), copies_by<std::uint32_t>(),
       copies_by<std::uint64_t>(), copies_by<uint4>()},
      copies_at_once};
  return table;
}

__global__ void spin(const __grid_constant__ SpinParameters p) {
  const auto start = static_cast<std::uint64_t>(clock64());
  while (static_cast<std::uint64_t>(clock64()) - start < p.cycles) {
  }
}

const void* spin_kernel() { return RINGSIDE_KERNEL(spin); }

}  // namespace ringside::cuda
