// SPDX-License-Identifier: MIT
/// An all-reduce over the GPUs of this machine, in the streams that the data are made in.
///
///     example_gpu_all_reduce [RANKS]        several ranks share a GPU where there are fewer
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <ringside/ringside.hpp>
#include <string>
#include <vector>

namespace {

constexpr std::size_t elements = 1'000'000;

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  throw ringside::Error(ringside::ErrorCode::device,
                        std::string(what) + ": " + cudaGetErrorString(error));
}

/// One rank: its GPU is current, its gradient lies there.
void rank_body(ringside::Communicator& comm) {
  cudaStream_t stream = nullptr;
  void* gradient = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  check(cudaMalloc(&gradient, elements * sizeof(float)), "cudaMalloc");

  // Whatever computes the gradient comes first in the stream; here it is copied from the host.
  std::vector<float> values(elements, static_cast<float>(comm.rank() + 1));
  check(cudaMemcpyAsync(gradient, values.data(), elements * sizeof(float), cudaMemcpyHostToDevice,
                        stream),
        "cudaMemcpyAsync");
  comm.all_reduce(gradient, gradient, elements, ringside::ElementType::float32,
                  ringside::ReduceOp::avg, {.stream = stream});
  // Whatever uses the average comes later in the stream: nobody has waited for the GPU so far.
  check(cudaMemcpyAsync(values.data(), gradient, elements * sizeof(float), cudaMemcpyDeviceToHost,
                        stream),
        "cudaMemcpyAsync");
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  if (comm.rank() == 0)
    std::printf("%d ranks have the average of %zu elements, the first is %g\n", comm.size(),
                elements, static_cast<double>(values.front()));
  check(cudaFree(gradient), "cudaFree");
  check(cudaStreamDestroy(stream), "cudaStreamDestroy");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    int gpus = 0;
    (void)cudaGetDeviceCount(&gpus);
    const int ranks = argc > 1 ? std::atoi(argv[1]) : gpus;
    std::vector<int> devices;
    for (int rank = 0; rank < ranks; ++rank) devices.push_back(gpus > 0 ? rank % gpus : rank);
    if (devices.empty()) devices.push_back(0);  // and World::cuda says what is missing
    ringside::World::cuda(devices).run(rank_body);
  } catch (const ringside::Error& error) {
    std::fprintf(stderr, "example_gpu_all_reduce: %s\n", error.what());
    return 2;
  }
}
