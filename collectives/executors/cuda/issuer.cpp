// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/cuda/issuer.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "ringside/base/keep.hpp"
#include "ringside/base/options.hpp"
#include "ringside/collectives/executors/cuda/graph.hpp"
#include "ringside/collectives/executors/cuda/waiting.hpp"

namespace ringside::cuda {
namespace {

/// False if some stream has not come to its end in time.
bool await_end(const std::vector<cudaStream_t>& streams) {
  const host::WaitPolicy policy = short_patience();
  const std::atomic<bool> never{false};
  return std::all_of(streams.begin(), streams.end(), [&](cudaStream_t stream) {
    return await_complete(stream, policy, never).result == host::WaitResult::ready;
  });
}

}  // namespace

Issuer::Issuer(const std::vector<int>& devices)
    : devices_(devices),
      copies_(copy_way()),
      rank_streams_(devices),
      ids_(devices.size(), 0),
      streams_(devices),
      scratch_(devices),
      sums_(static_cast<int>(devices.size())),
      launches_(Stream::on(devices.front())),
      launched_(Event::on(devices.front())),
      graph_scratch_(devices),
      graphs_(option<std::int64_t>("cuda_graphs")),
      user_captures_(devices) {}

Issuer::~Issuer() {
  std::vector<cudaStream_t> all = streams_.made();
  for (int rank = 0; rank < streams_.ranks(); ++rank) all.push_back(rank_streams_.own(rank));
  all.push_back(launches_.get());
  const bool ended = await_end(all);
  (void)cudaGetLastError();
  free_what_graphs_left();
  if (ended) return;
  // The device may still use them.
  keep_for_ever(std::move(streams_));
  keep_for_ever(std::move(scratch_));
  keep_for_ever(std::move(sums_));
  keep_for_ever(std::move(graph_scratch_));
  keep_for_ever(std::move(graphs_));
  keep_for_ever(std::move(rank_streams_));
}

void Issuer::run(const Program& program, std::vector<RankCall> ranks) {
  free_what_graphs_left();
  rank_streams_.complete(ranks);
  if (const auto capture = capture_of(ranks, devices_)) {
    if (program.checks)
      throw Error(ErrorCode::unsupported,
                  "option checksum: a call in a capture, whose sums nobody would compare");
    return user_captures_.issue(*capture, program, ranks, copies_);
  }
  if (!program.steps.empty() && !program.checks) {
    const auto make = [&] { return make_graph(program, ranks, devices_, graph_scratch_, copies_); };
    if (cudaGraphExec_t graph = graphs_.get(program.id, ranks, make)) return launch(graph, ranks);
  }
  follow_streams(ranks);
  issue(program, ranks, streams_, scratch_, {.copies = copies_, .sums = &sums_});
  if (program.checks) {
    for (RankCall& rank : ranks) rank.is_idle = true;  // all are waited for
  }
  rank_streams_.record_done(ranks);
}

void Issuer::barrier(std::vector<RankCall> ranks) {
  rank_streams_.complete(ranks);
  (void)capture_of(ranks, devices_);
  rank_streams_.barrier(ranks);
  rank_streams_.record_done(ranks);
}

std::vector<cudaStream_t> Issuer::used_by(int rank) const {
  std::vector<cudaStream_t> streams = streams_.made(rank);
  streams.push_back(rank_streams_.own(rank));
  streams.push_back(launches_.get());
  return streams;
}

void Issuer::follow_streams(std::span<const RankCall> ranks) {
  CurrentDevice device;  // which the legacy stream goes by
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    unsigned long long id = 0;  // unlike the handle it is never used again
    device.set(devices_[rank]);
    check(cudaStreamGetId(ranks[rank].stream, &id), "cudaStreamGetId", devices_[rank]);
    if (ids_[rank] == id) continue;
    ids_[rank] = id;
    streams_.order.replace(streams_.number_of_user(static_cast<int>(rank)));
  }
}

void Issuer::launch(cudaGraphExec_t graph, std::span<const RankCall> ranks) {
  const int device = devices_.front();
  rank_streams_.let_wait(launches_.get(), device, ranks);
  {
    const DeviceGuard guard(device);
    check(cudaGraphLaunch(graph, launches_.get()), "cudaGraphLaunch", device);
    check(cudaEventRecord(launched_.get(), launches_.get()), "cudaEventRecord", device);
  }
  // Also those of ranks that have given none: each asks its own device how the call has gone.
  rank_streams_.let_follow(ranks, launched_.get());
  rank_streams_.record_done(ranks);
}

}  // namespace ringside::cuda
