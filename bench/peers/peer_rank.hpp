// SPDX-License-Identifier: MIT
/// One rank of a peer: its buffers, the checked call, the timed calls. What the library is asked
/// for, its adapter knows.
#pragma once

#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/base/threads.hpp"
#include "ringside/bench/block_timer.hpp"
#include "ringside/bench/buffers.hpp"
#include "ringside/bench/peers/contributions.hpp"
#include "ringside/bench/peers/protocol.hpp"
#include "ringside/bench/probe.hpp"

namespace ringside::bench {

/// Keeps the calling thread, a rank, on core number rank mod cores of "0,1,..."; "-": anywhere.
inline void pin_rank(std::string_view cores, int rank) {
  if (cores == "-") return;
  const auto numbers = split(cores, ',');
  const auto core = parse_int(numbers[static_cast<std::size_t>(rank) % numbers.size()], 0, 1 << 20);
  if (!core) throw Error(ErrorCode::bad_input, "not a list of cores");
  pin_current_thread(static_cast<int>(*core));
}

/// Rank 0's loop: reads commands from standard input and answers them; the last that `run` gets is
/// the one to quit, which has no answer.
template <class Refusal, class Run>
void serve_lines(const std::string& library, int ranks, const Refusal& refusal, const Run& run) {
  std::cout << "ready " << library << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    PeerCommand command;
    try {
      command = parse_peer_command(line);
    } catch (const Error& error) {
      std::cout << "error " << error.what() << std::endl;
      continue;
    }
    if (command.verb == PeerCommand::Verb::quit) break;
    auto why = refusal(command);
    if (command.root >= ranks) why = "no such root";
    if (command.block.buffers == Buffers::cold)
      why = "other libraries are not timed on cold buffers";
    if (command.verb == PeerCommand::Verb::ask)
      std::cout << (why ? "no " + *why : "yes") << std::endl;
    else
      std::cout << (why ? "error " + *why : run(command)) << std::endl;
  }
  PeerCommand quit;
  quit.verb = PeerCommand::Verb::quit;
  (void)run(quit);
}

/// `Library` is one rank's end of a library:
///
///     int rank(), ranks()
///     void barrier()
///     with_call(command, input, output, use)  calls use(call), where call() does the collective
///     std::uint64_t sum(std::uint64_t)        over all ranks, known to all
///     double cpu_seconds(double own)          of all ranks, known to rank 0
///     vector<vector<double>> gather(vector<double>)  by rank, known to rank 0
template <class Library>
class PeerRank {
 public:
  explicit PeerRank(Library& library) : library_(library) {}

  /// All ranks call it with the same command. Rank 0 gets the line to be answered.
  [[nodiscard]] std::string run(const PeerCommand& command) {
    const double cpu_before = process_cpu_seconds();
    std::uint64_t wrong = 0;
    std::vector<double> ends;
    const auto memory = memory_for(command);
    std::byte* const input =
        memory.input;  // names, as a lambda cannot refer to structured bindings
    std::byte* const output = memory.output;
    library_.with_call(command, input, output, [&](const auto& call) {
      if (!last_ || !last_->same_call(command)) wrong = check(command, input, output, call);
      if (wrong == 0) ends = time(command, input, call);
    });
    if (wrong > 0) return "error " + std::to_string(wrong) + " elements of the result are wrong";
    last_ = command;
    const auto all = library_.gather(ends);
    const double cpu = library_.cpu_seconds(process_cpu_seconds() - cpu_before);
    if (library_.rank() != 0) return {};
    BlockTimes times = block_times(all, command.block);
    times.foreign_cpu_seconds = cpu;
    return to_line(times);
  }

 private:
  struct Memory {
    std::byte* input;
    std::byte* output;
  };

  Memory memory_for(const PeerCommand& command) {
    const PeerLayout layout = peer_layout(command, library_.ranks(), library_.rank());
    const std::size_t element = size_of(command.type);
    const std::uint64_t input = layout.input_elements(command.count) * element;
    const std::uint64_t output = layout.output_elements(command.count) * element;
    if (command.placement == Placement::in_place) {
      std::byte* const both = at_least(output_, std::max(input, output));
      return {both, both};
    }
    return {at_least(input_, input), at_least(output_, output)};
  }

  static std::byte* at_least(PageBuffer& buffer, std::uint64_t bytes) {
    if (buffer.size() < bytes || buffer.data() == nullptr) {
      buffer = PageBuffer();  // the old one first: both may not fit
      buffer = PageBuffer(bytes);
    }
    return buffer.data();
  }

  template <class Call>
  std::uint64_t check(const PeerCommand& command, std::byte* input, std::byte* output,
                      const Call& call) {
    const int ranks = library_.ranks();
    const int rank = library_.rank();
    poison_output(command, ranks, rank, output);
    write_contributions(command, ranks, rank, input);
    call();
    const auto wrong = library_.sum(wrong_elements(command, ranks, rank, output));
    // What the timed calls read: numbers that no repetition in place turns into slow ones.
    const PeerLayout layout = peer_layout(command, ranks, rank);
    fill_with_ones(command.type, input, layout.input_elements(command.count));
    if (input == output)
      fill_with_ones(command.type, output, layout.output_elements(command.count));
    return wrong;
  }

  template <class Call>
  std::vector<double> time(const PeerCommand& command, std::byte* input, const Call& call) {
    library_.barrier();
    for (int i = 0; i < command.block.lead_in; ++i) call();
    if (command.block.lead_in == 0) library_.barrier();
    if (command.block.buffers == Buffers::warm) return time_calls(command.block, call);
    const PeerLayout layout = peer_layout(command, library_.ranks(), library_.rank());
    const auto count = command.count;
    const auto first = static_cast<std::uint64_t>(layout.input_at) * count * size_of(command.type);
    const auto elements = static_cast<std::uint64_t>(layout.input_blocks) * count;
    const auto rewrite = [&] {
      fill_with_ones(command.type, input + first, elements);
      library_.barrier();
    };
    return time_prepared_calls(command.block, rewrite, call);
  }

  Library& library_;
  PageBuffer input_, output_;
  std::optional<PeerCommand> last_;
};

}  // namespace ringside::bench
