// SPDX-License-Identifier: MIT
/// The fold kernels: one source, compiled once per instruction set by kernels_*.cpp, which define
/// RINGSIDE_ISA_NAMESPACE. The loops (passes.inl) are plain ones that the compiler vectorises; only
/// float16 conversion and non-temporal stores name instructions.
///
/// Nothing here may be shared between the builds: no functions of the standard library, and all of
/// it in a namespace of the build (see element.hpp).
#pragma once

#include "ringside/collectives/reduction/passes.inl"

namespace ringside::RINGSIDE_ISA_NAMESPACE {
namespace {

// ---- Storing whole blocks -----------------------------------------------------------------------

constexpr std::size_t cache_line = 64;

typedef std::uint64_t Vector __attribute__((vector_size(vector_bytes)));

/// A non-temporal store; `to` is aligned to the vector.
inline void stream_vector(std::byte* to, Vector value) {
#if defined(__AVX512F__)
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), (__m512i)value);
#elif defined(__AVX2__)
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to), (__m256i)value);
#elif defined(__SSE2__)
  _mm_stream_si128(reinterpret_cast<__m128i*>(to), (__m128i)value);
#else
  store_as(to, value);
#endif
}

inline std::size_t bytes_to_line(const std::byte* address) {
  return (cache_line - reinterpret_cast<std::uintptr_t>(address) % cache_line) % cache_line;
}

/// Copies runs of 1 to 4 KiB forwards; others by memcpy. GNU's memcpy walks runs of that length
/// backwards if both addresses lie alike in their pages (to avoid false dependencies), which
/// hardware prefetching does not follow: measured 8 GB/s instead of 33 from memory (glibc 2.36,
/// Zen 4), and the same speed as this loop in caches.
inline void copy_run(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::size_t done = 0;
  if (bytes >= 1024 && bytes < 4096) {
    for (; done + vector_bytes <= bytes; done += vector_bytes)
      store_as(to + done, load_as<Vector>(from + done));
  }
  __builtin_memcpy(to + done, from + done, bytes - done);
}

/// Copies past the caches: whole lines with non-temporal stores, what is left of a line normally.
void stream(std::byte* to, const std::byte* from, std::size_t bytes) {
  const std::size_t to_line = bytes_to_line(to);
  std::size_t done = to_line < bytes ? to_line : bytes;
  __builtin_memcpy(to, from, done);
  const std::size_t lines = (bytes - done) / cache_line * cache_line;
  for (const std::size_t end = done + lines; done < end; done += vector_bytes)
    stream_vector(to + done, load_as<Vector>(from + done));
  __builtin_memcpy(to + done, from + done, bytes - done);
}

/// Non-temporal stores are weakly ordered: without this a later flag could be seen before them.
inline void stream_fence() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

inline void deliver(const KernelCall& call, std::size_t offset, const std::byte* from,
                    std::size_t bytes, bool streams) {
  for (std::size_t i = 0; i < call.m; ++i) {
    std::byte* const to = call.destinations[i] + offset;
    if (to == from) continue;
    if (streams) {
      stream(to, from, bytes);
    } else {
      copy_run(to, from, bytes);
    }
  }
}

inline bool streams(const KernelCall& call, std::size_t bytes) {
  return call.streaming && bytes >= streaming_threshold_bytes;
}

// ---- The shapes ---------------------------------------------------------------------------------

/// k = 1 with nothing to compute.
void copy(const KernelCall& call, std::size_t element_bytes) {
  const std::size_t bytes = call.elements * element_bytes;
  const bool streaming = streams(call, bytes);
  const std::byte* const from = call.sources[0];
  // Several destinations: in pieces, so that the source comes from memory once.
  const std::size_t piece = call.m == 1 ? bytes : multicast_piece_bytes;
  for (std::size_t done = 0; done < bytes; done += piece)
    deliver(call, done, from + done, bytes - done < piece ? bytes - done : piece, streaming);
  if (streaming) stream_fence();
}

template <class T, class Op, std::size_t K>
inline void fold_to_block(const KernelCall& call, std::size_t element, std::byte* block,
                          std::size_t n) {
  fold_pass<T, Op, false, K, 1>(advanced<K>(call.sources, element * sizeof(T)), {block}, n, 1);
}

