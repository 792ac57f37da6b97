// SPDX-License-Identifier: MIT
/// Layers of mlp, for ranks that have some of them.
#pragma once

#include <memory>

#include "ringside/trainer/engine.hpp"

namespace ringside::trainer {

/// Whole layers only: mlp's weights are stored inputs first, so a slice of outputs is no run of
/// memory.
[[nodiscard]] std::unique_ptr<Section> make_mlp_section(Replica& replica,
                                                        const ModelSettings& model,
                                                        const SectionSettings& settings);

}  // namespace ringside::trainer
