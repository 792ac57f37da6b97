// SPDX-License-Identifier: MIT
/// A communicator in front of another: what wrappers have in common. Internal.
#pragma once

#include <list>
#include <memory>
#include <string>

#include "ringside/base/error.hpp"
#include "ringside/collectives/call.hpp"
#include "ringside/collectives/selector/choice.hpp"

namespace ringside::trainer {

/// All but `run`. Messages are the inner communicator's asynchronous ones.
class Forwarding : public Communicator::Implementation {
 public:
  explicit Forwarding(Communicator& inner) : inner_(inner) {}

  [[nodiscard]] int rank() const override { return inner_.rank(); }
  [[nodiscard]] int size() const override { return inner_.size(); }
  [[nodiscard]] Choice choice_for(const Request& request, std::size_t bytes,
                                  const CallOptions& options) const override {
    return {inner_.algorithm_for(request.collective, bytes, request.in_place, options), {}};
  }
  void abort(const std::string& why) override { inner_.abort(why); }
  void add_message(const Message& message, const CallOptions& options, Over over) override;
  bool work_on_messages(const std::function<bool()>& more) override;
  [[nodiscard]] std::unique_ptr<Implementation> split(int /*color*/, int /*key*/) override {
    throw Error(ErrorCode::unsupported, "a communicator in front of another is not split");
  }
  void count_threads(int /*more*/) override {}

 protected:
  /// The call, made of the inner communicator.
  void forward(const Call& call) {
    inner_.submit(Arguments{call.collective, call.input, call.output, call.blocks, call.type,
                            call.op, call.root},
                  *call.options);
  }
  /// A message is over, well or not; who waits for it is told when this returns.
  virtual void after(const Message& /*message*/) {}

  Communicator& inner_;

 private:
  struct UnderWay {
    Message message;
    Handle handle;
    Over over;
  };
  std::list<UnderWay> messages_;
};

}  // namespace ringside::trainer
