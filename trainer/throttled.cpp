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
    inner_.submit(Arguments{call.collective, call.input, call.output, call.blocks, call.type,
                            call.op, call.root},
                  *call.options);
    const auto bytes = static_cast<double>(total_elements(call, size()) * size_of(call.type));
    std::this_thread::sleep_for(Seconds(bytes / bytes_per_second_));
  }

 private:
  double bytes_per_second_;
};

}  // namespace

Communicator throttled(Communicator& inner, double bytes_per_second) {
  return Communicator(std::make_unique<Throttled>(inner, bytes_per_second));
}

}  // namespace ringside::trainer
