// SPDX-License-Identifier: MIT
#include "ringside/trainer/strategies/strategy.hpp"

#include <array>

#include "ringside/base/error.hpp"
#include "ringside/trainer/shares.hpp"
#include "ringside/trainer/strategies/kinds.hpp"
#include "ringside/trainer/strategies/split.hpp"

namespace ringside::trainer {
namespace {

constexpr auto names = std::to_array<std::string_view>(
    {"single", "data_parallel", "from_scratch", "distributed", "sharded", "pipeline", "tensor"});

}  // namespace

std::string_view to_string(StrategyKind kind) { return names[static_cast<std::size_t>(kind)]; }

std::optional<StrategyKind> parse_strategy(std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<StrategyKind>(i);
  return std::nullopt;
}

std::span<const std::string_view> strategy_names() { return names; }

Collective what_sums(StrategyKind kind) {
  if (kind == StrategyKind::data_parallel) return Collective::reduce;
  return kind == StrategyKind::sharded ? Collective::reduce_scatter : Collective::all_reduce;
}

void Strategy::take(const StrategySettings& settings) {
  shares_ = settings.shares;
  if (!settings.slow_ranks.empty())
    computing_.slow_down(settings.slow_ranks.at(static_cast<std::size_t>(comm_.rank())));
}

Extent Strategy::own_of(std::size_t samples, std::size_t rank) const {
  return trainer::share_of(samples, shares_, static_cast<std::size_t>(comm_.size()), rank);
}

void Strategy::synchronise_batch_norms(Communicator& norms) {
  norms_together_ = true;
  replica_.synchronise_batch_norms(
      norms.size(), [this, &norms](std::span<const double> own, std::span<double> all) {
        computing_.interrupt([&] { norms.all_gather(own, all); });
      });
}

MemoryUse Strategy::memory() {
  return {replica_.parameters().bytes(), replica_.gradients().bytes(), replica_.velocity().bytes(),
          staging_};
}

void Strategy::update(const SgdStep& step) {
  computing_.run(Part::update, [&] { replica_.update(step); });
}

Loss Strategy::learn(const BatchView& own, const GradientReady& ready) {
  if (!computes(own.samples())) return {};  // a batch smaller than the number of ranks
  const Memory gradient = output_gradient(own.samples());
  const Loss loss = computing_.run(Part::forward, [&] {
    const Memory outputs = replica_.forward(own, Replica::Mode::training);
    return replica_.loss(outputs, own.labels, gradient);
  });
  const GradientReady beside_computing = [&](std::size_t tensor) {
    computing_.pause();
    ready(tensor);
    computing_.resume();
  };
  computing_.run(Part::backward,
                 [&] { replica_.backward(gradient, ready ? beside_computing : ready); });
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

namespace {

std::unique_ptr<Strategy> strategy_of(const StrategySettings& settings, const ModelSettings& model,
                                      Replica& replica, Communicator& comm, StepTimes& times) {
  switch (settings.kind) {
    case StrategyKind::single:
      return make_single(replica, comm, times);
    case StrategyKind::data_parallel:
      return make_data_parallel(settings, replica, comm, times);
    case StrategyKind::from_scratch:
      return make_from_scratch(settings, replica, comm, times);
    case StrategyKind::distributed:
      return make_distributed(settings, replica, comm, times);
    case StrategyKind::sharded:
      return make_sharded(settings, replica, comm, times);
    case StrategyKind::pipeline:
      return make_pipeline(settings, model, replica, comm, times);
    case StrategyKind::tensor:
      return make_tensor(model, replica, comm, times);
  }
  throw Error(ErrorCode::internal, "no such strategy");
}

}  // namespace

std::unique_ptr<Strategy> make_strategy(const StrategySettings& settings,
                                        const ModelSettings& model, Replica& replica,
                                        Communicator& comm, StepTimes& times) {
  check_split(settings.kind, model, comm.size());
  auto strategy = strategy_of(settings, model, replica, comm, times);
  strategy->take(settings);
  return strategy;
}

}  // namespace ringside::trainer