/// The folded elements [element, element + n): their address, in one of the two blocks.
template <class T, class Op, bool scaled>
const std::byte* fold_block(const KernelCall& call, Finish finish, std::size_t element,
                            std::size_t n, Block& accumulators, Block& folded) {
  if (!scaled && call.divisor == 1) {
    switch (call.k) {
      case 2:
        fold_to_block<T, Op, 2>(call, element, folded.bytes, n);
        return folded.bytes;
      case 3:
        fold_to_block<T, Op, 3>(call, element, folded.bytes, n);
        return folded.bytes;
      case 4:
        fold_to_block<T, Op, 4>(call, element, folded.bytes, n);
        return folded.bytes;
      case 8:
        fold_to_block<T, Op, 8>(call, element, folded.bytes, n);
        return folded.bytes;
      default:
        break;
    }
  }
  accumulate_sources<T, Op, scaled>(call, element, accumulators.bytes, n);
  if (finish == nullptr) return accumulators.bytes;
  finish(accumulators.bytes, folded.bytes, n, call.divisor);
  return folded.bytes;
}

template <class T, class Op, bool scaled>
void fold_by_blocks(const KernelCall& call, Finish finish, bool streaming) {
  constexpr std::size_t most = block_elements<T>;
  Block accumulators;
  Block folded;
  // When streaming, the first block ends where a line of the first destination does (if elements
  // can end there at all), so that no later block shares a line with its neighbour.
  std::size_t n = most;
  if (streaming) {
    const std::size_t to_line = bytes_to_line(call.destinations[0]) / sizeof(T);
    if (to_line != 0) n = to_line;
  }
  for (std::size_t element = 0; element < call.elements; element += n, n = most) {
    if (call.elements - element < n) n = call.elements - element;
    const std::byte* const result =
        fold_block<T, Op, scaled>(call, finish, element, n, accumulators, folded);
    deliver(call, element * sizeof(T), result, n * sizeof(T), streaming);
  }
  if (streaming) stream_fence();
}

template <class T, class Op, bool scaled>
void fold_runs(const KernelCall& call, Finish finish) {
  const bool streaming = streams(call, call.elements * sizeof(T));
  if (!scaled && !streaming) {
    if (call.divisor == 1) {
      if (fold_at_once<T, Op, false>(call)) return;
    } else if constexpr (std::is_same_v<Op, Sum> && !std::is_integral_v<T>) {
      if (fold_at_once<T, Op, true>(call)) return;  // gradients are averaged; integers seldom
    }
  }
  fold_by_blocks<T, Op, scaled>(call, finish, streaming);
}

// ---- From run-time to compile-time types --------------------------------------------------------

template <class T>
struct ModularOf {
  using type = T;
};
template <>
struct ModularOf<std::int8_t> {
  using type = std::uint8_t;
};
template <>
struct ModularOf<std::int32_t> {
  using type = std::uint32_t;
};
template <>
struct ModularOf<std::int64_t> {
  using type = std::uint64_t;
};

template <class T>
void run_as(const KernelCall& call) {
  const bool scaled = call.all_raw || call.raw_mask != 0;
  if (call.k == 1 && call.divisor == 1 && !scaled) return copy(call, sizeof(T));
  // Signed integers add and multiply as unsigned ones do; only what follows tells them apart.
  using Modular = typename ModularOf<T>::type;
  const Finish finish = finish_for<T>(call.divisor);
  switch (call.op) {
    case ReduceOp::sum:
    case ReduceOp::avg:
      return fold_runs<Modular, Sum, false>(call, finish);
    case ReduceOp::premul_sum:
      return scaled ? fold_runs<Modular, Sum, true>(call, finish)
                    : fold_runs<Modular, Sum, false>(call, finish);
    case ReduceOp::prod:
      return fold_runs<Modular, Prod, false>(call, finish);
    case ReduceOp::max:
      return fold_runs<T, Max, false>(call, finish);
    case ReduceOp::min:
      return fold_runs<T, Min, false>(call, finish);
  }
}

}  // namespace

void run(const KernelCall& call) {
  switch (call.type) {
    case ElementType::int8:
      return run_as<std::int8_t>(call);
    case ElementType::uint8:
      return run_as<std::uint8_t>(call);
    case ElementType::int32:
      return run_as<std::int32_t>(call);
    case ElementType::uint32:
      return run_as<std::uint32_t>(call);
    case ElementType::int64:
      return run_as<std::int64_t>(call);
    case ElementType::uint64:
      return run_as<std::uint64_t>(call);
    case ElementType::float16:
      return run_as<float16>(call);
    case ElementType::float32:
      return run_as<float>(call);
    case ElementType::float64:
      return run_as<double>(call);
    case ElementType::bfloat16:
      return run_as<bfloat16>(call);
    case ElementType::float8_e4m3:
      return run_as<float8_e4m3>(call);
    case ElementType::float8_e5m2:
      return run_as<float8_e5m2>(call);
  }
}

}  // namespace ringside::RINGSIDE_ISA_NAMESPACE
