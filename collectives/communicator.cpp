// SPDX-License-Identifier: MIT
#include "ringside/collectives/communicator.hpp"

#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/call.hpp"

namespace ringside {

struct Communicator::State {
  std::unique_ptr<Implementation> implementation;
};

Communicator::Communicator(std::unique_ptr<Implementation> implementation)
    : state_(std::make_unique<State>(State{std::move(implementation)})) {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::~Communicator() = default;

int Communicator::rank() const { return state_->implementation->rank(); }
int Communicator::size() const { return state_->implementation->size(); }

void Communicator::submit(const Arguments& arguments, const CallOptions& options) {
  Implementation& implementation = *state_->implementation;
  implementation.run(
      checked_call(arguments, implementation.rank(), implementation.size(), options));
}

std::string Communicator::algorithm_for(Collective collective, std::size_t bytes, bool in_place,
                                        const CallOptions& options) const {
  const Request request{collective, size(), 0, in_place};
  const Spec spec = parse_spec(state_->implementation->spec_for(request, bytes, options));
  return PlanStream(spec, request).spec();
}

void Communicator::abort(const std::string& why) { state_->implementation->abort(why); }

}  // namespace ringside
