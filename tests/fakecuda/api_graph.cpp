// SPDX-License-Identifier: MIT
/// Entry points: stream capture and graphs.
#include <algorithm>

#include "ringside/tests/fakecuda/api.hpp"
#include "ringside/tests/fakecuda/capture.hpp"
#include "ringside/tests/fakecuda/graph_build.hpp"

using namespace ringside::tests::fakecuda;

namespace {

cudaStreamCaptureStatus status_of(const Stream& stream) {
  if (!stream.capturing()) return cudaStreamCaptureStatusNone;
  return stream.capture->invalidated ? cudaStreamCaptureStatusInvalidated
                                     : cudaStreamCaptureStatusActive;
}

cudaError_t instantiate_graph(const Entry& entry, cudaGraphExec_t* executable, cudaGraph_t handle) {
  return device_call(entry, [&](Runtime& runtime, ThreadState&, Runtime::Lock&) {
    const Graph* graph = runtime.graphs.find(handle);
    if (executable == nullptr || graph == nullptr || graph->under_capture)
      return cudaErrorInvalidValue;
    *executable = runtime.executables.add(instantiate(runtime, *graph)).handle;
    return cudaSuccess;
  });
}

}  // namespace

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  static const Entry entry("cudaStreamBeginCapture");
  return stream_call(entry, handle, [&](Runtime& runtime, Stream& stream, Runtime::Lock&) {
    if (mode < cudaStreamCaptureModeGlobal || mode > cudaStreamCaptureModeRelaxed)
      return cudaErrorInvalidValue;
    return begin_capture(runtime, stream, mode);
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  static const Entry entry("cudaStreamEndCapture");
  return stream_call(entry, handle, [&](Runtime& runtime, Stream& stream, Runtime::Lock&) {
    if (graph == nullptr) return cudaErrorInvalidValue;
    return end_capture(runtime, stream, *graph);
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  static const Entry entry("cudaStreamIsCapturing");
  return stream_call(entry, handle, [&](Runtime& runtime, Stream& stream, Runtime::Lock&) {
    if (status == nullptr) return cudaErrorInvalidValue;
    if (legacy_in_capture(runtime, stream)) return cudaErrorStreamCaptureImplicit;
    *status = status_of(stream);
    return cudaSuccess;
  });
}

#if CUDART_VERSION >= 13000
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** nodes, const cudaGraphEdgeData** edges,
                                     std::size_t* count) {  // NOLINT: as the runtime has it
#else
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** nodes, std::size_t* count) {
  const cudaGraphEdgeData** edges = nullptr;
#endif
  static const Entry entry("cudaStreamGetCaptureInfo");
  return stream_call(entry, handle, [&](Runtime& runtime, Stream& stream, Runtime::Lock&) {
    if (status == nullptr) return cudaErrorInvalidValue;
    if (legacy_in_capture(runtime, stream)) return cudaErrorStreamCaptureImplicit;
    // Nodes are added by captured calls alone.
    if (nodes != nullptr || edges != nullptr || count != nullptr) return cudaErrorNotSupported;
    *status = status_of(stream);
    if (id != nullptr && stream.capturing()) *id = stream.capture->id;
    if (graph != nullptr && stream.capturing()) *graph = stream.capture->graph->handle;
    return cudaSuccess;
  });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  static const Entry entry("cudaThreadExchangeStreamCaptureMode");
  return call(entry, [&](Runtime&, ThreadState& thread, Runtime::Lock&) {
    if (mode == nullptr || *mode < cudaStreamCaptureModeGlobal ||
        *mode > cudaStreamCaptureModeRelaxed)
      return cudaErrorInvalidValue;
    std::swap(*mode, thread.capture_mode);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long) {
  static const Entry entry("cudaGraphInstantiate");
  return instantiate_graph(entry, executable, graph);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long) {
  static const Entry entry("cudaGraphInstantiateWithFlags");
  return instantiate_graph(entry, executable, graph);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream_handle) {
  static const Entry entry("cudaGraphLaunch");
  return stream_call(entry, stream_handle, [&](Runtime& runtime, Stream& stream, Runtime::Lock&) {
    ExecutableGraph* graph = runtime.executables.find(handle);
    if (graph == nullptr)
      return runtime.misuse(cudaErrorInvalidValue, "cudaGraphLaunch of no graph");
    if (const cudaError_t error = refuse_capturing(stream)) return error;
    if (legacy_blocked(runtime, stream)) return cudaErrorStreamCaptureImplicit;
    runtime.launch(*graph, stream);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t handle, cudaStream_t stream_handle) {
  static const Entry entry("cudaGraphUpload");
  return stream_call(entry, stream_handle, [&](Runtime& runtime, Stream& stream, Runtime::Lock&) {
    if (runtime.executables.find(handle) == nullptr) return cudaErrorInvalidValue;
    return refuse_capturing(stream);
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t handle) {
  static const Entry entry("cudaGraphExecDestroy");
  return call(entry, [&](Runtime& runtime, ThreadState&, Runtime::Lock&) {
    ExecutableGraph* graph = runtime.executables.find(handle);
    if (graph == nullptr)
      return runtime.misuse(cudaErrorInvalidValue, "cudaGraphExecDestroy of no graph");
    runtime.destroy(*graph);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t handle) {
  static const Entry entry("cudaGraphDestroy");
  return call(entry, [&](Runtime& runtime, ThreadState&, Runtime::Lock&) {
    const Graph* graph = runtime.graphs.find(handle);
    if (graph == nullptr || graph->under_capture)
      return runtime.misuse(cudaErrorInvalidValue, "cudaGraphDestroy of no graph");
    release(runtime, graph->retained);
    runtime.graphs.remove(handle);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t* nodes, std::size_t* count) {
  static const Entry entry("cudaGraphGetNodes");
  return call(entry, [&](Runtime& runtime, ThreadState&, Runtime::Lock&) {
    const Graph* graph = runtime.graphs.find(handle);
    if (graph == nullptr || count == nullptr) return cudaErrorInvalidValue;
    const std::size_t all = graph->nodes.size();
    if (nodes != nullptr) {
      for (std::size_t i = 0; i < *count; ++i)
        nodes[i] = i < all ? node_handle(*graph, i) : nullptr;
      *count = std::min(*count, all);
    } else {
      *count = all;
    }
    return cudaSuccess;
  });
}

}  // extern "C"
