// SPDX-License-Identifier: MIT
/// A block of calls of our own, timed by the host on all ranks of a stage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ringside/bench/block_timer.hpp"
#include "ringside/bench/host_stage.hpp"
#include "ringside/bench/subject.hpp"
#include "ringside/collectives/communicator.hpp"

namespace ringside::bench {
namespace detail {

/// One rank's call of a cell, to be made over and over.
template <class Submit>
class TimedCall {
 public:
  TimedCall(HostStage& stage, Communicator& communicator, const Cell& cell, const Block& block,
            const CallOptions& options, const Submit& submit)
      : submit_(submit),
        stage_(stage),
        communicator_(communicator),
        options_(options),
        placement_(cell.placement),
        element_(size_of(cell.type)),
        moves_(block.buffers == Buffers::cold),
        count_(cell.count),
        shape_(call_shape(stage.request(cell.placement), communicator.rank(), cell.count)),
        turn_(stage.turns(communicator.rank())),
        one_(bits_of_one(cell.type)) {
    if (!cell.collective.is_sendrecv()) arguments_.collective = cell.collective;
    if (!is_barrier(cell.collective)) arguments_.blocks = {&count_, 1};
    arguments_.type = cell.type;
    arguments_.op = cell.op;
    arguments_.root = cell.root;
    place();
  }
  TimedCall(const TimedCall&) = delete;
  TimedCall& operator=(const TimedCall&) = delete;

  void operator()() {
    if (moves_) place();
    submit_(communicator_, arguments_, options_);
  }

  /// What comes before a call with rewritten inputs.
  void prepare() {
    fill_with(input_, shape_.input, &one_, element_);
    meet();
  }
  void meet() { communicator_.submit(Arguments{.collective = Collective::barrier}, options_); }

 private:
  void place() {
    const auto memory =
        stage_.memory(communicator_.rank(), placement_, shape_, element_, moves_ ? turn_++ : 0);
    input_ = memory.input;
    arguments_.input = memory.input;
    arguments_.output = memory.output;
  }

  const Submit& submit_;
  HostStage& stage_;
  Communicator& communicator_;
  const CallOptions& options_;
  Placement placement_;
  std::size_t element_;
  bool moves_;
  std::size_t count_;
  CallShape shape_;
  std::uint64_t& turn_;
  std::uint64_t one_;
  std::byte* input_ = nullptr;
  Arguments arguments_;
};

}  // namespace detail

/// `submit(communicator, arguments, options)` makes the call; of sendrecv the arguments' collective
/// means nothing. A call of a collective ends when all ranks have begun it, so nobody is more than
/// one ahead; messages round a ring let a rank be one ahead of each neighbour.
template <class Submit>
[[nodiscard]] BlockTimes time_on(HostStage& stage, const Cell& cell, const Block& asked,
                                 const CallOptions& options, const Submit& submit) {
  const int ranks = stage.team().size();
  Block block = asked;
  // Processes do not hear of each other when to end early.
  if (stage.team().ranks_here() != ranks) block.limit.reset();
  std::vector<std::vector<double>> ends(static_cast<std::size_t>(ranks));
  BlockLimit limit(block, cell.collective.is_sendrecv() ? ranks : 1);
  stage.team().each([&](Communicator& communicator) {
    const int rank = communicator.rank();
    const auto goes_on = [&](std::int64_t done, Seconds elapsed) {
      return limit.goes_on(rank, done, elapsed);
    };
    detail::TimedCall call(stage, communicator, cell, block, options, submit);
    const bool rewritten = block.buffers == Buffers::rewritten;
    for (int i = 0; i < block.lead_in; ++i) {
      if (rewritten) call.prepare();
      call();
    }
    if (block.lead_in == 0) call.meet();
    ends[static_cast<std::size_t>(rank)] =
        rewritten ? time_prepared_calls(
                        block, [&] { call.prepare(); }, [&] { call(); }, goes_on)
                  : time_calls(
                        block, [&] { call(); }, goes_on);
  });
  stage.gather(ends);
  return block_times(ends, block);
}

}  // namespace ringside::bench
