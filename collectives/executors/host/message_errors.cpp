// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/host/message_errors.hpp"

#include <fmt/format.h>

#include <string>

#include "ringside/base/text.hpp"

namespace ringside::host {
namespace {

bool sends(const Message& message) { return message.direction == Message::Direction::send; }

Error missing(const Message& message, int rank, const std::string& why) {
  const auto end = fmt::format("{} {}", message.elements, to_string(message.type));
  const std::string what = sends(message)
                               ? fmt::format("rank {} has not received the {} that rank {} sent",
                                             message.peer, end, rank)
                               : fmt::format("rank {} has not sent the {} that rank {} expects",
                                             message.peer, end, rank);
  return Error(ErrorCode::timeout, what + why).at_rank(rank).with_peer(message.peer);
}

}  // namespace

Error message_mismatch(const Message& message, int rank, std::size_t peer_elements,
                       ElementType peer_type) {
  const auto told = [](int from, int to, std::size_t sent, ElementType sent_type,
                       std::size_t expected, ElementType expected_type) {
    return fmt::format("rank {} sent {} {} to rank {}, which expected {} {}", from, sent,
                       to_string(sent_type), to, expected, to_string(expected_type));
  };
  return Error(ErrorCode::mismatch, sends(message)
                                        ? told(rank, message.peer, message.elements, message.type,
                                               peer_elements, peer_type)
                                        : told(message.peer, rank, peer_elements, peer_type,
                                               message.elements, message.type))
      .at_rank(rank)
      .with_peer(message.peer);
}

Error message_overdue(const Message& message, int rank, Seconds limit) {
  return missing(message, rank, fmt::format(" after {}", format_duration(limit)));
}

Error message_without_peer(const Message& message, int rank) {
  return missing(message, rank, fmt::format(": rank {} has returned without it", message.peer));
}

}  // namespace ringside::host
