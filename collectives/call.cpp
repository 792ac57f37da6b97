// SPDX-License-Identifier: MIT
#include "ringside/collectives/call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <numeric>

#include "ringside/collectives/layout.hpp"

namespace ringside {
namespace {

[[noreturn]] void refuse(const Arguments& arguments, const std::string& why) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: {}", to_string(arguments.collective), why));
}

template <class Enum, std::size_t count>
bool is_one_of(Enum value, const std::array<Enum, count>& all) {
  return std::find(all.begin(), all.end(), value) != all.end();
}

/// The blocks of one rank's buffer, in bytes.
struct Held {
  const Call& call;
  BlockRange range;

  [[nodiscard]] std::size_t block(int number) const {
    return block_length(call.blocks, number) * size_of(call.type);
  }
  [[nodiscard]] std::size_t bytes() const {
    return elements_in(call.blocks, range) * size_of(call.type);
  }
  [[nodiscard]] std::size_t offset(int number) const {
    return elements_before(call.blocks, range, range.position(number)) * size_of(call.type);
  }
};

void check_names(const Arguments& arguments, int ranks) {
  if (static_cast<std::size_t>(arguments.collective) >= collective_names().size())
    throw Error(ErrorCode::invalid_argument, "a call of an unknown collective");
  if (!is_one_of(arguments.type, all_element_types) || !is_one_of(arguments.op, all_reduce_ops))
    refuse(arguments, "an unknown type or operator");
  if (arguments.root < 0 || arguments.root >= ranks)
    refuse(arguments,
           fmt::format("root {} is not a rank: there are {} ranks", arguments.root, ranks));
  if (arguments.root != 0 && !has_root(arguments.collective)) refuse(arguments, "it has no root");
}

void check_lengths(const Arguments& arguments, const Request& request) {
  const auto wanted = static_cast<std::size_t>(block_count(request));
  const auto given = arguments.blocks.size();
  if (given != wanted && (given != 1 || wanted == 0))
    refuse(arguments, fmt::format("{} block lengths for {} blocks", given, wanted));
  const std::size_t most = std::numeric_limits<std::ptrdiff_t>::max() / size_of(arguments.type);
  std::size_t sum = 0;
  for (const auto length : arguments.blocks) {
    if (length > (most - sum) / (given == 1 && wanted > 1 ? wanted : 1))
      refuse(arguments, fmt::format("blocks of {} elements: more than memory can hold", length));
    sum += length;
  }
}

void check_present(const Arguments& arguments, const void* buffer, std::size_t bytes,
                   const char* what) {
  if (bytes > 0 && buffer == nullptr)
    refuse(arguments, fmt::format("a null {} for {} bytes", what, bytes));
}

[[noreturn]] void refuse_overlap(const Arguments& arguments) {
  refuse(arguments, arguments.collective == Collective::all_to_all
                        ? "input and output overlap"
                        : "input and output overlap without being in place");
}

bool overlap(const std::byte* a, std::size_t a_bytes, const std::byte* b, std::size_t b_bytes) {
  const std::less<const std::byte*> before;
  return a_bytes > 0 && b_bytes > 0 && before(a, b + b_bytes) && before(b, a + a_bytes);
}

/// The placement, by the address of the shared block; refuses buffers that overlap otherwise.
Placement placement_of(const Arguments& arguments, const Call& call, const Request& request,
                       int rank) {
  const Held in{call, blocks_in(request, rank, Buffer::input)};
  const Held out{call, blocks_in(request, rank, Buffer::output)};
  const std::size_t in_bytes = in.bytes(), out_bytes = out.bytes();
  check_present(arguments, call.input, in_bytes, "input");
  check_present(arguments, call.output, out_bytes, "output");
  const bool never_in_place = request.collective == Collective::all_to_all;
  const auto shared = shared_block(in.range, out.range);
  const bool decides = !never_in_place && shared && in.block(*shared) > 0;
  if (decides && call.input + in.offset(*shared) == call.output + out.offset(*shared))
    return Placement::in_place;
  if (overlap(call.input, in_bytes, call.output, out_bytes)) refuse_overlap(arguments);
  return decides || never_in_place ? Placement::out_of_place : Placement::either;
}

/// The placement of an all_reduce in which all is well: the collective that is called with the
/// fewest bytes, where checks count. Nothing if a check fails; the thorough ones then tell which.
std::optional<Placement> plain_all_reduce(const Arguments& arguments) {
  if (arguments.collective != Collective::all_reduce || arguments.root != 0 ||
      static_cast<unsigned>(arguments.type) >= all_element_types.size() ||
      static_cast<unsigned>(arguments.op) >= all_reduce_ops.size() || arguments.blocks.size() != 1)
    return std::nullopt;
  const std::size_t elements = arguments.blocks.front();
  constexpr std::size_t plenty = std::numeric_limits<std::ptrdiff_t>::max() / 8;
  if (elements == 0 || elements > plenty || !arguments.input || !arguments.output)
    return std::nullopt;
  if (arguments.input == arguments.output) return Placement::in_place;
  const std::size_t bytes = elements * size_of(arguments.type);
  if (overlap(static_cast<const std::byte*>(arguments.input), bytes,
              static_cast<const std::byte*>(arguments.output), bytes))
    return std::nullopt;
  return Placement::out_of_place;
}

void check_thoroughly(const Arguments& arguments, int rank, int ranks, Call& call) {
  check_names(arguments, ranks);
  const Request request{arguments.collective, ranks, arguments.root, false};
  check_lengths(arguments, request);
  if (!reduces(arguments.collective)) call.op = ReduceOp::sum;
  if (call.blocks.size() > 1 && std::adjacent_find(call.blocks.begin(), call.blocks.end(),
                                                   std::not_equal_to<>()) == call.blocks.end())
    call.blocks = call.blocks.first(1);
  if (call.collective != Collective::barrier)
    call.placement = placement_of(arguments, call, request, rank);
}

}  // namespace

