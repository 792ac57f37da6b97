// SPDX-License-Identifier: MIT
/// Entry points: graphs made node by node, user objects.
#include <algorithm>

#include "ringside/tests/fakecuda/api.hpp"
#include "ringside/tests/fakecuda/api_work.hpp"
#include "ringside/tests/fakecuda/graph_build.hpp"

using namespace ringside::tests::fakecuda;

namespace {

/// Work that `make(runtime, device, work)` makes, as a node of a graph; for the current device.
template <class Make>
cudaError_t add(const Entry& entry, cudaGraphNode_t* node, cudaGraph_t handle,
                const cudaGraphNode_t* after, std::size_t count, Make&& make) {
  return device_call(entry, [&](Runtime& runtime, ThreadState& thread, Runtime::Lock&) {
    Graph* graph = runtime.graphs.find(handle);
    if (graph == nullptr || graph->under_capture) return cudaErrorInvalidValue;
    std::shared_ptr<Work> work;
    if (const cudaError_t error = make(runtime, thread.device, work)) return error;
    return add_graph_node(*graph, after, count, std::move(work), thread.device, node);
  });
}

bool is_count(unsigned count) { return count > 0 && count <= 0x7fffffffu; }

}  // namespace

extern "C" {

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  static const Entry entry("cudaGraphCreate");
  return device_call(entry, [&](Runtime& runtime, ThreadState&, Runtime::Lock&) {
    if (graph == nullptr || flags != 0) return cudaErrorInvalidValue;
    *graph = runtime.graphs.add(std::make_unique<Graph>()).handle;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                  const cudaGraphNode_t* after, std::size_t count) {
  static const Entry entry("cudaGraphAddEmptyNode");
  return add(entry, node, graph, after, count,
             [](Runtime&, int, std::shared_ptr<Work>&) { return cudaSuccess; });
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* after, std::size_t count,
                                   const cudaKernelNodeParams* parameters) {
  static const Entry entry("cudaGraphAddKernelNode");
  return add(entry, node, graph, after, count,
             [&](Runtime& runtime, int device, std::shared_ptr<Work>& work) {
               // Packed parameters: nobody here has them.
               if (parameters == nullptr || parameters->kernelParams == nullptr ||
                   parameters->extra != nullptr)
                 return cudaErrorInvalidValue;
               return kernel_work(runtime, parameters->func, parameters->gridDim,
                                  parameters->blockDim, parameters->kernelParams, device, work);
             });
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* after, std::size_t count, void* to,
                                     const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  static const Entry entry("cudaGraphAddMemcpyNode1D");
  return add(entry, node, graph, after, count,
             [&](Runtime& runtime, int device, std::shared_ptr<Work>& work) {
               return copy_work(runtime, to, from, bytes, kind, device, work);
             });
}

cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* data, cudaHostFn_t destroy,
                                 unsigned references, unsigned flags) {
  static const Entry entry("cudaUserObjectCreate");
  return call(entry, [&](Runtime& runtime, ThreadState&, Runtime::Lock&) {
    if (object == nullptr || destroy == nullptr || !is_count(references) ||
        flags != cudaUserObjectNoDestructorSync)
      return cudaErrorInvalidValue;
    auto made = std::make_unique<UserObject>();
    made->data = data;
    made->destroy = destroy;
    made->references = references;
    *object = runtime.user_objects.add(std::move(made)).handle;
    return cudaSuccess;
  });
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t handle, unsigned count) {
  static const Entry entry("cudaUserObjectRelease");
  return call(entry, [&](Runtime& runtime, ThreadState&, Runtime::Lock&) {
    const UserObject* object = runtime.user_objects.find(handle);
    if (object == nullptr || !is_count(count) || count > object->references)
      return runtime.misuse(cudaErrorInvalidValue, "cudaUserObjectRelease of what is not owned");
    release(runtime, Retained(count, handle));
    return cudaSuccess;
  });
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph_handle, cudaUserObject_t handle,
                                      unsigned count, unsigned flags) {
  static const Entry entry("cudaGraphRetainUserObject");
  return call(entry, [&](Runtime& runtime, ThreadState&, Runtime::Lock&) {
    Graph* graph = runtime.graphs.find(graph_handle);
    const UserObject* object = runtime.user_objects.find(handle);
    if (graph == nullptr || object == nullptr || !is_count(count) ||
        (flags != 0 && flags != cudaGraphUserObjectMove))
      return cudaErrorInvalidValue;
    const Retained references(count, handle);
    if (flags == 0) retain(runtime, references);
    graph->retained.insert(graph->retained.end(), references.begin(), references.end());
    return cudaSuccess;
  });
}

}  // extern "C"
