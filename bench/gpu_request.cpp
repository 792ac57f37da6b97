// SPDX-License-Identifier: MIT
#include "ringside/bench/gpu_request.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ringside/base/error.hpp"
#include "ringside/base/options.hpp"

namespace ringside::bench {

void check_gpu_request(const BenchRequest& request) {
  for (const auto& row : option_rows())
    if (row.name.starts_with("cuda_") && !row.error.empty())
      throw Error(ErrorCode::bad_input, row.error);
  if (request.buffers != Buffers::warm)
    throw Error(ErrorCode::unsupported,
                fmt::format("--buffers {}: only warm ones with --backend {}",
                            to_string(request.buffers), to_string(request.backend)));
  const auto& operations = request.collectives;
  if (std::all_of(operations.begin(), operations.end(),
                  [](Operation operation) { return operation.is_sendrecv(); }))
    throw Error(ErrorCode::unsupported,
                fmt::format("sendrecv with --backend {}: {}", to_string(request.backend),
                            no_sendrecv_on_gpus));
  for (const auto& name : request.compare)
    if (name != "nccl")
      throw Error(
          ErrorCode::unsupported,
          fmt::format("--compare {}: only nccl can be measured beside --backend cuda", name));
}

}  // namespace ringside::bench
