// SPDX-License-Identifier: MIT
#include "ringside/bench/baselines/loops.hpp"

#include <array>
#include <cstdint>

#include "ringside/base/error.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ringside::bench::baselines {
namespace {

constexpr std::size_t most_buffers = 8;

struct Buffers {
  std::array<const float*, most_buffers> inputs{};
  std::array<float*, most_buffers> outputs{};
};

/// `from` to `to`, with the loop over the n buffers unrolled.
template <std::size_t n>
void fold_plain(const Buffers& buffers, std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < to; ++i) {
    float sum = buffers.inputs[0][i];
    for (std::size_t k = 1; k < n; ++k) sum += buffers.inputs[k][i];
    for (std::size_t m = 0; m < n; ++m) buffers.outputs[m][i] = sum;
  }
}

#if defined(__x86_64__)

// One body per instruction set: intrinsics need the target named on the function.
#define RINGSIDE_FOLD_LOOP(name, target_name, vector, width, load, plus, store, stream)            \
  template <std::size_t n, Stores stores>                                                          \
  [[gnu::target(target_name)]] void name(const Buffers& given, std::size_t from, std::size_t to) { \
    const Buffers buffers = given;                                                                 \
    std::size_t i = from;                                                                          \
    for (; i + (width) <= to; i += (width)) {                                                      \
      vector sum = load(buffers.inputs[0] + i);                                                    \
      for (std::size_t k = 1; k < n; ++k) sum = plus(sum, load(buffers.inputs[k] + i));            \
      for (std::size_t m = 0; m < n; ++m) {                                                        \
        if constexpr (stores == Stores::streaming)                                                 \
          stream(buffers.outputs[m] + i, sum);                                                     \
        else                                                                                       \
          store(buffers.outputs[m] + i, sum);                                                      \
      }                                                                                            \
    }                                                                                              \
    fold_plain<n>(buffers, i, to);                                                                 \
    if constexpr (stores == Stores::streaming) _mm_sfence();                                       \
  }

RINGSIDE_FOLD_LOOP(fold_avx512, "avx512f", __m512, 16, _mm512_loadu_ps, _mm512_add_ps,
                   _mm512_storeu_ps, _mm512_stream_ps)
RINGSIDE_FOLD_LOOP(fold_avx, "avx", __m256, 8, _mm256_loadu_ps, _mm256_add_ps, _mm256_storeu_ps,
                   _mm256_stream_ps)
RINGSIDE_FOLD_LOOP(fold_sse, "sse2", __m128, 4, _mm_loadu_ps, _mm_add_ps, _mm_storeu_ps,
                   _mm_stream_ps)

#undef RINGSIDE_FOLD_LOOP

template <std::size_t n, Stores stores>
void fold(const Buffers& buffers, std::size_t from, std::size_t to) {
  static const bool has_avx512 = __builtin_cpu_supports("avx512f") != 0;
  static const bool has_avx = __builtin_cpu_supports("avx") != 0;
  if (has_avx512) return fold_avx512<n, stores>(buffers, from, to);
  if (has_avx) return fold_avx<n, stores>(buffers, from, to);
  fold_sse<n, stores>(buffers, from, to);
}

#else

template <std::size_t n, Stores stores>
void fold(const Buffers& buffers, std::size_t from, std::size_t to) {
  fold_plain<n>(buffers, from, to);
}

#endif

template <Stores stores>
void fold_count(std::size_t count, const Buffers& buffers, std::size_t from, std::size_t to) {
  switch (count) {
    case 1:
      return fold<1, stores>(buffers, from, to);
    case 2:
      return fold<2, stores>(buffers, from, to);
    case 3:
      return fold<3, stores>(buffers, from, to);
    case 4:
      return fold<4, stores>(buffers, from, to);
    case 5:
      return fold<5, stores>(buffers, from, to);
    case 6:
      return fold<6, stores>(buffers, from, to);
    case 7:
      return fold<7, stores>(buffers, from, to);
    case 8:
      return fold<8, stores>(buffers, from, to);
    default:
      throw Error(ErrorCode::unsupported, "loops by hand take 1 to 8 buffers");
  }
}

// The loader chooses a clone before a thread sanitizer is ready for the choosing function.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define RINGSIDE_CLONED [[gnu::target_clones("avx512f", "avx2", "default"), gnu::optimize("O3")]]
#else
#define RINGSIDE_CLONED
#endif

}  // namespace

void fold_all(std::span<const float* const> inputs, std::span<float* const> outputs,
              std::size_t first, std::size_t length, Stores stores) {
  Buffers buffers;
  if (inputs.size() > most_buffers || inputs.size() != outputs.size())
    throw Error(ErrorCode::unsupported, "loops by hand take 1 to 8 buffers");
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    buffers.inputs[k] = inputs[k];
    buffers.outputs[k] = outputs[k];
  }
  if (stores == Stores::streaming)
    fold_count<Stores::streaming>(inputs.size(), buffers, first, first + length);
  else
    fold_count<Stores::ordinary>(inputs.size(), buffers, first, first + length);
}

RINGSIDE_CLONED
void add(const float* a, const float* b, float* output, std::size_t length) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < length; ++i) output[i] = a[i] + b[i];
}

RINGSIDE_CLONED
void pass_ordinary(const float* input, float* output, std::size_t length) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < length; ++i) output[i] = input[i] + 0.0F;
}

void pass(const float* input, float* output, std::size_t length, Stores stores) {
  if (stores == Stores::ordinary) return pass_ordinary(input, output, length);
  Buffers buffers;
  buffers.inputs[0] = input;
  buffers.outputs[0] = output;
  fold<1, Stores::streaming>(buffers, 0, length);
}

}  // namespace ringside::bench::baselines
