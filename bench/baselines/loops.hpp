// SPDX-License-Identifier: MIT
/// Loops over float32 as one would write them by hand for one purpose: what plans are measured
/// against. They share nothing with the library's kernels.
#pragma once

#include <cstddef>
#include <span>

namespace ringside::bench::baselines {

/// How results are stored: streaming stores go around the caches.
enum class Stores { ordinary, streaming };

/// Elements of a cache line: streaming stores want runs that begin and end on one.
inline constexpr std::size_t line_elements = 16;

/// outputs[m][i] = inputs[0][i] + inputs[1][i] + ... for first <= i < first + length: one pass over
/// all buffers at once. Between 1 and 8 buffers of either kind, as many of both, and inputs that
/// are outputs are so at the same place. Streaming stores need buffers and `first` on lines.
void fold_all(std::span<const float* const> inputs, std::span<float* const> outputs,
              std::size_t first, std::size_t length, Stores stores);

/// output[i] = a[i] + b[i].
void add(const float* a, const float* b, float* output, std::size_t length);

/// output[i] = input[i] with arithmetic that changes nothing (+ 0), so that it is done in place
/// too.
void pass(const float* input, float* output, std::size_t length, Stores stores);

}  // namespace ringside::bench::baselines
