// SPDX-License-Identifier: MIT
/// The model `mlp` by loops of our own: the engine that is always there.
#pragma once

#include <memory>

#include "ringside/trainer/engine.hpp"

namespace ringside::trainer {

[[nodiscard]] std::shared_ptr<Engine> make_mlp_engine();

}  // namespace ringside::trainer
