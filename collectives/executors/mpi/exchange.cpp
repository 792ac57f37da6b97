// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/mpi/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace ringside::mpi {
namespace {

/// How long a rank that gives up sees to it that its notices leave.
constexpr Seconds longest_farewell{0.1};

template <class T>
void append(std::vector<std::byte>& bytes, const T& value) {
  const auto* from = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), from, from + sizeof(T));
}

}  // namespace

Tags::Tags(int context, int greatest_tag) : first_(context * count) {
  if (context > greatest_tag / count - 1)
    throw Error(ErrorCode::unsupported,
                fmt::format("more communicators than this MPI has tags for: {}", context));
}

/// An entry as it travels; its message follows.
struct Exchange::EntryHead {
  std::uint64_t digest = 0;
  std::uint64_t message_bytes = 0;
  Memory memory = Memory::apart;
  host::Signature signature;
  std::array<char, 256> spec = {};
};

struct Exchange::Notice {
  Kind kind = Kind::failure;
  int from = 0;
  int code = 0, rank = -1, peer = -1, step = -1;
  std::array<char, 512> words = {};
  std::uint64_t call = 0;
};

Exchange::Exchange(Board& board, Tags tags, std::size_t most_inline)
    : board_(board),
      transport_(board.team().transport()),
      tags_(tags),
      most_inline_(most_inline),
      last_calls_(static_cast<std::size_t>(board.ranks()),
                  std::numeric_limits<std::uint64_t>::max()),
      answered_(static_cast<std::size_t>(board.ranks())) {
  if (!board_.leads()) return;
  for (const auto& ranks : board_.far_hosts()) {
    FarHost& host = hosts_.emplace_back();
    host.leader = ranks.front();
    post_receive(host, ranks.size());
  }
}

Exchange::~Exchange() {
  for (FarHost& host : hosts_) transport_.drop(host.ticket);
  for (Ticket& ticket : bundle_.tickets) transport_.drop(ticket);
  for (Sent& notice : notices_)
    for (Ticket& ticket : notice.tickets) transport_.drop(ticket);
}

std::size_t Exchange::most_bytes(std::size_t ranks) const {
  return ranks * (sizeof(EntryHead) + most_inline_);
}

void Exchange::post_receive(FarHost& host, std::size_t ranks) {
  host.buffer.resize(most_bytes(ranks));
  host.ticket = transport_.receive(host.buffer.data(), host.buffer.size(),
                                   board_.member(host.leader), tags_.entries());
}

bool Exchange::send_entries(std::uint64_t call) {
  if (sent_ == call) return true;
  for (const int rank : board_.near())
    if (board_.entry(rank, call).call.load(std::memory_order_acquire) != call) return false;
  pack(call, bundle_.bytes);
  bundle_.tickets.clear();
  for (const FarHost& host : hosts_)
    bundle_.tickets.push_back(transport_.send(bundle_.bytes.data(), bundle_.bytes.size(),
                                              board_.member(host.leader), tags_.entries()));
  sent_ = call;
  return true;
}

bool Exchange::move_entries(std::uint64_t call) {
  bool over = send_entries(call);
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    FarHost& host = hosts_[i];
    const auto& ranks = board_.far_hosts()[i];
    if (host.received == call) continue;
    if (!transport_.done(host.ticket)) {
      over = false;
      continue;
    }
    unpack(host, ranks, call);
    host.received = call;
    post_receive(host, ranks.size());  // for the next call: early, or it would be copied
  }
  for (Ticket& ticket : bundle_.tickets) over = transport_.done(ticket) && over;
  return over;
}

void Exchange::pack(std::uint64_t call, std::vector<std::byte>& bytes) const {
  bytes.clear();
  for (const int rank : board_.near()) {
    const Entry& entry = board_.entry(rank, call);
    EntryHead head;
    head.digest = entry.digest;
    head.signature = entry.signature;
    head.spec = entry.spec;
    head.message_bytes = entry.message_bytes;
    if (entry.message_bytes == 0) head.memory = entry.where.memory;
    append(bytes, head);
    bytes.insert(bytes.end(), entry.message, entry.message + head.message_bytes);
  }
}

void Exchange::unpack(const FarHost& host, const std::vector<int>& ranks, std::uint64_t call) {
  const std::byte* at = host.buffer.data();
  for (const int rank : ranks) {
    EntryHead head;
    std::memcpy(static_cast<void*>(&head), at, sizeof(head));
    at += sizeof(head);
    Entry& entry = board_.entry(rank, call);
    entry.digest = head.digest;
    entry.signature = head.signature;
    entry.spec = head.spec;
    if (head.message_bytes > 0)
      std::memcpy(entry.message, at, head.message_bytes);
    else
      entry.where = {.memory = head.memory};
    at += head.message_bytes;
    entry.call.store(call, std::memory_order_release);
  }
}

// --- notices -------------------------------------------------------------------------------------

void Exchange::send_notice(const Notice& notice, int rank) {
  Sent& sent = notices_.emplace_back();
  append(sent.bytes, notice);
  sent.tickets.push_back(
      transport_.send(sent.bytes.data(), sent.bytes.size(), board_.member(rank), tags_.notices()));
}

void Exchange::forget_sent_notices() {
  std::erase_if(notices_, [&](Sent& notice) { return transport_.done(notice.tickets.front()); });
}

void Exchange::send_to_all(const Notice& notice) {
  if (board_.one_host()) return;
  const std::lock_guard lock(mutex_);
  for (const auto& ranks : board_.far_hosts())
    for (const int rank : ranks) send_notice(notice, rank);
  const Stopwatch since;
  do {
    forget_sent_notices();
  } while (!notices_.empty() && since.elapsed() < longest_farewell);
}

void Exchange::send_failure(const Error& cause) {
  FailureRecord record;
  (void)record.store(cause);
  send_to_all({.kind = Kind::failure,
               .from = board_.rank(),
               .code = record.code,
               .rank = record.rank,
               .peer = record.peer,
               .step = record.step,
               .words = record.words});
}

void Exchange::send_gone(std::uint64_t last_call) {
  send_to_all({.kind = Kind::gone, .from = board_.rank(), .call = last_call});
}

void Exchange::ask(int rank) {
  const std::lock_guard lock(mutex_);
  answered_[static_cast<std::size_t>(rank)] = false;
  send_notice({.kind = Kind::question, .from = board_.rank()}, rank);
}

void Exchange::read_notices() {
  if (board_.one_host()) return;
  const std::lock_guard lock(mutex_);
  forget_sent_notices();
  for (;;) {
    const Incoming incoming = transport_.incoming(tags_.notices());
    if (incoming.from < 0) return;
    Notice notice;
    Ticket ticket = transport_.receive(&notice, sizeof(notice), incoming.from, tags_.notices());
    while (!transport_.done(ticket)) {
    }
    switch (notice.kind) {
      case Kind::failure: {
        Error cause(static_cast<ErrorCode>(notice.code), notice.words.data());
        if (notice.rank >= 0) cause.at_rank(notice.rank);
        if (notice.peer >= 0) cause.with_peer(notice.peer);
        if (notice.step >= 0) cause.at_step(notice.step);
        board_.failure().store(cause);
        break;
      }
      case Kind::gone:
        last_calls_[static_cast<std::size_t>(notice.from)] = notice.call;
        break;
      case Kind::question:
        send_notice({.kind = Kind::answer, .from = board_.rank()}, notice.from);
        break;
      case Kind::answer:
        answered_[static_cast<std::size_t>(notice.from)] = true;
        break;
    }
  }
}

}  // namespace ringside::mpi
