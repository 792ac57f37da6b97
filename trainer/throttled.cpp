// SPDX-License-Identifier: MIT
#include "ringside/trainer/throttled.hpp"

#include <chrono>
#include <thread>

#include "ringside/collectives/call.hpp"
#include "ringside/collectives/selector/choice.hpp"

namespace ringside::trainer {
namespace {

class Throttled final : public Communicator::Implementation {
 public:
  Throttled(Communicator& inner, double bytes_per_second)
      : inner_(inner), bytes_per_second_(bytes_per_second) {}

  [[nodiscard]] int rank() const override { return inner_.rank(); }
  [[nodiscard]] int size() const override { return inner_.size(); }

  void run(const Call& call) override {
    inner_.submit(Arguments{call.collective, call.input, call.output, call.blocks, call.type,
                            call.op, call.root},
                  *call.options);
    const auto bytes = static_cast<double>(total_elements(call, size()) * size_of(call.type));
    std::this_thread::sleep_for(Seconds(bytes / bytes_per_second_));
  }

  [[nodiscard]] Choice choice_for(const Request& request, std::size_t bytes,
                                  const CallOptions& options) const override {
    return {inner_.algorithm_for(request.collective, bytes, request.in_place, options), {}};
  }
  void abort(const std::string& why) override { inner_.abort(why); }

  void add_message(const Message& /*message*/, const CallOptions& /*options*/,
                   Over /*over*/) override {
    throw Error(ErrorCode::unsupported, "a throttled communicator has no messages");
  }
  bool work_on_messages(const std::function<bool()>& /*more*/) override { return true; }
  [[nodiscard]] std::unique_ptr<Implementation> split(int /*color*/, int /*key*/) override {
    throw Error(ErrorCode::unsupported, "a throttled communicator is not split");
  }
  void count_threads(int /*more*/) override {}

 private:
  Communicator& inner_;
  double bytes_per_second_;
};

}  // namespace

Communicator throttled(Communicator& inner, double bytes_per_second) {
  return Communicator(std::make_unique<Throttled>(inner, bytes_per_second));
}

}  // namespace ringside::trainer
