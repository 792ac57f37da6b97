// SPDX-License-Identifier: MIT
/// How good the model is, found out by all ranks together.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ringside/collectives/communicator.hpp"
#include "ringside/trainer/data/dataset.hpp"
#include "ringside/trainer/engine.hpp"

namespace ringside::trainer {

struct Score {
  double loss = 0;  ///< mean cross-entropy
  std::int64_t correct = 0, samples = 0;

  [[nodiscard]] double accuracy() const {
    return samples == 0 ? 0 : static_cast<double>(correct) / static_cast<double>(samples);
  }
};

/// Every rank takes a part of the samples, some perhaps one more than others, in batches of
/// `batch`; counts are added up, so that they are exact for every number of ranks. All ranks get
/// the result.
[[nodiscard]] Score evaluate(Replica& replica, Communicator& comm, const Samples& samples,
                             std::size_t batch);

}  // namespace ringside::trainer
