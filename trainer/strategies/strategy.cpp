// SPDX-License-Identifier: MIT
#include "ringside/trainer/strategies/strategy.hpp"

#include <array>

#include "ringside/base/error.hpp"
#include "ringside/trainer/strategies/kinds.hpp"
#include "ringside/trainer/strategies/split.hpp"

namespace ringside::trainer {
namespace {

constexpr auto names = std::to_array<std::string_view>(
    {"single", "data_parallel", "from_scratch", "distributed", "pipeline", "tensor"});

}  // namespace

std::string_view to_string(StrategyKind kind) { return names[static_cast<std::size_t>(kind)]; }

std::optional<StrategyKind> parse_strategy(std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<StrategyKind>(i);
  return std::nullopt;
}

std::span<const std::string_view> strategy_names() { return names; }

Extent Strategy::share_of(std::size_t samples) const {
  return part_of(samples, static_cast<std::size_t>(comm_.size()),
                 static_cast<std::size_t>(comm_.rank()));
}

void Strategy::update(const SgdStep& step) {
  timed(times_, Part::update, [&] { replica_.update(step); });
}

Loss Strategy::learn(const BatchView& own, const GradientReady& ready) {
  if (own.samples() == 0) return {};  // a batch smaller than the number of ranks
  const Memory gradient = output_gradient(own.samples());
  const Loss loss = timed(times_, Part::forward, [&] {
    const Memory outputs = replica_.forward(own, Replica::Mode::training);
    return replica_.loss(outputs, own.labels, gradient);
  });
  timed(times_, Part::backward, [&] { replica_.backward(gradient, ready); });
  return loss;
}

Memory Strategy::output_gradient(std::size_t samples) {
  return grown(replica_, output_gradient_, samples * classes);
}

Wire::Wire(Replica& replica, bool narrow) : replica_(replica) {
  if (narrow) narrow_ = replica.allocate(replica.gradients().elements, ElementType::bfloat16);
}

Memory Wire::pack(const Extent& extent) {
  const Memory gradients = replica_.gradients().part(extent);
  if (narrow_.elements == 0) return gradients;
  const Memory packed = narrow_.part(extent);
  replica_.narrow(gradients, packed);
  return packed;
}

void Wire::unpack(const Extent& extent) {
  if (narrow_.elements == 0) return;
  replica_.widen(narrow_.part(extent), replica_.gradients().part(extent));
}

std::unique_ptr<Strategy> make_strategy(const StrategySettings& settings,
                                        const ModelSettings& model, Replica& replica,
                                        Communicator& comm, StepTimes& times) {
  check_split(settings.kind, model, comm.size());
  switch (settings.kind) {
    case StrategyKind::single:
      return make_single(replica, comm, times);
    case StrategyKind::data_parallel:
      return make_data_parallel(settings, replica, comm, times);
    case StrategyKind::from_scratch:
      return make_from_scratch(settings, replica, comm, times);
    case StrategyKind::distributed:
      return make_distributed(settings, replica, comm, times);
    case StrategyKind::pipeline:
      return make_pipeline(settings, model, replica, comm, times);
    case StrategyKind::tensor:
      return make_tensor(model, replica, comm, times);
  }
  throw Error(ErrorCode::internal, "no such strategy");
}

}  // namespace ringside::trainer
