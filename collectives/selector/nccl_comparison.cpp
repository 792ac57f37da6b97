// SPDX-License-Identifier: MIT
#include "ringside/collectives/selector/nccl_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/collectives/executors/simulated/nccl_run.hpp"
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
      return {"ring"};
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

/// In one box its tree is a chain, which moves what a ring moves.
std::optional<NcclWay> way_of(const NcclPrediction& pick, const NcclMachine& seen) {
  switch (pick.algorithm) {
    case NcclAlgorithm::ring:
      return NcclWay::ring;
    case NcclAlgorithm::tree:
      return seen.boxes == 1 ? std::optional(NcclWay::ring) : std::nullopt;
    case NcclAlgorithm::nvls:
    case NcclAlgorithm::nvls_tree:
      return NcclWay::nvls;
    case NcclAlgorithm::pat:
      break;
  }
  return std::nullopt;
}

/// Seconds, simulated; nothing where the twin has no such way, or where its figures for NCCL, which
/// are of large messages, do not hold.
std::optional<double> simulated(const Machine& machine, std::span<const int> gpus,
                                const Question& question, std::optional<NcclWay> way) {
  constexpr std::uint64_t least_bytes = std::uint64_t{1} << 20;
  if (!way || question.bytes < least_bytes) return std::nullopt;
  try {
    const Machine nccl = as_nccl_uses({machine.topology(), machine.model(), machine.settings()});
    return nccl_seconds(nccl, {.collective = question.request.collective,
                               .way = *way,
                               .gpus = {gpus.begin(), gpus.end()},
                               .bytes = static_cast<double>(question.bytes)});
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return std::nullopt;
  }
}

std::string compared(double seconds, const PredictedChoice& choice) {
  const double ratio = seconds / choice.seconds;
  return fmt::format("as NCCL runs it, that is simulated to take {}, {} as the choice here{}; ",
                     format_duration(Seconds(seconds)), times_as_long(ratio),
                     ratio < 0.98 ? ": NCCL is predicted to be faster" : "");
}

/// The two times of a pick may differ by factors.
constexpr const char* which_to_compare =
    " (NCCL's model only serves to choose: compare the simulated times)";

std::string like_of_it(const NcclPrediction& pick, const PredictedChoice& choice) {
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
    const NcclMachine seen = nccl_machine(machine);
    const auto predictions =
        nccl_predictions(seen, question.request.collective, static_cast<double>(question.bytes));
    const NcclPrediction& pick = predictions.front();
    const auto seconds = simulated(machine, gpus, question, way_of(pick, seen));
    const std::string like = like_of_it(pick, choice);
    return NcclComparison{describe(pick), seconds,
                          seconds ? compared(*seconds, choice) + like + which_to_compare : like};
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return std::nullopt;  // a single GPU, or no ring
  }
}

}  // namespace ringside
