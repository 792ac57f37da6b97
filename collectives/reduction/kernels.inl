// SPDX-License-Identifier: MIT
/// The fold kernels: one source, compiled once per instruction set by kernels_*.cpp, which define
/// RINGSIDE_ISA_NAMESPACE: here the choice among the passes (passes.inl) and the ways around them.
///
/// Nothing here may be shared between the builds: no functions of the standard library, and all of
/// it in a namespace of the build (see element.hpp).
#pragma once

#include <utility>

#include "ringside/collectives/reduction/passes.inl"

namespace ringside::RINGSIDE_ISA_NAMESPACE {
namespace {

// ---- Storing whole blocks -----------------------------------------------------------------------

/// True if some of the sources is where the destination is: its lines are in a cache already, and
/// non-temporal stores would only throw them out (measured, Zen 4, k = m = 4, in place: 1.2 times
/// as long from memory, 6 times in caches).
bool is_source(const std::byte* destination, const std::byte* const* sources, std::size_t k) {
  for (std::size_t j = 0; j < k; ++j)
    if (sources[j] == destination) return true;
  return false;
}

void deliver(const ResolvedFold& resolved, const std::byte* const* sources,
             std::byte* const* destinations, std::size_t offset, const std::byte* from,
             std::size_t bytes, bool streams) {
  for (std::size_t i = 0; i < resolved.m; ++i) {
    std::byte* const to = destinations[i] + offset;
    if (to == from) continue;
    if (streams && !is_source(destinations[i], sources, resolved.k)) {
      stream(to, from, bytes);
    } else {
      copy_run(to, from, bytes);
    }
  }
}

inline bool streams(const ResolvedFold& resolved, std::size_t bytes) {
  return resolved.streaming && bytes >= streaming_threshold_bytes;
}

// ---- The ways around a pass ---------------------------------------------------------------------

/// Bytes of a multicast's source that are copied to one destination after the other: a fraction of
/// the smallest first-level cache in use (32 KiB).
constexpr std::size_t multicast_piece_bytes = 8192;

/// k = 1 with nothing to compute.
void copy(const ResolvedFold& resolved, const std::byte* const* sources,
          std::byte* const* destinations, std::size_t elements, std::size_t) {
  const std::size_t bytes = elements * resolved.element_bytes;
  const bool streaming = streams(resolved, bytes);
  const std::byte* const from = sources[0];
  // Several destinations: in pieces, so that the source comes from memory once.
  const std::size_t piece = resolved.m == 1 ? bytes : multicast_piece_bytes;
  for (std::size_t done = 0; done < bytes; done += piece)
    deliver(resolved, sources, destinations, done, from + done,
            bytes - done < piece ? bytes - done : piece, streaming);
  if (streaming) stream_fence();
}

/// Bytes of a block of folded elements on their way to the destinations: from memory, 8 KiB are 10
/// to 20 % slower, and 1 KiB is slower in caches. Measured (Zen 4, k = 5, m = 1).
constexpr std::size_t block_bytes = 2048;

struct alignas(cache_line) Block {
  std::byte bytes[block_bytes];
};

/// Through a block of folded elements in the first-level cache: for non-temporal stores, and where
/// a pass does not divide.
void fold_by_blocks(const ResolvedFold& resolved, const std::byte* const* sources,
                    std::byte* const* destinations, std::size_t elements, std::size_t) {
  const std::size_t bytes = elements * resolved.element_bytes;
  const bool streaming = streams(resolved, bytes);
  Block block;
  std::byte* const to_block = block.bytes;
  // When streaming, the first block ends where a line of the first destination does (if elements
  // can end there at all), so that no later block shares a line with its neighbour.
  std::size_t n = block_bytes / resolved.element_bytes;
  if (streaming) {
    const std::size_t to_line = bytes_to_line(destinations[0]) / resolved.element_bytes;
    if (to_line != 0) n = to_line;
  }
  for (std::size_t element = 0; element < elements;
       element += n, n = block_bytes / resolved.element_bytes) {
    if (elements - element < n) n = elements - element;
    const std::size_t done = element * resolved.element_bytes;
    resolved.pass_to_one(resolved, sources, &to_block, n, done);
    if (resolved.divide != nullptr) resolved.divide(block.bytes, n, resolved.divisor);
    deliver(resolved, sources, destinations, done, block.bytes, n * resolved.element_bytes,
            streaming);
  }
  if (streaming) stream_fence();
}

/// True if the destinations are elements and vectors at the same distance from a line's start.
bool lie_alike(const ResolvedFold& resolved, std::byte* const* destinations) {
  const std::size_t to_line = bytes_to_line(destinations[0]);
  if (to_line % resolved.element_bytes != 0) return false;
  for (std::size_t i = 1; i < resolved.m; ++i)
    if (bytes_to_line(destinations[i]) != to_line) return false;
  return true;
}

/// Whole lines by `pass_streaming`, what is left of a line at both ends by `pass`.
void fold_by_lines(const ResolvedFold& resolved, const std::byte* const* sources,
                   std::byte* const* destinations, std::size_t elements) {
  const std::size_t element_bytes = resolved.element_bytes;
  const std::size_t bytes = elements * element_bytes;
  const std::size_t head = bytes_to_line(destinations[0]);
  const std::size_t lines = (bytes - head) / cache_line * cache_line;
  const std::size_t tail = head + lines;
  resolved.pass_streaming(resolved, sources, destinations, lines / element_bytes, head);
  stream_fence();
  if (head != 0) resolved.pass_skipping(resolved, sources, destinations, head / element_bytes, 0);
  if (tail != bytes)
    resolved.pass_skipping(resolved, sources, destinations, (bytes - tail) / element_bytes, tail);
}

/// Asked to stream: only runs that are long enough, and only to where no source is.
void fold_or_stream(const ResolvedFold& resolved, const std::byte* const* sources,
                    std::byte* const* destinations, std::size_t elements, std::size_t) {
  std::size_t in_place = resolved.m;
  if (streams(resolved, elements * resolved.element_bytes)) {
    in_place = 0;
    for (std::size_t i = 0; i < resolved.m; ++i)
      in_place += is_source(destinations[i], sources, resolved.k) ? 1 : 0;
  }
  if (in_place == resolved.m) return resolved.pass(resolved, sources, destinations, elements, 0);
  if (in_place == 0 && resolved.pass_streaming != nullptr && lie_alike(resolved, destinations))
    return fold_by_lines(resolved, sources, destinations, elements);
  fold_by_blocks(resolved, sources, destinations, elements, 0);
}

// ---- From run-time to compile-time types --------------------------------------------------------

/// The numbers of sources that the algorithms of small groups fold at once get passes of their own.
constexpr bool has_fixed_pass(std::size_t k) { return k == 2 || k == 3 || k == 4 || k == 8; }
constexpr std::size_t most_fixed = 8;

/// The passes of one type and operator by k (0: any other k), to one destination and to k of them.
struct Passes {
  FoldFunction to_one[most_fixed + 1];
  FoldFunction to_k[most_fixed + 1];
  FoldFunction to_any;
  /// Null for narrow floats: their vectors are no whole lines.
  FoldFunction stream_to_one[most_fixed + 1];
  FoldFunction stream_to_k[most_fixed + 1];
  FoldFunction stream_to_any;
  FoldFunction skipping;  ///< to any, behind the destinations' addresses too
};

template <class T, class Op, bool divides, std::size_t K>
constexpr void add_fixed(Passes& passes) {
  if constexpr (has_fixed_pass(K)) {
    passes.to_one[K] = &fold_fixed<T, Op, divides, K, 1>;
    passes.to_k[K] = &fold_fixed<T, Op, divides, K, K>;
    if constexpr (std::is_floating_point_v<T>) {  // others are seldom long enough to matter
      passes.stream_to_one[K] = &stream_fixed<T, Op, divides, K, 1>;
      passes.stream_to_k[K] = &stream_fixed<T, Op, divides, K, K>;
    }
  }
}

template <class T, class Op, bool scaled>
constexpr Passes passes_of_any() {
  Passes passes{};
  for (FoldFunction& pass : passes.to_one) pass = &fold_any_to_one<T, Op, scaled>;
  for (FoldFunction& pass : passes.to_k) pass = &fold_any<T, Op, scaled>;
  passes.to_any = &fold_any<T, Op, scaled>;
  passes.skipping = &fold_any_skipping<T, Op, scaled>;
  if constexpr (!IsNarrow<T>) {
    passes.stream_to_any = &stream_any<T, Op, scaled>;
    for (FoldFunction& pass : passes.stream_to_one) pass = passes.stream_to_any;
    for (FoldFunction& pass : passes.stream_to_k) pass = passes.stream_to_any;
  }
  return passes;
}

template <class T, class Op, bool divides, std::size_t... K>
constexpr Passes passes_with_fixed(std::index_sequence<K...>) {
  Passes passes = passes_of_any<T, Op, false>();
  (add_fixed<T, Op, divides, K>(passes), ...);
  return passes;
}

template <class T, class Op, bool divides = false>
inline constexpr Passes plain_passes =
    passes_with_fixed<T, Op, divides>(std::make_index_sequence<most_fixed + 1>());
template <class T>
inline constexpr Passes scaled_passes = passes_of_any<T, Sum, true>();

/// All passes of a type. Signed integers add and multiply as unsigned ones do, and are divided
/// outside the passes.
template <class T>
struct PassesOf {
  using Modular = typename ModularOf<T>::type;
  static constexpr const Passes* by_op[all_reduce_ops.size()] = {
      &plain_passes<Modular, Sum>, &plain_passes<Modular, Prod>, &plain_passes<T, Max>,
      &plain_passes<T, Min>,       &plain_passes<Modular, Sum>,  &plain_passes<Modular, Sum>};
  static constexpr const Passes* dividing = &plain_passes<Modular, Sum, !std::is_integral_v<T>>;
  static constexpr const Passes* scaled = &scaled_passes<Modular>;
};
static_assert(static_cast<int>(ReduceOp::sum) == 0 && static_cast<int>(ReduceOp::prod) == 1 &&
              static_cast<int>(ReduceOp::max) == 2 && static_cast<int>(ReduceOp::min) == 3 &&
              static_cast<int>(ReduceOp::avg) == 4 && static_cast<int>(ReduceOp::premul_sum) == 5);

template <class T>
[[gnu::noinline]] void resolve_as(ResolvedFold& resolved) {
  resolved.element_bytes = sizeof(T);
  const bool scaled = resolved.all_raw || resolved.raw_mask != 0;
  const bool divides = resolved.divisor != 1;
  if (resolved.k == 1 && !divides && !scaled) {
    resolved.run = &copy;
    return;
  }
  const Passes& passes = scaled    ? *PassesOf<T>::scaled
                         : divides ? *PassesOf<T>::dividing
                                   : *PassesOf<T>::by_op[static_cast<std::size_t>(resolved.op)];
  const std::size_t index = resolved.k <= most_fixed ? resolved.k : 0;
  resolved.pass_to_one = passes.to_one[index];
  resolved.pass = resolved.m == 1            ? resolved.pass_to_one
                  : resolved.m == resolved.k ? passes.to_k[index]
                                             : passes.to_any;
  resolved.pass_streaming = resolved.m == 1            ? passes.stream_to_one[index]
                            : resolved.m == resolved.k ? passes.stream_to_k[index]
                                                       : passes.stream_to_any;
  resolved.pass_skipping = passes.skipping;
  resolved.run = resolved.streaming ? &fold_or_stream : resolved.pass;
  if constexpr (std::is_integral_v<T>) {
    if (divides) {
      resolved.divide = &divide_elements<T>;
      resolved.run = &fold_by_blocks;
    }
  }
}

}  // namespace

void resolve(ResolvedFold& resolved) {
  switch (resolved.type) {
    case ElementType::int8:
      return resolve_as<std::int8_t>(resolved);
    case ElementType::uint8:
      return resolve_as<std::uint8_t>(resolved);
    case ElementType::int32:
      return resolve_as<std::int32_t>(resolved);
    case ElementType::uint32:
      return resolve_as<std::uint32_t>(resolved);
    case ElementType::int64:
      return resolve_as<std::int64_t>(resolved);
    case ElementType::uint64:
      return resolve_as<std::uint64_t>(resolved);
    case ElementType::float16:
      return resolve_as<float16>(resolved);
    case ElementType::float32:
      return resolve_as<float>(resolved);
    case ElementType::float64:
      return resolve_as<double>(resolved);
    case ElementType::bfloat16:
      return resolve_as<bfloat16>(resolved);
    case ElementType::float8_e4m3:
      return resolve_as<float8_e4m3>(resolved);
    case ElementType::float8_e5m2:
      return resolve_as<float8_e5m2>(resolved);
  }
}

}  // namespace ringside::RINGSIDE_ISA_NAMESPACE
