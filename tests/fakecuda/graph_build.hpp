// SPDX-License-Identifier: MIT
/// Graphs that are made node by node, and what graphs keep alive.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "ringside/tests/fakecuda/objects.hpp"

namespace ringside::tests::fakecuda {

class Runtime;

/// Nodes have no objects of their own: a handle says of which graph and which one.
[[nodiscard]] cudaGraphNode_t node_handle(const Graph& graph, std::size_t index);

/// Adds a node behind others of the graph. `work` may be null.
[[nodiscard]] cudaError_t add_graph_node(Graph& graph, const cudaGraphNode_t* after,
                                         std::size_t count, std::shared_ptr<const Work> work,
                                         int device, cudaGraphNode_t* made);

/// References to user objects: one for each time that a handle stands there.
using Retained = std::vector<cudaUserObject_t>;

/// Another owner of the same objects.
void retain(Runtime& runtime, const Retained& objects);
/// Calls the destructors of those that nobody owns any more.
void release(Runtime& runtime, const Retained& objects);

}  // namespace ringside::tests::fakecuda
