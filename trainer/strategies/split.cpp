// SPDX-License-Identifier: MIT
#include "ringside/trainer/strategies/split.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ringside/base/error.hpp"

namespace ringside::trainer {

void check_split(StrategyKind kind, const ModelSettings& model, int ranks) {
  if (!splits_network(kind)) return;
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the strategy {}: {}", to_string(kind), why));
  };
  const auto name = to_string(model.model);
  const auto layers = layers_of(model);
  if (layers.empty())
    refuse(fmt::format("{} is not split: its batch norms would see other samples", name));
  if (kind == StrategyKind::pipeline) {
    if (static_cast<std::size_t>(ranks) > layers.size())
      refuse(fmt::format("{} has {} layers, at least one for each of {} ranks is needed", name,
                         layers.size(), ranks));
    return;
  }
  if (model.model == Model::mlp)
    refuse("mlp stores its weights inputs first, so its outputs are not cut in slices");
  const auto narrowest =
      std::min_element(layers.begin(), layers.end(),
                       [](const Layer& a, const Layer& b) { return a.channels < b.channels; });
  if (static_cast<std::size_t>(ranks) > narrowest->channels)
    refuse(fmt::format("{} has a layer of {} outputs, at least one for each of {} ranks is needed",
                       name, narrowest->channels, ranks));
}

void Split::update(const SgdStep& step) {
  const Memory velocity = replica_.velocity();
  computing_.run(Part::update, [&] {
    for (const Extent& extent : owned())
      replica_.update(replica_.parameters().part(extent), replica_.gradients().part(extent),
                      velocity.elements == 0 ? velocity : velocity.part(extent), step);
  });
  synchronised_ = false;
}

void Split::synchronise() {
  if (synchronised_) return;
  exchange(replica_.parameters());
  if (replica_.velocity().elements != 0) exchange(replica_.velocity());
  synchronised_ = true;
}

Loss Split::loss_of(Memory outputs, std::span<const std::uint8_t> labels, Memory gradient) {
  const Memory by_sample = grown(replica_, outputs_, outputs.elements);
  const Memory gradient_by_sample = grown(replica_, gradient_, outputs.elements);
  replica_.transpose(outputs, classes, by_sample);
  const Loss loss = replica_.loss(by_sample, labels, gradient_by_sample);
  replica_.transpose(gradient_by_sample, labels.size(), gradient);
  return loss;
}

}  // namespace ringside::trainer
