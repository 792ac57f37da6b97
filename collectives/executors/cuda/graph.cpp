// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/cuda/graph.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "ringside/collectives/executors/cuda/streams.hpp"

namespace ringside::cuda {
namespace {

constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

class GraphBuilder {
 public:
  GraphBuilder(const Program& program, std::span<const RankCall> ranks,
               const std::vector<int>& devices, Scratch& scratch, CopyWay way)
      : program_(program),
        devices_(devices),
        operands_(program, ranks, scratch, way),
        ends_(program.steps.size()) {
    device_.set(devices_.front());
    cudaGraph_t made = nullptr;
    check(cudaGraphCreate(&made, 0), "cudaGraphCreate", devices_.front());
    graph_ = Graph(made, devices_.front());
  }

  GraphExec run() {
    find_followed();
    for (std::uint32_t i = 0; i < program_.steps.size(); ++i) {
      const Step& step = program_.steps[i];
      try {
        add_step(i);
      } catch (const Error& error) {
        throw located(error, program_, step);
      }
    }
    device_.set(devices_.front());
    cudaGraphExec_t executable = nullptr;
    check(cudaGraphInstantiate(&executable, graph_.get(), 0), "cudaGraphInstantiate",
          devices_.front());
    return {executable, devices_.front()};
  }

 private:
  /// The nodes behind all of which a step is over.
  using Nodes = std::vector<cudaGraphNode_t>;

  [[nodiscard]] int device_of(const Step& step) const {
    return devices_[static_cast<std::size_t>(program_.rank_of(step))];
  }

  /// Of each step: which ones it directly comes behind, and how many edges that takes.
  void find_followed() {
    const std::size_t streams =
        static_cast<std::size_t>(program_.ranks) * static_cast<std::size_t>(program_.lanes);
    std::vector<std::uint32_t> last(streams, none);
    edges_.assign(program_.steps.size(), 0);
    before_.reserve(program_.steps.size());
    for (std::uint32_t i = 0; i < program_.steps.size(); ++i) {
      const Step& step = program_.steps[i];
      before_.push_back(last[step.stream]);
      last[step.stream] = i;
      for (const auto earlier : followed_by(i)) edges_[earlier] += std::max(step.runs, 1u);
    }
  }

  [[nodiscard]] std::vector<std::uint32_t> followed_by(std::uint32_t i) const {
    const auto waits = program_.waits_of(program_.steps[i]);
    std::vector<std::uint32_t> steps(waits.begin(), waits.end());
    if (before_[i] != none) steps.push_back(before_[i]);
    std::sort(steps.begin(), steps.end());
    steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
    return steps;
  }

  void add_step(std::uint32_t i) {
    const Step& step = program_.steps[i];
    Nodes after;
    for (const auto earlier : followed_by(i))
      after.insert(after.end(), ends_[earlier].begin(), ends_[earlier].end());
    device_.set(device_of(step));
    // Runs touch different bytes: side by side.
    for (const Run& run : program_.runs_of(step)) ends_[i].push_back(add_run(step, run, after));
    const std::size_t runs = ends_[i].size(), edges = edges_[i];
    if (runs == 0) ends_[i] = {add_join(step, after)};
    if (runs * edges > runs + edges) ends_[i] = {add_join(step, Nodes(ends_[i]))};
  }

  cudaGraphNode_t add_run(const Step& step, const Run& run, const Nodes& after) {
    const Operation& operation = operands_.of(step, run);
    cudaGraphNode_t node = nullptr;
    if (operation.by_engine)
      check(cudaGraphAddMemcpyNode1D(&node, graph_.get(), after.data(), after.size(),
                                     operation.destinations[0], operation.sources[0],
                                     operation.bytes, cudaMemcpyDefault),
            "cudaGraphAddMemcpyNode1D", device_of(step));
    else
      check(program_.kernels[step.kernel].add_node(
                graph_.get(), after.data(), after.size(), operation.sources.data(),
                operation.destinations.data(), run.elements, &node),
            "cudaGraphAddKernelNode", device_of(step));
    return node;
  }

  cudaGraphNode_t add_join(const Step& step, const Nodes& after) {
    cudaGraphNode_t node = nullptr;
    check(cudaGraphAddEmptyNode(&node, graph_.get(), after.data(), after.size()),
          "cudaGraphAddEmptyNode", device_of(step));
    return node;
  }

  const Program& program_;
  const std::vector<int>& devices_;
  CurrentDevice device_;
  Operands operands_;
  Graph graph_;
  std::vector<std::uint32_t> before_;  // by step: the one before in its stream
  std::vector<std::size_t> edges_;     // by step: nodes that come directly behind it
  std::vector<Nodes> ends_;            // by step
};

}  // namespace

GraphExec make_graph(const Program& program, std::span<const RankCall> ranks,
                     const std::vector<int>& devices, Scratch& scratch, CopyWay way) {
  scratch.reserve(program);
  return GraphBuilder(program, ranks, devices, scratch, way).run();
}

}  // namespace ringside::cuda
