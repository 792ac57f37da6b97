// SPDX-License-Identifier: MIT
#include "ringside/bench/message_subject.hpp"

#include <cstring>
#include <utility>

#include "ringside/bench/timed_call.hpp"
#include "ringside/collectives/group.hpp"

namespace ringside::bench {
namespace {

/// One rank's end; grouped, as two blocking calls would wait for each other.
void send_and_receive(Communicator& communicator, const Arguments& arguments,
                      const CallOptions& options) {
  const auto both = [&] {
    const int n = communicator.size();
    const int rank = communicator.rank();
    const std::size_t elements = arguments.blocks.front();
    communicator.send(arguments.input, elements, arguments.type, (rank + 1) % n, options);
    communicator.recv(arguments.output, elements, arguments.type, (rank + n - 1) % n, options);
  };
  grouped([&both] { both(); });  // small enough for no allocation
}

}  // namespace

MessageSubject::MessageSubject(HostStage& stage, Call call)
    : stage_(stage), call_(call ? std::move(call) : Call(send_and_receive)) {}

Series MessageSubject::describe() const {
  Series series;
  series.collective = Operation::sendrecv();
  series.label = "messages";
  series.ranks = stage_.team().size();
  return series;
}

std::optional<std::string> MessageSubject::refusal(const Cell&) const { return std::nullopt; }

CallOptions MessageSubject::call_options() const {
  CallOptions options;
  options.timeout = stage_.timeout();
  return options;
}

BlockTimes MessageSubject::time(const Cell& cell, const Block& block) {
  return time_on(stage_, cell, block, call_options(), send_and_receive);
}

std::optional<CheckOutcome> MessageSubject::check(const Cell& cell) {
  odd_check_ = !odd_check_;
  const std::uint64_t seed = odd_check_ ? 1 : 2;
  const int ranks = stage_.team().size();
  const std::size_t element = size_of(cell.type);
  const std::size_t count = cell.count;
  const CallOptions options = call_options();
  std::vector<std::uint64_t> wrong(static_cast<std::size_t>(ranks));
  stage_.team().each([&](Communicator& communicator) {
    const int rank = communicator.rank();
    const auto shape = call_shape(stage_.request(cell.placement), rank, count);
    const auto [input, output] = stage_.memory(rank, cell.placement, shape, element);
    std::memset(output, poison, count * element);
    fill_block(cell.type, seed, rank, input, count);
    Arguments arguments;
    arguments.input = input;
    arguments.output = output;
    arguments.blocks = {&count, 1};
    arguments.type = cell.type;
    call_(communicator, arguments, options);
    wrong[static_cast<std::size_t>(rank)] =
        wrong_in_block(cell.type, seed, (rank + ranks - 1) % ranks, output, count) +
        wrong_in_block(cell.type, seed, rank, input, count);
  });
  CheckOutcome outcome = outcome_of(stage_, std::move(wrong));
  outcome.exact_bytes = count * element;
  return outcome;
}

}  // namespace ringside::bench
