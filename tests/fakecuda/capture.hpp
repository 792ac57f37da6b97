// SPDX-License-Identifier: MIT
/// Stream capture: its rules, and the error codes of breaking them. (CUDA C++ Programming Guide,
/// "CUDA Graphs": creating a graph using stream capture; comments of cuda_runtime_api.h.)
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "ringside/tests/fakecuda/objects.hpp"

namespace ringside::tests::fakecuda {

class Runtime;
struct ThreadState;

[[nodiscard]] cudaError_t begin_capture(Runtime& runtime, Stream& stream,
                                        cudaStreamCaptureMode mode);
/// `graph` is null unless the capture was in order.
[[nodiscard]] cudaError_t end_capture(Runtime& runtime, Stream& stream, cudaGraph_t& graph);

/// Work becomes a node of the graph.
[[nodiscard]] cudaError_t capture_work(Stream& stream, std::shared_ptr<const Work> work);
void capture_record(Stream& stream, Event& event);
/// A wait where the stream or the event has to do with a capture.
[[nodiscard]] cudaError_t capture_wait(Stream& stream, Event& event);

/// The stream is used by a call that cannot be captured (900, and the capture is lost), or it may
/// be.
[[nodiscard]] cudaError_t refuse_capturing(Stream& stream);
/// A call that is unsafe while this thread, or another one, captures.
[[nodiscard]] cudaError_t refuse_unsafe(Runtime& runtime, const ThreadState& thread);
/// A call that concerns a whole device, some stream of which may be capturing.
[[nodiscard]] cudaError_t refuse_capturing_device(Runtime& runtime, int device);
/// The legacy stream cannot be used while a blocking stream of its device is capturing.
[[nodiscard]] bool legacy_in_capture(const Runtime& runtime, const Stream& stream);
/// The same, for work; the captures are lost.
[[nodiscard]] bool legacy_blocked(Runtime& runtime, const Stream& stream);
/// Before a stream goes.
void leave_capture(Runtime& runtime, Stream& stream);

/// A graph that can be launched.
[[nodiscard]] std::unique_ptr<ExecutableGraph> instantiate(Runtime& runtime, const Graph& graph);

}  // namespace ringside::tests::fakecuda
