// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/simulated/uncertainty.hpp"

#include <utility>

namespace ringside {

Machine with_times_scaled(const Machine& machine, double factor) {
  LinkModel model = machine.model();
  for (Figure& figure : model.figures)
    if (figure.unit == "us") figure.value *= factor;
  return {machine.topology(), std::move(model), machine.settings()};
}

}  // namespace ringside
