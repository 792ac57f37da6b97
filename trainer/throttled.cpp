// SPDX-License-Identifier: MIT
#include "ringside/trainer/throttled.hpp"

#include <thread>

#include "ringside/trainer/forwarding.hpp"

namespace ringside::trainer {
namespace {

class Throttled final : public Forwarding {
 public:
  Throttled(Communicator& inner, double bytes_per_second)
      : Forwarding(inner), bytes_per_second_(bytes_per_second) {}

  void run(const Call& call) override {
    forward(call);
    last_longer(total_elements(call, size()) * size_of(call.type));
  }

 private:
  /// At the end that receives: one wire is waited for once.
  void after(const Message& message) override {
    if (message.direction == Message::Direction::receive)
      last_longer(message.elements * size_of(message.type));
  }
  void last_longer(std::size_t bytes) const {
    std::this_thread::sleep_for(Seconds(static_cast<double>(bytes) / bytes_per_second_));
  }

  double bytes_per_second_;
};

}  // namespace

Communicator throttled(Communicator& inner, double bytes_per_second) {
  return Communicator(std::make_unique<Throttled>(inner, bytes_per_second));
}

}  // namespace ringside::trainer