std::string_view to_string(Placement placement) {
  switch (placement) {
    case Placement::out_of_place:
      return "out of place";
    case Placement::in_place:
      return "in place";
    case Placement::either:
      return "no say in the placement";
  }
  return "?";
}

void check_timeout(const CallOptions& options) {
  if (options.timeout && !(options.timeout->count() >= 0))  // also for NaN
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a timeout of {} seconds", options.timeout->count()));
}

Call checked_call(const Arguments& arguments, int rank, int ranks, const CallOptions& options) {
  check_timeout(options);
  Call call{.collective = arguments.collective,
            .placement = Placement::out_of_place,
            .input = static_cast<const std::byte*>(arguments.input),
            .output = static_cast<std::byte*>(arguments.output),
            .blocks = arguments.blocks,
            .type = arguments.type,
            .op = arguments.op,
            .root = arguments.root,
            .options = &options};
  if (const auto placement = plain_all_reduce(arguments))
    call.placement = *placement;
  else
    check_thoroughly(arguments, rank, ranks, call);
  return call;
}

void check_message(const Message& message, int ranks) {
  const auto refuse_message = [&](const std::string& why) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: {}",
                            message.direction == Message::Direction::send ? "send" : "recv", why));
  };
  if (message.direction != Message::Direction::send &&
      message.direction != Message::Direction::receive)
    throw Error(ErrorCode::invalid_argument, "a message of an unknown direction");
  if (message.peer < 0 || message.peer >= ranks)
    refuse_message(
        fmt::format("its peer {} is not a rank: there are {} ranks", message.peer, ranks));
  if (!is_one_of(message.type, all_element_types)) refuse_message("an unknown type");
  if (message.elements > std::numeric_limits<std::ptrdiff_t>::max() / size_of(message.type))
    refuse_message(fmt::format("{} elements: more than memory can hold", message.elements));
  if (message.elements > 0 && message.data == nullptr)
    refuse_message(fmt::format("a null buffer for {} elements", message.elements));
}

bool placement_may_differ(const Call& call, int ranks) {
  if (has_root(call.collective)) return ranks > 1;
  if (call.collective != Collective::reduce_scatter && call.collective != Collective::all_gather)
    return false;
  return call.blocks.size() > 1 &&
         std::find(call.blocks.begin(), call.blocks.end(), 0u) != call.blocks.end();
}

std::vector<std::size_t> all_blocks(const Call& call, int ranks) {
  const auto count = static_cast<std::size_t>(block_count(call.request(ranks, false)));
  if (call.blocks.size() == count) return {call.blocks.begin(), call.blocks.end()};
  return std::vector<std::size_t>(count, call.blocks.front());
}

std::size_t total_elements(const Call& call, int ranks) {
  if (call.blocks.size() == 1)
    return call.blocks[0] * static_cast<std::size_t>(block_count(call.request(ranks, false)));
  return std::accumulate(call.blocks.begin(), call.blocks.end(), std::size_t{0});
}

std::shared_ptr<std::byte> Communicator::Implementation::shared_memory(std::size_t /*bytes*/) {
  throw Error(ErrorCode::unsupported, "there is no shared memory for buffers of these ranks");
}

}  // namespace ringside
