// SPDX-License-Identifier: MIT
#include "ringside/trainer/counted.hpp"

#include <map>
#include <tuple>
#include <vector>

#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/cost.hpp"
#include "ringside/trainer/forwarding.hpp"

namespace ringside::trainer {
namespace {

class Counted final : public Forwarding {
 public:
  Counted(Communicator& inner, Traffic& traffic) : Forwarding(inner), traffic_(traffic) {}

  void run(const Call& call) override {
    traffic_ += moved_by(call);
    forward(call);
  }

 private:
  void after(const Message& message) override {
    const std::uint64_t bytes = message.elements * size_of(message.type);
    (message.direction == Message::Direction::send ? traffic_.sent : traffic_.received) += bytes;
  }

  /// What this rank moves in the plan that runs. The same call is counted once.
  Traffic moved_by(const Call& call) {
    if (call.collective == Collective::barrier || total_elements(call, size()) == 0) return {};
    const bool in_place = call.placement == Placement::in_place;
    const Request request = call.request(size(), in_place);
    const auto blocks = all_blocks(call, size());
    const std::size_t element = size_of(call.type);
    const std::string spec = inner_.algorithm_for(
        call.collective, total_elements(call, size()) * element, in_place, *call.options);
    const auto [known, is_new] =
        known_.try_emplace({spec, call.collective, call.root, in_place, element, blocks});
    if (is_new) {
      const Cost cost = cost_of(make_plan(spec, request), blocks, element);
      const auto own = static_cast<std::size_t>(rank());
      known->second = {cost.sent[own], cost.received[own]};
    }
    return known->second;
  }

  using Key = std::tuple<std::string, Collective, int, bool, std::size_t, std::vector<std::size_t>>;
  Traffic& traffic_;
  std::map<Key, Traffic> known_;
};

}  // namespace

Communicator counted(Communicator& inner, Traffic& traffic) {
  return Communicator(std::make_unique<Counted>(inner, traffic));
}

}  // namespace ringside::trainer
