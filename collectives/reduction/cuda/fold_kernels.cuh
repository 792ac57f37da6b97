// SPDX-License-Identifier: MIT
/// The fold kernels, and the table of them by type. Included by the .cu files, each of which makes
/// the kernels of a few types.
///
/// A destination may be a source, and sources may be a peer's memory: nothing here is __restrict__
/// or read past the coherent caches. An element is read from all sources and then written, by one
/// thread, so runs may be the same. Kernels do not depend on how many blocks and threads they get.
///
/// Kernels are named alike by nvcc and by the host compiler (which makes the test double's): no
/// unnamed namespaces and no constraints here.
#pragma once

#include "ringside/collectives/reduction/cuda/device_element.cuh"
#include "ringside/collectives/reduction/cuda/fold_kernels.hpp"

#ifdef __CUDACC__
/// A kernel as cudaLaunchKernel takes it. (A host compiler's header defines it for the double.)
#define RINGSIDE_KERNEL(...) reinterpret_cast<const void*>(&__VA_ARGS__)
#endif

namespace ringside::cuda {

// ---- The arithmetic -----------------------------------------------------------------------------

template <FoldKind kind, class A>
[[nodiscard]] __device__ inline A combine(A a, A b) {
  if constexpr (kind == FoldKind::prod) {
    return Prod::combine(a, b);
  } else if constexpr (kind == FoldKind::max) {
    return Max::combine(a, b);
  } else if constexpr (kind == FoldKind::min) {
    return Min::combine(a, b);
  } else {
    return Sum::combine(a, b);
  }
}

/// The value whose bytes begin the word.
template <class A>
[[nodiscard]] __device__ inline A scalar_of(std::uint64_t bits) {
  if constexpr (sizeof(A) == sizeof(std::uint64_t)) {
    return __builtin_bit_cast(A, bits);
  } else if constexpr (sizeof(A) == sizeof(std::uint32_t)) {
    return __builtin_bit_cast(A, static_cast<std::uint32_t>(bits));
  } else {
    return static_cast<A>(bits);
  }
}

/// What source j is multiplied by; times 1 is exact.
template <class A, std::size_t most>
[[nodiscard]] __device__ inline A scale(const FoldParameters<most>& p, std::uint32_t j) {
  const bool raw = p.all_raw != 0 || (j < 64 && ((p.raw_mask >> j) & 1U) != 0);
  return raw ? scalar_of<A>(p.scalar_bits) : A{1};
}

/// `items` items of every source, `stride` items apart, from `offset` bytes on, folded and stored.
/// The loads of a source are all issued before the first is used, and those of the next source
/// before the fold of this one.
template <class T, FoldKind kind, class Form, unsigned items, std::size_t most>
__device__ inline void fold_items(const FoldParameters<most>& p, std::uint64_t offset,
                                  std::uint64_t stride) {
  using A = Accumulator<T>;
  using Packed = typename Form::Packed;
  constexpr unsigned lanes = Form::lanes;
  stride *= sizeof(Packed);

  const auto load = [&](Packed(&into)[items], std::uint32_t j) {
    const std::byte* const from = p.operands[j] + offset;
#pragma unroll
    for (unsigned i = 0; i < items; ++i) into[i] = Form::load(from + i * stride);
  };
  const auto unpack = [&](Packed packed, std::uint32_t j, A(&values)[lanes]) {
    Form::unpack(packed, values);
    if constexpr (kind == FoldKind::scaled) {
#pragma unroll
      for (unsigned lane = 0; lane < lanes; ++lane)
        values[lane] = Prod::combine(values[lane], scale<A>(p, j));
    }
  };

  Packed loaded[items];
  Packed next[items];
  A folded[items][lanes];
  load(loaded, 0);
  if (p.k > 1) load(next, 1);
#pragma unroll
  for (unsigned i = 0; i < items; ++i) unpack(loaded[i], 0, folded[i]);
#pragma unroll 1
  for (std::uint32_t j = 1; j < p.k; ++j) {
#pragma unroll
    for (unsigned i = 0; i < items; ++i) loaded[i] = next[i];
    if (j + 1 < p.k) load(next, j + 1);
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      A values[lanes];
      unpack(loaded[i], j, values);
#pragma unroll
      for (unsigned lane = 0; lane < lanes; ++lane)
        folded[i][lane] = combine<kind>(folded[i][lane], values[lane]);
    }
  }
#pragma unroll
  for (unsigned i = 0; i < items; ++i) {
    if constexpr (kind == FoldKind::divided) {
#pragma unroll
      for (unsigned lane = 0; lane < lanes; ++lane)
        folded[i][lane] = divide(folded[i][lane], p.divisor);
    }
    loaded[i] = Form::pack(folded[i]);
  }
#pragma unroll 1
  for (std::uint32_t j = p.k; j < p.k + p.m; ++j) {
    std::byte* const to = const_cast<std::byte*>(p.operands[j]) + offset;
#pragma unroll
    for (unsigned i = 0; i < items; ++i) Form::store(to + i * stride, loaded[i]);
  }
}

// ---- The ways through a run ---------------------------------------------------------------------

