// SPDX-License-Identifier: MIT
#include "ringside/collectives/cost.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ringside/base/error.hpp"
#include "ringside/collectives/dependencies.hpp"

namespace ringside {
namespace {

int hops_of(const Op& op) {
  const auto remote = [&](const Location& location) { return location.rank != op.rank; };
  return (std::any_of(op.sources.begin(), op.sources.end(), remote) ? 1 : 0) +
         (std::any_of(op.destinations.begin(), op.destinations.end(), remote) ? 1 : 0);
}

/// Hops on the longest path through the (op, slice)s: in (slice, listed index) order, each comes
/// after the one before it in its stream and after its waits. Only as many slices are kept as waits
/// look back.
int longest_path(const Plan& plan) {
  const Schedule schedule = make_schedule(plan);
  const std::size_t ops = plan.size();
  std::vector<int> hops(ops);
  for (std::size_t op = 0; op < ops; ++op) hops[op] = hops_of(plan.op(op));
  int lag = 0;
  for (const Wait& wait : schedule.wait_list) lag = std::max(lag, wait.lag);

  std::vector<std::vector<int>> ends(static_cast<std::size_t>(lag) + 1, std::vector<int>(ops, 0));
  std::vector<int> stream_end(schedule.streams.size(), 0);
  const auto ends_of = [&](int slice) -> std::vector<int>& {
    return ends[static_cast<std::size_t>(slice) % ends.size()];
  };
  for (int slice = 0; slice < plan.shape().slices; ++slice)
    for (std::size_t op = 0; op < ops; ++op) {
      int& end = stream_end[static_cast<std::size_t>(schedule.stream_of[op])];
      for (const Wait& wait : schedule.waits(static_cast<int>(op))) {
        if (wait.lag > slice) continue;
        const auto other = schedule.streams[static_cast<std::size_t>(wait.stream)]
                                           [static_cast<std::size_t>(wait.position)];
        end = std::max(end, ends_of(slice - wait.lag)[static_cast<std::size_t>(other)]);
      }
      end += hops[op];
      ends_of(slice)[op] = end;
    }
  return stream_end.empty() ? 0 : *std::max_element(stream_end.begin(), stream_end.end());
}

class Counter {
 public:
  Counter(const Plan& plan, std::span<const std::size_t> block_elements, std::size_t element_bytes)
      : plan_(plan), ranks_(static_cast<std::size_t>(plan.ranks())) {
    if (block_elements.size() != static_cast<std::size_t>(block_count(plan.request())))
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("lengths of {} blocks given for a plan of {}", block_elements.size(),
                              block_count(plan.request())));
    const auto parts = static_cast<std::size_t>(plan.shape().chunks_per_block);
    const auto slices = static_cast<std::size_t>(plan.shape().slices);
    up_to_.push_back(0);
    slice_up_to_.push_back(0);
    for (const std::size_t elements : block_elements)
      for (std::size_t part = 0; part < parts; ++part) {
        const std::size_t length = part_of(elements, parts, part).length;
        up_to_.push_back(up_to_.back() + length * element_bytes);
        slice_up_to_.push_back(slice_up_to_.back() +
                               part_of(length, slices, 0).length * element_bytes);
      }
    cost_.sent.resize(ranks_);
    cost_.received.resize(ranks_);
    cost_.scratch.resize(ranks_);
    between_.resize(ranks_);
  }

  Cost run() {
    cost_.ops = plan_.size();
    for (std::size_t index = 0; index < plan_.size(); ++index) {
      const Op op = plan_.op(index);
      const auto bytes = bytes_of(up_to_, op.chunk(), op.count);
      for (const auto& from : op.sources) move(from.rank, op.rank, bytes);
      for (const auto& to : op.destinations) move(op.rank, to.rank, bytes);
    }
    for (std::size_t from = 0; from < ranks_; ++from) {
      auto& links = between_[from];
      std::sort(links.begin(), links.end(),
                [](const auto& a, const auto& b) { return a.to < b.to; });
      for (const auto& link : links)
        if (link.bytes > 0) cost_.links.push_back(link);
    }
    for (int rank = 0; rank < plan_.ranks(); ++rank)
      for (const auto& slot : plan_.scratch(rank))
        cost_.scratch[static_cast<std::size_t>(rank)] +=
            static_cast<std::uint64_t>(plan_.shape().depth) *
            bytes_of(slice_up_to_, slot.first_chunk, slot.chunk_count);
    cost_.steps = longest_path(plan_);
    return std::move(cost_);
  }

 private:
  static std::uint64_t bytes_of(const std::vector<std::uint64_t>& up_to, int chunk, int count) {
    return up_to[static_cast<std::size_t>(chunk + count)] - up_to[static_cast<std::size_t>(chunk)];
  }

  void move(int from, int to, std::uint64_t bytes) {
    if (from == to) return;
    ++cost_.transfers;
    cost_.sent[static_cast<std::size_t>(from)] += bytes;
    cost_.received[static_cast<std::size_t>(to)] += bytes;
    auto& links = between_[static_cast<std::size_t>(from)];
    const auto known =
        std::find_if(links.begin(), links.end(), [&](const auto& link) { return link.to == to; });
    if (known == links.end())
      links.push_back({from, to, bytes});
    else
      known->bytes += bytes;
  }

  const Plan& plan_;
  std::size_t ranks_;
  std::vector<std::uint64_t> up_to_;        // bytes of all chunks before this one
  std::vector<std::uint64_t> slice_up_to_;  // the same of their longest slices
  std::vector<std::vector<LinkBytes>> between_;
  Cost cost_;
};

std::uint64_t most(const std::vector<std::uint64_t>& bytes) {
  return bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end());
}

}  // namespace

std::uint64_t Cost::busiest_sent() const { return most(sent); }
std::uint64_t Cost::busiest_received() const { return most(received); }

Cost cost_of(const Plan& plan, std::span<const std::size_t> block_elements,
             std::size_t element_bytes) {
  return Counter(plan, block_elements, element_bytes).run();
}

}  // namespace ringside
