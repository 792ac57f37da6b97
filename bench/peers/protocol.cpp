// SPDX-License-Identifier: MIT
#include "ringside/bench/peers/protocol.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"

namespace ringside::bench {
namespace {

constexpr std::string_view verb_name(PeerCommand::Verb verb) {
  return verb == PeerCommand::Verb::ask ? "ask" : "run";
}

/// A number written so that reading it gives the same number.
std::string exact(double number) { return fmt::format("{}", number); }

}  // namespace

bool PeerCommand::same_call(const PeerCommand& other) const {
  return collective == other.collective && root == other.root && count == other.count &&
         type == other.type && op == other.op && placement == other.placement;
}

std::string to_line(const PeerCommand& command) {
  if (command.verb == PeerCommand::Verb::quit) return "quit";
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {}", verb_name(command.verb),
                     to_string(command.collective), command.count, to_string(command.type),
                     to_string(command.op), command.placement == Placement::in_place ? "in" : "out",
                     command.root, to_string(command.block.buffers), command.block.samples,
                     command.block.calls_per_sample, command.block.lead_in);
}

PeerCommand parse_peer_command(std::string_view line) {
  const auto words = split_blanks(line);
  const auto refuse = [&] {
    return Error(ErrorCode::bad_input, fmt::format("no command: {}", quote(line)));
  };
  PeerCommand command;
  if (words.size() == 1 && words[0] == "quit") {
    command.verb = PeerCommand::Verb::quit;
    return command;
  }
  if (words.size() != 11 || (words[0] != "run" && words[0] != "ask")) throw refuse();
  command.verb = words[0] == "ask" ? PeerCommand::Verb::ask : PeerCommand::Verb::run;
  const auto word = [&](std::size_t place, std::string_view no, std::string_view yes) {
    if (words[place] != no && words[place] != yes) throw refuse();
    return words[place] == yes;
  };
  const auto number = [&](std::size_t place, std::int64_t least, std::int64_t most) {
    const auto value = parse_int(words[place], least, most);
    if (!value) throw refuse();
    return *value;
  };
  constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
  const auto collective = parse_collective(words[1]);
  const auto type = parse_element_type(words[3]);
  const auto op = parse_reduce_op(words[4]);
  if (!collective || !type || !op) throw refuse();
  command.collective = *collective;
  command.count = static_cast<std::uint64_t>(number(2, 0, any));
  command.type = *type;
  command.op = *op;
  command.placement = word(5, "out", "in") ? Placement::in_place : Placement::out_of_place;
  command.root = static_cast<int>(number(6, 0, max_ranks - 1));
  const auto buffers = std::find_if(all_buffers.begin(), all_buffers.end(),
                                    [&](Buffers one) { return to_string(one) == words[7]; });
  if (buffers == all_buffers.end()) throw refuse();
  command.block.buffers = *buffers;
  command.block.samples = number(8, 1, 1'000'000'000);
  command.block.calls_per_sample = number(9, 1, any);
  command.block.lead_in = static_cast<int>(number(10, 0, 1'000'000'000));
  return command;
}

std::string to_line(const BlockTimes& times) {
  std::string line = "times";
  for (const auto* list : {&times.rank_seconds, &times.sample_seconds}) {
    line += fmt::format(" {}", list->size());
    for (const double seconds : *list) line += " " + exact(seconds);
  }
  return line + " cpu " + exact(times.foreign_cpu_seconds);
}

BlockTimes parse_times(const std::string& line, std::size_t ranks, std::size_t samples) {
  const auto words = split_blanks(line);
  const auto wrong = [&](std::string_view why) {
    return Error(ErrorCode::failed, fmt::format("the peer answered {} ({})", quote(line), why));
  };
  if (!words.empty() && words[0] == "error") throw Error(ErrorCode::failed, "the peer: " + line);
  if (words.size() != ranks + samples + 5 || words[0] != "times" ||
      words[words.size() - 2] != "cpu")
    throw wrong("not the times asked for");
  const auto seconds = [&](std::size_t place) {
    const auto number = parse_number(words[place]);
    if (!number || *number < 0) throw wrong("not a time");
    return *number;
  };
  const auto list = [&](std::size_t first, std::size_t count) {
    if (parse_int(words[first]) != static_cast<std::int64_t>(count)) throw wrong("other counts");
    std::vector<double> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(seconds(first + 1 + i));
    return all;
  };
  return {.rank_seconds = list(1, ranks),
          .sample_seconds = list(ranks + 2, samples),
          .foreign_cpu_seconds = seconds(words.size() - 1)};
}

}  // namespace ringside::bench