/// Calls `at_items(count, first item, stride)` for the items of this thread, and `at_unit(unit)`
/// for its units that are in no item. `unit_items`: units of an item.
template <unsigned at_once, class AtItems, class AtUnit>
__device__ inline void walk(const FoldRun& run, unsigned unit_items, const AtItems& at_items,
                            const AtUnit& at_unit) {
  if constexpr (at_once > 1) {
    const std::uint64_t tile = std::uint64_t{blockDim.x} * at_once;
#pragma unroll 1
    for (std::uint64_t first = blockIdx.x * tile; first < run.tiled_items;
         first += gridDim.x * tile)
      at_items(std::integral_constant<unsigned, at_once>{}, first + threadIdx.x, blockDim.x);
  }

  const std::uint64_t thread = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
#pragma unroll 1
  for (std::uint64_t item = (at_once > 1 ? run.tiled_items : 0) + thread; item < run.items;
       item += threads)
    at_items(std::integral_constant<unsigned, 1>{}, item, 0);

  const std::uint64_t in_items = run.items * unit_items;
#pragma unroll 1
  for (std::uint64_t unit = thread; unit < run.units - in_items; unit += threads)
    at_unit(unit < run.head ? unit : unit + in_items);
}

/// Blocks that a multiprocessor shall hold at once, which bounds registers: enough bytes on their
/// way, without spills.
template <class T, FoldKind kind>
[[nodiscard]] constexpr unsigned fewest_blocks() {
  if (sizeof(T) == 1) return 2;
  if (sizeof(T) == 2) return kind == FoldKind::scaled ? 2 : 3;
  return kind == FoldKind::divided ? 3 : 4;
}

/// Folds of many operands have enough to wait for in single items; less code.
template <class Form, std::size_t most>
inline constexpr unsigned items_at_once = most == few_fold_operands ? Form::at_once : 1;

template <class T, FoldKind kind, class Form, std::size_t most>
__device__ inline void fold_run(const FoldParameters<most>& p) {
  walk<items_at_once<Form, most>>(
      p.run, Form::lanes,
      [&](auto items, std::uint64_t first, std::uint64_t stride) {
        const std::uint64_t offset = p.run.head * sizeof(T) + first * sizeof(typename Form::Packed);
        fold_items<T, kind, Form, decltype(items)::value>(p, offset, stride);
      },
      [&](std::uint64_t unit) {
        // Forms of single elements have all of them in items.
        if constexpr (Form::lanes > 1) fold_items<T, kind, Elements<T>, 1>(p, unit * sizeof(T), 0);
      });
}

template <class T, FoldKind kind, std::size_t most>
__global__ void __launch_bounds__(fold_threads, fewest_blocks<T, kind>())
    fold_vectors(const __grid_constant__ FoldParameters<most> p) {
  fold_run<T, kind, Vectors<T>>(p);
}

template <class T, FoldKind kind, std::size_t most>
__global__ void __launch_bounds__(fold_threads, fewest_blocks<T, kind>())
    fold_elements(const __grid_constant__ FoldParameters<most> p) {
  fold_run<T, kind, Elements<T>>(p);
}

template <class T, FoldKind kind, std::size_t most>
__global__ void __launch_bounds__(fold_threads, fewest_blocks<T, kind>())
    fold_bytes(const __grid_constant__ FoldParameters<most> p) {
  fold_run<T, kind, Bytes<T>>(p);
}

// ---- The table ----------------------------------------------------------------------------------

/// The kernels of one kind, which read and write T.
template <class T, FoldKind kind>
void add_kernels(TypeKernels& table) {
  constexpr auto at = static_cast<std::size_t>(kind);
  table.vectors.kernels[at] = {RINGSIDE_KERNEL(fold_vectors<T, kind, few_fold_operands>),
                               RINGSIDE_KERNEL(fold_vectors<T, kind, most_fold_operands>)};
  table.elements.kernels[at] = {RINGSIDE_KERNEL(fold_elements<T, kind, few_fold_operands>),
                                RINGSIDE_KERNEL(fold_elements<T, kind, most_fold_operands>)};
  if constexpr (sizeof(T) > 1)
    table.bytes.kernels[at] = {RINGSIDE_KERNEL(fold_bytes<T, kind, few_fold_operands>),
                               RINGSIDE_KERNEL(fold_bytes<T, kind, most_fold_operands>)};
}

template <class T>
TypeKernels make_kernels() {
  using Modular = typename ModularOf<T>::type;
  TypeKernels table;
  table.element_bytes = sizeof(T);
  table.vectors.at_once = Vectors<T>::at_once;
  table.elements.at_once = Elements<T>::at_once;
  table.bytes.at_once = Bytes<T>::at_once;
  add_kernels<Modular, FoldKind::sum>(table);
  add_kernels<Modular, FoldKind::prod>(table);
  add_kernels<T, FoldKind::max>(table);
  add_kernels<T, FoldKind::min>(table);
  add_kernels<T, FoldKind::divided>(table);
  add_kernels<Modular, FoldKind::scaled>(table);
  return table;
}

template <class T>
const TypeKernels& kernels_of() {
  static const TypeKernels table = make_kernels<T>();
  return table;
}

}  // namespace ringside::cuda
