// SPDX-License-Identifier: MIT
#include "ringside/trainer/forwarding.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "ringside/base/clock.hpp"

namespace ringside::trainer {

void Forwarding::add_message(const Message& message, const CallOptions& options, Over over) {
  Handle handle;
  if (auto error = exception_of([&] { handle = inner_.async().submit(message, options); }))
    return over(std::move(error));
  messages_.push_back({message, std::move(handle), std::move(over)});
}

bool Forwarding::work_on_messages(const std::function<bool()>& more) {
  // Nobody tells us when the inner communicator's messages are over: about what waking takes.
  constexpr Seconds between_looks{50e-6};
  while (!messages_.empty()) {
    const auto done = std::find_if(messages_.begin(), messages_.end(),
                                   [](const UnderWay& one) { return one.handle.done(); });
    if (done == messages_.end()) {
      if (more()) return false;
      std::this_thread::sleep_for(between_looks);
      continue;
    }
    UnderWay one = std::move(*done);
    messages_.erase(done);
    after(one.message);
    one.over(exception_of([&] { one.handle.wait(); }));
  }
  return true;
}

}  // namespace ringside::trainer
