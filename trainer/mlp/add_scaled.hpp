// SPDX-License-Identifier: MIT
/// The one loop that mlp's products are made of.
#pragma once

#include <cstddef>
#include <span>

namespace ringside::trainer {

/// to += factor x from.
template <class T>
void add_scaled(std::span<T> to, T factor, std::span<const T> from) {
  if (factor == T{0}) return;  // half of all pixels, and every second unit
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * from[i];
}

}  // namespace ringside::trainer
