// SPDX-License-Identifier: MIT
/// A plug-in in C++ of what plug-ins do wrong. All but one of its algorithms serve every collective
/// that has data. What they do it is told by the functions at the end.
#include <ringside/ringside_algorithm.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace {

using Request = ringside_request_v1;
using Sink = ringside_sink_v1;
using Argument = ringside_argument_v1;
using Build = std::int32_t (*)(const Request*, const Argument*, std::size_t, Sink*);

bool shape(Sink* sink, std::int32_t chunks = 1) {
  const ringside_shape_v1 wanted = {sizeof wanted, chunks, 1, 1};
  return sink->set_shape(sink, &wanted) == 0;
}

/// Rank `at` stores the sum of these ranks' running values of a chunk as its own.
bool fold(Sink* sink, std::int32_t at, const std::vector<std::int32_t>& from, std::int32_t chunk) {
  std::vector<ringside_location_v1> sources;
  for (const std::int32_t rank : from) sources.push_back({rank, RINGSIDE_RUNNING, 0, chunk});
  const ringside_location_v1 to = {at, RINGSIDE_RUNNING, 0, chunk};
  const ringside_op_v1 op = {
      sizeof op, at, 0, 1, static_cast<std::uint32_t>(sources.size()), 1, sources.data(), &to};
  return sink->add_op(sink, &op) == 0;
}

/// An all-reduce in blocks of so many chunks, at rank 0.
std::int32_t star(const Request& request, std::int32_t chunks, Sink* sink) {
  if (request.collective != RINGSIDE_ALL_REDUCE) return RINGSIDE_BUILD_UNSUPPORTED;
  if (!shape(sink, chunks)) return RINGSIDE_BUILD_FAILED;
  std::vector<std::int32_t> all;
  for (std::int32_t rank = 0; rank < request.ranks; ++rank) all.push_back(rank);
  for (std::int32_t chunk = 0; chunk < chunks; ++chunk) {
    if (!fold(sink, 0, all, chunk)) return RINGSIDE_BUILD_FAILED;
    for (std::int32_t rank = 1; rank < request.ranks; ++rank)
      if (!fold(sink, rank, {0}, chunk)) return RINGSIDE_BUILD_FAILED;
  }
  return RINGSIDE_BUILD_OK;
}

std::int32_t throws(const Request*, const Argument*, std::size_t, Sink* sink) {
  (void)shape(sink);
  throw std::runtime_error("out of its depth");
}

std::int32_t throws_a_number(const Request*, const Argument*, std::size_t, Sink*) { throw 42; }

std::int32_t fails(const Request*, const Argument*, std::size_t, Sink* sink) {
  sink->explain(sink, "not in the mood");
  return RINGSIDE_BUILD_FAILED;
}

std::int32_t wrong(const Request*, const Argument*, std::size_t, Sink* sink) {
  return shape(sink) && fold(sink, 0, {1}, 0) ? RINGSIDE_BUILD_OK : RINGSIDE_BUILD_FAILED;
}

/// Other shapes in turn.
std::int32_t drifts(const Request*, const Argument*, std::size_t, Sink* sink) {
  static std::atomic<std::int32_t> asked{0};
  return shape(sink, asked.fetch_add(1) % 2 + 1) && fold(sink, 0, {0}, 0) ? RINGSIDE_BUILD_OK
                                                                          : RINGSIDE_BUILD_FAILED;
}

/// Long ops, without end.
std::int32_t endless(const Request*, const Argument*, std::size_t, Sink* sink) {
  if (!shape(sink)) return RINGSIDE_BUILD_FAILED;
  while (fold(sink, 0, std::vector<std::int32_t>(1024, 0), 0)) {
  }
  return RINGSIDE_BUILD_FAILED;
}

std::atomic<int> inside{0}, let_go{0};

/// Never comes back by itself, nor calls anything of Ringside's.
std::int32_t stuck(const Request*, const Argument*, std::size_t, Sink*) {
  const int before = let_go;
  ++inside;
  while (let_go == before) ::usleep(1000);
  --inside;
  return RINGSIDE_BUILD_FAILED;
}

std::atomic<std::int32_t> chunks_here{1};

/// Right, but another plan where it was told so.
std::int32_t local(const Request* request, const Argument*, std::size_t, Sink* sink) {
  return star(*request, chunks_here, sink);
}

constexpr std::uint32_t all_collectives = (1u << RINGSIDE_BARRIER) - 1;

constexpr ringside_algorithm_v1 algorithm(const char* name, Build build) {
  return {sizeof(ringside_algorithm_v1),
          RINGSIDE_ALGORITHM_VERSION,
          name,
          "what plug-ins do wrong",
          nullptr,
          all_collectives,
          0,
          nullptr,
          nullptr,
          build};
}

constexpr std::array algorithms = {
    algorithm("plugin_throws", throws), algorithm("plugin_throws_a_number", throws_a_number),
    algorithm("plugin_fails", fails),   algorithm("plugin_wrong", wrong),
    algorithm("plugin_drifts", drifts), algorithm("plugin_endless", endless),
    algorithm("plugin_stuck", stuck),   algorithm("plugin_local", local),
};

}  // namespace

extern "C" {

const ringside_algorithm_v1* const* ringside_algorithms_v1(std::size_t* count) {
  static std::array<const ringside_algorithm_v1*, algorithms.size()> list;
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = &algorithms[i];
  *count = list.size();
  return list.data();
}

/// Makes plugin_stuck return, where it is stuck.
__attribute__((visibility("default"))) void faulty_plugin_let_go() { ++let_go; }
/// In how many pieces plugin_local cuts the data from now on.
__attribute__((visibility("default"))) void faulty_plugin_set_chunks(std::int32_t chunks) {
  chunks_here = chunks;
}

}  // extern "C"
