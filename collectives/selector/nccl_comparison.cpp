// SPDX-License-Identifier: MIT
#include "ringside/collectives/selector/nccl_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/collectives/selector/nccl_graph.hpp"
#include "ringside/collectives/selector/nccl_model.hpp"
#include "ringside/collectives/spec.hpp"

namespace ringside {
namespace {

bool are_all_gpus(const Machine& machine, std::span<const int> gpus) {
  if (gpus.size() != static_cast<std::size_t>(machine.gpus())) return false;
  for (std::size_t rank = 0; rank < gpus.size(); ++rank)
    if (gpus[rank] != static_cast<int>(rank)) return false;
  return true;
}

/// Our algorithms that move data as one of NCCL's does.
std::vector<std::string_view> alike(NcclAlgorithm algorithm) {
  switch (algorithm) {
    case NcclAlgorithm::ring:
      return {"ring", "bidirectional_ring"};
    case NcclAlgorithm::tree:
      return {"double_tree", "chain"};
    case NcclAlgorithm::pat:
      return {"bruck", "recursive_halving"};
    case NcclAlgorithm::nvls:
    case NcclAlgorithm::nvls_tree:
      return {};
  }
  return {};
}

std::string difference(const NcclPrediction& pick, const PredictedChoice& choice) {
  const auto names = alike(pick.algorithm);
  if (names.empty())
    return "it reduces in the switch, which no plan here does: the comparison is with plans that "
           "GPUs run";
  const auto is_alike = [&](const std::string& spec) {
    return std::find(names.begin(), names.end(), parse_spec(spec).name) != names.end();
  };
  if (is_alike(choice.spec)) return "the same kind of algorithm as here";
  for (const Rejected& other : choice.others)
    if (other.seconds && is_alike(other.spec))
      return fmt::format("the like of it here, {}, is predicted to take {}, {}", other.spec,
                         format_duration(Seconds(*other.seconds)), other.why);
  return "its model counts with channels and protocols of its own, not with plans and links";
}

}  // namespace

std::optional<NcclComparison> compare_with_nccl(const Machine& machine, std::span<const int> gpus,
                                                const Question& question,
                                                const PredictedChoice& choice) {
  if (!nccl_chooses(question.request.collective) || !are_all_gpus(machine, gpus))
    return std::nullopt;
  try {
    const auto predictions =
        nccl_predictions(nccl_machine(machine.topology()), question.request.collective,
                         static_cast<double>(question.bytes));
    const NcclPrediction& pick = predictions.front();
    return NcclComparison{describe(pick), difference(pick, choice)};
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return std::nullopt;  // a single GPU, or no ring
  }
}

}  // namespace ringside
