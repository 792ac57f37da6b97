// SPDX-License-Identifier: MIT
#include "ringside/collectives/communicator.hpp"
#include "ringside/collectives/selector/explain.hpp"

#include <fmt/format.h>

#include <utility>

#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/call.hpp"
#include "ringside/collectives/call_queue.hpp"
#include "ringside/collectives/group_notes.hpp"

namespace ringside {

struct Communicator::State {
  explicit State(std::unique_ptr<Implementation> backend)
      : implementation(std::move(backend)),
        rank(implementation->rank()),
        ranks(implementation->size()),
        queue(*implementation) {}
  std::unique_ptr<Implementation> implementation;
  int rank, ranks;
  CallQueue queue;
};

namespace {

[[nodiscard]] bool in_group() { return detail::open_groups > 0; }

/// It would be put in the stream at some later time.
void refuse_stream(const CallOptions& options) {
  if (options.stream)
    throw Error(ErrorCode::invalid_argument,
                "a call in a stream does not wait for the GPU as it is: make it without async()");
}

/// A rank that waits for itself waits for ever.
void refuse_to_oneself(const Message& message, int rank) {
  if (message.peer == rank)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("rank {}: a message to oneself needs a group of send and recv", rank));
}

}  // namespace

Communicator::Communicator(std::unique_ptr<Implementation> implementation)
    : state_(std::make_shared<State>(std::move(implementation))) {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::~Communicator() = default;

int Communicator::rank() const { return state_->rank; }
int Communicator::size() const { return state_->ranks; }

// --- blocking ------------------------------------------------------------------------------------

void Communicator::submit(const Arguments& arguments, const CallOptions& options) {
  const Call call = checked_call(arguments, state_->rank, state_->ranks, options);
  if (in_group()) {
    note(std::make_shared<Handle::State>(call), true);
    return;
  }
  state_->queue.drain();
  if (state_->queue.has_company()) {
    const auto pushed = std::make_shared<Handle::State>(call);
    state_->queue.push(std::span(&pushed, 1));
    pushed->await();
    pushed->throw_if_failed();
    return;
  }
  state_->implementation->run(call);
}

void Communicator::submit(const Message& message, const CallOptions& options) {
  Implementation& implementation = *state_->implementation;
  check_message(message, implementation.size());
  if (in_group()) {
    note(std::make_shared<Handle::State>(message, options), true);
    return;
  }
  refuse_to_oneself(message, implementation.rank());
  if (!state_->queue.idle() || state_->queue.has_company()) {
    // Beside the messages that are under way: the peer may wait for this one before it takes them.
    const auto call = std::make_shared<Handle::State>(message, options);
    state_->queue.push(std::span(&call, 1));
    call->await();
    call->throw_if_failed();
    return;
  }
  std::exception_ptr error;
  implementation.add_message(message, options,
                             [&error](std::exception_ptr told) { error = std::move(told); });
  implementation.work_on_messages([] { return false; });
  if (error) std::rethrow_exception(error);
}

std::optional<Communicator> Communicator::split(int color, int key) {
  if (in_group()) throw Error(ErrorCode::invalid_argument, "split: not in a group");
  if (color < 0 && color != no_color)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("split: the color {} is negative and not no_color", color));
  state_->queue.drain();
  auto part = state_->implementation->split(color, key);
  if (!part) return std::nullopt;
  return Communicator(std::move(part));
}

SharedMemory Communicator::shared_memory(std::size_t bytes) {
  return {state_->implementation->shared_memory(bytes), bytes};
}

std::string Communicator::algorithm_for(Collective collective, std::size_t bytes, bool in_place,
                                        const CallOptions& options) const {
  const Request request{collective, size(), 0, in_place};
  const Spec spec = parse_spec(state_->implementation->spec_for(request, bytes, options));
  return PlanStream(spec, request).spec();
}

std::string Communicator::explain(Collective collective, std::size_t bytes, bool in_place,
                                  const CallOptions& options) const {
  const Request request{collective, size(), 0, in_place};
  const Choice choice = state_->implementation->choice_for(request, bytes, options);
  const std::string on_machine = state_->implementation->on_machine(request, bytes, choice.spec);
  return choice_text(choice, make_plan(choice.spec, request), bytes) +
         (on_machine.empty() ? "" : "\n" + on_machine);
}

void Communicator::finish() {
  state_->queue.drain();
  state_->implementation->finish();
}

void Communicator::abort(const std::string& why) { state_->implementation->abort(why); }

// --- asynchronous --------------------------------------------------------------------------------

void Communicator::note(std::shared_ptr<Handle::State> call, bool blocking) {
  detail::note_in_group(std::shared_ptr<CallQueue>(state_, &state_->queue), std::move(call),
                        blocking);
}

Handle Communicator::submit_async(std::shared_ptr<Handle::State> call) {
  if (in_group())
    note(call, false);
  else
    state_->queue.push(std::span(&call, 1));
  return Handle(std::move(call));
}

Handle AsyncCalls::submit(const Arguments& arguments, const CallOptions& options) {
  refuse_stream(options);
  return communicator_->submit_async(
      std::make_shared<Handle::State>(checked_call(arguments, rank(), size(), options)));
}

Handle AsyncCalls::submit(const Message& message, const CallOptions& options) {
  refuse_stream(options);
  check_message(message, size());
  if (!in_group()) refuse_to_oneself(message, rank());
  return communicator_->submit_async(std::make_shared<Handle::State>(message, options));
}

}  // namespace ringside
