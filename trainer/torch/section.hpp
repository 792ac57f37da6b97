// SPDX-License-Identifier: MIT
/// Layers of lenet, and slices of them, for ranks that have a part of it.
#pragma once

#include <memory>

#include "ringside/trainer/engine.hpp"

namespace ringside::trainer::torch_engine {

/// Throws Error(unsupported) for resnet18, which is not cut.
[[nodiscard]] std::unique_ptr<Section> make_section(Replica& replica, const ModelSettings& model,
                                                    const SectionSettings& settings);

}  // namespace ringside::trainer::torch_engine
