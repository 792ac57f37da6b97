// SPDX-License-Identifier: MIT
/// Stores of the fold kernels that are more than one: past the caches, and whole runs. Part of
/// kernels.inl, under its rules.
#pragma once

#include "ringside/collectives/reduction/vectors.inl"

namespace ringside::RINGSIDE_ISA_NAMESPACE {
namespace {

constexpr std::size_t cache_line = 64;

using Line = Vector<std::uint64_t, vector_bytes / 8>;  ///< or the part of one that a vector is

/// A non-temporal store; `to` is aligned to the vector.
inline void stream_vector(std::byte* to, Line value) {
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
      store_as(to + done, load_as<Line>(from + done));
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
    stream_vector(to + done, load_as<Line>(from + done));
  __builtin_memcpy(to + done, from + done, bytes - done);
}

/// Non-temporal stores are weakly ordered: without this a later flag could be seen before them.
inline void stream_fence() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace
}  // namespace ringside::RINGSIDE_ISA_NAMESPACE
