// SPDX-License-Identifier: MIT
/// The strategies, one file each.
#pragma once

#include <memory>

#include "ringside/trainer/strategies/strategy.hpp"

namespace ringside::trainer {

[[nodiscard]] std::unique_ptr<Strategy> make_single(Replica& replica, Communicator& comm,
                                                    StepTimes& times);
[[nodiscard]] std::unique_ptr<Strategy> make_data_parallel(const StrategySettings& settings,
                                                           Replica& replica, Communicator& comm,
                                                           StepTimes& times);
[[nodiscard]] std::unique_ptr<Strategy> make_from_scratch(const StrategySettings& settings,
                                                          Replica& replica, Communicator& comm,
                                                          StepTimes& times);
[[nodiscard]] std::unique_ptr<Strategy> make_distributed(const StrategySettings& settings,
                                                         Replica& replica, Communicator& comm,
                                                         StepTimes& times);
[[nodiscard]] std::unique_ptr<Strategy> make_sharded(const StrategySettings& settings,
                                                     Replica& replica, Communicator& comm,
                                                     StepTimes& times);
[[nodiscard]] std::unique_ptr<Strategy> make_pipeline(const StrategySettings& settings,
                                                      const ModelSettings& model, Replica& replica,
                                                      Communicator& comm, StepTimes& times);
[[nodiscard]] std::unique_ptr<Strategy> make_tensor(const ModelSettings& model, Replica& replica,
                                                    Communicator& comm, StepTimes& times);

}  // namespace ringside::trainer
