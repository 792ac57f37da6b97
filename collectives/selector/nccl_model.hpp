// SPDX-License-Identifier: MIT
/// NCCL's own model of time: what it predicts for each of its algorithms and protocols, and so what
/// it would pick. A second predictor beside our simulation, labelled "NCCL's own model": it is how
/// NCCL chooses, not how long it takes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/collectives/request.hpp"
#include "ringside/collectives/selector/nccl_graph.hpp"

namespace ringside {

enum class NcclAlgorithm { tree, ring, nvls, nvls_tree, pat };
enum class NcclProtocol { ll, ll128, simple };

/// "Tree", "Ring", "NVLS", "NVLSTree", "PAT"; "LL", "LL128", "Simple": as NCCL writes them.
[[nodiscard]] std::string_view to_string(NcclAlgorithm algorithm);
[[nodiscard]] std::string_view to_string(NcclProtocol protocol);

struct NcclPrediction {
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  NcclProtocol protocol = NcclProtocol::simple;
  double latency = 0;    ///< seconds
  double bandwidth = 0;  ///< GB/s of the message (not of the bus)
  double seconds = 0;    ///< latency + bytes / bandwidth
};

/// What NCCL has algorithms for: all_reduce, reduce_scatter, all_gather, broadcast, reduce. The
/// others it makes of sends and receives, without a choice.
[[nodiscard]] bool nccl_chooses(Collective collective);

/// Of every algorithm and protocol that NCCL would consider by default, the fastest first: the
/// first is its pick. `bytes`: of all blocks of the request together. Without a network that
/// reduces (CollNet) and without tuner plug-ins. Throws Error(unsupported) where nccl_chooses() is
/// false.
[[nodiscard]] std::vector<NcclPrediction> nccl_predictions(const NcclMachine& machine,
                                                           Collective collective, double bytes);

/// "Ring/Simple: 210 us by NCCL's own model".
[[nodiscard]] std::string describe(const NcclPrediction& prediction);

}  // namespace ringside
