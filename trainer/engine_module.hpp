// SPDX-License-Identifier: MIT
/// How a shared object with an engine is entered. It is made by the same build as the program: the
/// interface is C++.
#pragma once

namespace ringside::trainer {

class Engine;

using EngineFactory = Engine*();  ///< the caller owns what it returns
inline constexpr auto engine_factory_name = "ringside_make_engine";

}  // namespace ringside::trainer
