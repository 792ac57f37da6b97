// SPDX-License-Identifier: MIT
#include "ringside/tests/fakecuda/graph_build.hpp"

#include <algorithm>

#include "ringside/tests/fakecuda/runtime.hpp"

namespace ringside::tests::fakecuda {
namespace {

constexpr unsigned index_bits = 24;

/// By branch: how many of the graph's first nodes hold all of its nodes that come before.
using Reached = std::vector<std::uint32_t>;

Reached reached_by(const Graph& graph, const std::vector<std::uint32_t>& after) {
  Reached reached(graph.branches, 0);
  for (const std::uint32_t earlier : after) {
    const Reached& before = graph.reached[earlier];
    for (std::size_t branch = 0; branch < before.size(); ++branch)
      reached[branch] = std::max(reached[branch], before[branch]);
  }
  return reached;
}

/// A branch whose last node comes before the new one in any case, or a new branch: the order of a
/// branch must not be more than what edges say. Of several the latest: others need it least.
std::uint32_t branch_for(Graph& graph, const Reached& reached, int device) {
  std::uint32_t best = graph.branches;
  for (std::uint32_t branch = 0; branch < graph.branches; ++branch)
    if (graph.branch_devices[branch] == device && reached[branch] == graph.branch_ends[branch] &&
        (best == graph.branches || reached[branch] > reached[best]))
      best = branch;
  if (best < graph.branches) return best;
  graph.branch_devices.push_back(device);
  graph.branch_ends.push_back(0);
  return graph.branches++;
}

}  // namespace

cudaGraphNode_t node_handle(const Graph& graph, std::size_t index) {
  const auto base = reinterpret_cast<std::uintptr_t>(graph.handle) << index_bits;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a handle is a number
  return reinterpret_cast<cudaGraphNode_t>(base + index + 1);
}

cudaError_t add_graph_node(Graph& graph, const cudaGraphNode_t* after, std::size_t count,
                           std::shared_ptr<const Work> work, int device, cudaGraphNode_t* made) {
  if (made == nullptr || (after == nullptr && count > 0)) return cudaErrorInvalidValue;
  Node node;
  for (std::size_t i = 0; i < count; ++i) {
    const auto handle = reinterpret_cast<std::uintptr_t>(after[i]);
    const std::uintptr_t index = handle - reinterpret_cast<std::uintptr_t>(node_handle(graph, 0));
    if (index >= graph.nodes.size()) return cudaErrorInvalidValue;
    node.after.push_back(static_cast<std::uint32_t>(index));
  }
  std::vector<std::uint32_t> sorted = node.after;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return cudaErrorInvalidValue;
  node.work = std::move(work);
  Reached reached = reached_by(graph, node.after);
  node.branch = branch_for(graph, reached, device);
  reached.resize(graph.branches);
  reached[node.branch] = graph.branch_ends[node.branch] =
      static_cast<std::uint32_t>(graph.nodes.size() + 1);
  graph.reached.push_back(std::move(reached));
  *made = node_handle(graph, graph.nodes.size());
  graph.nodes.push_back(std::move(node));
  return cudaSuccess;
}

void retain(Runtime& runtime, const Retained& objects) {
  for (cudaUserObject_t handle : objects) ++runtime.user_objects.find(handle)->references;
}

void release(Runtime& runtime, const Retained& objects) {
  for (cudaUserObject_t handle : objects) {
    UserObject& object = *runtime.user_objects.find(handle);
    if (--object.references > 0) continue;
    const UserObject last = object;
    runtime.user_objects.remove(handle);
    last.destroy(last.data);  // it may not call the runtime
  }
}

}  // namespace ringside::tests::fakecuda
