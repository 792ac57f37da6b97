// SPDX-License-Identifier: MIT
#include "ringside/collectives/selector/training_advice.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ringside/collectives/executors/simulated/nccl_run.hpp"
#include "ringside/collectives/selector/measured_and_predicted.hpp"

namespace ringside {
namespace {

constexpr int most_accumulation = 1'000'000;

/// t <= 0.1 (t + k s)
void set_seconds(GradientCost& cost, const TrainedModel& model, double seconds) {
  cost.seconds = seconds;
  cost.share = cost.seconds / (cost.seconds + model.step_seconds);
  const double steps = cost.seconds * (1 / tolerable_share - 1) / model.step_seconds;
  cost.accumulation =
      static_cast<int>(std::clamp(std::ceil(steps), 1.0, static_cast<double>(most_accumulation)));
}

GradientCost cost_of(const MachineDescription& machine, const TrainedModel& model,
                     std::string_view type, double element_bytes) {
  GradientCost cost;
  cost.type = type;
  cost.bytes = std::round(model.parameters) * element_bytes;
  set_seconds(cost, model, nccl_all_reduce_seconds(machine, cost.bytes));
  return cost;
}

}  // namespace

double nccl_all_reduce_seconds(const MachineDescription& machine, double bytes) {
  const Machine nccl = as_nccl_uses(machine);
  NcclCall call;
  call.bytes = bytes;
  call.gpus.resize(static_cast<std::size_t>(nccl.gpus()));
  std::iota(call.gpus.begin(), call.gpus.end(), 0);
  return nccl_seconds(nccl, call);
}

std::vector<GradientCost> gradient_costs(const MachineDescription& machine,
                                         const TrainedModel& model) {
  return {cost_of(machine, model, "float32", 4), cost_of(machine, model, "bfloat16", 2)};
}

std::vector<GradientCost> at_measured_rates(std::vector<GradientCost> costs,
                                            const TrainedModel& model,
                                            const std::vector<Reading>& readings, int gpus) {
  for (auto& cost : costs)
    if (const auto seconds = measured_all_reduce_seconds(readings, gpus, cost.bytes)) {
      set_seconds(cost, model, *seconds);
      cost.measured = true;
    }
  return costs;
}

TrainingAdvice advise(const MachineDescription& description, double bytes,
                      const std::optional<TrainedModel>& model) {
  const Machine machine(description.topology, description.model, description.settings);
  Predictor::Settings settings;
  settings.others = false;
  Predictor predictor(machine, {}, settings);
  Question question;
  question.request.collective = Collective::all_reduce;
  question.request.ranks = machine.gpus();
  question.bytes =
      static_cast<std::uint64_t>(bytes) / question.element_bytes * question.element_bytes;
  TrainingAdvice advice;
  advice.choice = predictor.choose(question);
  std::vector<int> gpus(static_cast<std::size_t>(machine.gpus()));
  std::iota(gpus.begin(), gpus.end(), 0);
  advice.nccl = compare_with_nccl(machine, gpus, question, advice.choice);
  if (model) advice.gradients = gradient_costs(description, *model);
  return advice;
}

}  // namespace ringside
