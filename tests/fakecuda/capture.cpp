// SPDX-License-Identifier: MIT
/// How streams join a capture, what becomes a node, and what makes a capture invalid.
#include "ringside/tests/fakecuda/capture.hpp"

#include <algorithm>

#include "ringside/tests/fakecuda/graph_build.hpp"
#include "ringside/tests/fakecuda/runtime.hpp"

namespace ringside::tests::fakecuda {
namespace {

std::uint32_t add_node(Stream& stream, Node node) {
  Capture& capture = *stream.capture;
  for (const std::uint32_t earlier : node.after) capture.followed[earlier] = true;
  capture.graph->nodes.push_back(std::move(node));
  capture.followed.push_back(false);
  return static_cast<std::uint32_t>(capture.graph->nodes.size() - 1);
}

void join(Stream& stream, const std::vector<std::uint32_t>& nodes) {
  for (const std::uint32_t node : nodes)
    if (std::find(stream.captured_after.begin(), stream.captured_after.end(), node) ==
        stream.captured_after.end())
      stream.captured_after.push_back(node);
}

/// Whether all nodes come before what the origin has come to.
bool joined(const Capture& capture) {
  std::vector<bool> reached(capture.graph->nodes.size());
  for (const std::uint32_t node : capture.origin->captured_after) reached[node] = true;
  for (std::size_t i = reached.size(); i-- > 0;) {
    if (!reached[i]) return false;
    for (const std::uint32_t earlier : capture.graph->nodes[i].after) reached[earlier] = true;
  }
  return true;
}

/// `capture` is a copy: streams let go of theirs. The graph goes, unless somebody has taken it.
void finish(Runtime& runtime, const std::shared_ptr<Capture> capture) {
  capture->active = false;
  if (capture->graph->under_capture) {
    release(runtime, capture->graph->retained);
    runtime.graphs.remove(capture->graph->handle);
  }
  capture->graph = nullptr;
  for (Stream* stream : capture->streams) {
    stream->capture = nullptr;
    stream->captured_after.clear();
    stream->has_branch = false;
  }
  capture->streams.clear();
  std::erase(runtime.captures, capture);
}

}  // namespace

cudaError_t begin_capture(Runtime& runtime, Stream& stream, cudaStreamCaptureMode mode) {
  static unsigned long long captures_made = 0;
  if (stream.legacy) return cudaErrorStreamCaptureUnsupported;
  if (stream.capturing()) return cudaErrorIllegalState;
  auto capture = std::make_shared<Capture>();
  capture->id = ++captures_made;
  capture->origin = &stream;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->graph = &runtime.graphs.add(std::make_unique<Graph>());
  capture->graph->under_capture = true;
  capture->streams.push_back(&stream);
  stream.capture = capture;
  runtime.captures.push_back(std::move(capture));
  return cudaSuccess;
}

cudaError_t end_capture(Runtime& runtime, Stream& stream, cudaGraph_t& graph) {
  graph = nullptr;
  if (!stream.capturing()) return cudaErrorIllegalState;
  const std::shared_ptr<Capture> capture = stream.capture;
  if (capture->origin != &stream) {
    capture->invalidated = true;
    return cudaErrorStreamCaptureUnmatched;
  }
  if (capture->mode != cudaStreamCaptureModeRelaxed &&
      capture->thread != std::this_thread::get_id()) {
    finish(runtime, capture);  // seen on CUDA 13: it is over all the same
    return cudaErrorStreamCaptureWrongThread;
  }
  const bool unjoined = !joined(*capture);
  if (!capture->invalidated && !unjoined) {
    graph = capture->graph->handle;
    capture->graph->under_capture = false;
  }
  finish(runtime, capture);
  if (capture->invalidated) return cudaErrorStreamCaptureInvalidated;
  return unjoined ? cudaErrorStreamCaptureUnjoined : cudaSuccess;
}

cudaError_t capture_work(Stream& stream, std::shared_ptr<const Work> work) {
  Capture& capture = *stream.capture;
  if (capture.invalidated) return cudaErrorStreamCaptureInvalidated;
  if (!stream.has_branch) {
    stream.has_branch = true;
    stream.branch = capture.graph->branches++;
    capture.graph->branch_devices.push_back(stream.device);
  }
  const auto node = add_node(stream, {std::move(work), stream.captured_after, stream.branch});
  stream.captured_after = {node};
  return cudaSuccess;
}

void capture_record(Stream& stream, Event& event) {
  event.capture = stream.capture;
  event.captured_after = stream.captured_after;
}

cudaError_t capture_wait(Stream& stream, Event& event) {
  if (stream.capturing() && stream.capture->invalidated) return cudaErrorStreamCaptureInvalidated;
  if (event.of_finished_capture()) return cudaErrorInvalidValue;
  if (event.capture == nullptr) {  // from outside
    if (!event.recorded) return cudaSuccess;
    stream.capture->invalidated = true;
    return cudaErrorStreamCaptureIsolation;
  }
  if (event.capture->invalidated) return cudaErrorStreamCaptureInvalidated;
  if (stream.legacy) {
    event.capture->invalidated = true;
    return cudaErrorStreamCaptureImplicit;
  }
  if (!stream.capturing()) {
    stream.capture = event.capture;
    stream.capture->streams.push_back(&stream);
  } else if (stream.capture != event.capture) {
    stream.capture->invalidated = event.capture->invalidated = true;
    return cudaErrorStreamCaptureMerge;
  }
  join(stream, event.captured_after);
  return cudaSuccess;
}

cudaError_t refuse_capturing(Stream& stream) {
  if (!stream.capturing()) return cudaSuccess;
  stream.capture->invalidated = true;
  return cudaErrorStreamCaptureUnsupported;
}

cudaError_t refuse_unsafe(Runtime& runtime, const ThreadState& thread) {
  if (thread.capture_mode == cudaStreamCaptureModeRelaxed) return cudaSuccess;
  cudaError_t error = cudaSuccess;
  for (const auto& capture : runtime.captures) {
    const bool own = capture->mode != cudaStreamCaptureModeRelaxed &&
                     capture->thread == std::this_thread::get_id();
    const bool global = capture->mode == cudaStreamCaptureModeGlobal &&
                        thread.capture_mode == cudaStreamCaptureModeGlobal;
    if (!own && !global) continue;
    capture->invalidated = true;
    error = cudaErrorStreamCaptureUnsupported;
  }
  return error;
}

cudaError_t refuse_capturing_device(Runtime& runtime, int device) {
  cudaError_t error = cudaSuccess;
  for (const auto& capture : runtime.captures)
    for (const Stream* stream : capture->streams) {
      if (stream->device != device) continue;
      capture->invalidated = true;
      error = cudaErrorStreamCaptureUnsupported;
    }
  return error;
}

bool legacy_in_capture(const Runtime& runtime, const Stream& stream) {
  if (!stream.legacy) return false;
  for (const auto& capture : runtime.captures)
    for (const Stream* other : capture->streams)
      if (other->blocking() && other->device == stream.device) return true;
  return false;
}

bool legacy_blocked(Runtime& runtime, const Stream& stream) {
  if (!legacy_in_capture(runtime, stream)) return false;
  for (const auto& capture : runtime.captures)
    for (const Stream* other : capture->streams)
      if (other->blocking() && other->device == stream.device) capture->invalidated = true;
  return true;
}

void leave_capture(Runtime& runtime, Stream& stream) {
  if (!stream.capturing()) return;
  const std::shared_ptr<Capture> capture = stream.capture;
  capture->invalidated = true;
  std::erase(capture->streams, &stream);
  stream.capture = nullptr;
  if (capture->origin == &stream) finish(runtime, capture);  // nobody can end it any more
}

std::unique_ptr<ExecutableGraph> instantiate(Runtime& runtime, const Graph& graph) {
  auto executable = std::make_unique<ExecutableGraph>();
  executable->nodes = graph.nodes;
  executable->retained = graph.retained;
  retain(runtime, graph.retained);
  for (std::uint32_t i = 0; i < graph.branches; ++i)
    executable->lanes.push_back(&runtime.create_lane(graph.branch_devices[i], i + 1, true));
  std::vector<bool> followed(graph.nodes.size());
  for (const Node& node : graph.nodes)
    for (const std::uint32_t earlier : node.after) followed[earlier] = true;
  for (std::uint32_t i = 0; i < followed.size(); ++i)
    if (!followed[i]) executable->last.push_back(i);
  return executable;
}

}  // namespace ringside::tests::fakecuda
