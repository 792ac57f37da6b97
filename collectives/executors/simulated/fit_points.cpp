// SPDX-License-Identifier: MIT
/// What of measurements a fit is made to.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/collectives/executors/simulated/fit_machine.hpp"
#include "ringside/collectives/selector/nccl_model.hpp"
#include "ringside/topology/model/routes.hpp"

namespace ringside {
namespace {

/// Below this the steps of a collective say more of latencies than of links, and the twin is not
/// made for them.
constexpr std::uint64_t least_bytes = std::uint64_t{1} << 20;
constexpr double micro = 1e-6, giga = 1e9;

class PointMaker {
 public:
  PointMaker(const MachineDescription& machine, FitPoints& result)
      : machine_(machine), result_(result), gpus_(machine.topology.gpus()) {
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      const auto number = machine.topology.node(gpus_[i]).number;
      if (number) index_.emplace(*number, static_cast<int>(i));
    }
  }

  void add(const PairMeasurement& pair) {
    if (pair.quantity != MeasuredQuantity::bandwidth) return leave_out("latencies");
    if (pair.from == pair.to) return leave_out("copies within a GPU");
    const auto from = place(pair.from, pair.to), to = place(pair.to, pair.from);
    if (!from || !to) return leave_out("GPUs that the machine has not got");
    if (!from->host && !to->host && pair.peer_access == false &&
        joined_by_fabric(machine_.topology, gpu(from->gpu), gpu(to->gpu)))
      return leave_out("copies past NVLink, through the host");
    FitPoint point{.what = fmt::format("copy {} -> {}", name(pair.from), name(pair.to)),
                   .measured = pair.value,
                   .transfers = {transfer(*from, *to, pair.method)},
                   .peer_access = pair.peer_access.value_or(true),
                   .call = {}};
    if (pair.traffic != MeasuredTraffic::one_way) {
      point.what = fmt::format("copies {} <-> {}", name(pair.from), name(pair.to));
      point.transfers.push_back(transfer(*to, *from, pair.method));
      if (pair.traffic == MeasuredTraffic::opposed) point.measured *= 2;
    }
    if (pair.peer_access == false) point.what += ", no peer access";
    result_.points.push_back(std::move(point));
  }

  void add(const CollectiveRows& rows) {
    const auto collective =
        rows.collective
            ? parse_collective(*rows.collective == "alltoall" ? "all_to_all" : *rows.collective)
            : std::nullopt;
    const int ranks = rows.ranks.value_or(0);
    if (!collective) return leave_out("tables that do not tell their collective");
    if (ranks < 2 || ranks > static_cast<int>(gpus_.size()))
      return leave_out("tables of more ranks than the machine has GPUs, or of unknown ranks");
    if (!is_known(*collective)) return leave_out("collectives that NCCL has no way of its own for");
    for (const auto& row : rows.rows) add_row(*collective, ranks, row);
  }

 private:
  void add_row(Collective collective, int ranks, const CollectiveRow& row) {
    if (row.size < least_bytes) return leave_out("collectives of less than 1 MiB");
    const auto& timing = row.out_of_place ? row.out_of_place : row.in_place;
    if (!timing || !(timing->time_us > 0)) return leave_out("rows without a time");
    NcclCall call{.collective = collective,
                  .way = way(collective, static_cast<double>(row.size)),
                  .gpus = {},
                  .bytes = static_cast<double>(row.size)};
    for (int i = 0; i < ranks; ++i) call.gpus.push_back(i);
    const double measured = call.bytes / (timing->time_us * micro) / giga;
    auto what = fmt::format("{} of {} on {}, {}", to_string(collective), format_size(row.size),
                            ranks, to_string(call.way));
    result_.points.push_back({.what = std::move(what),
                              .measured = measured,
                              .transfers = {},
                              .peer_access = true,
                              .call = std::move(call)});
  }

  static bool is_known(Collective collective) {
    return collective == Collective::all_to_all || nccl_chooses(collective);
  }

  /// As NCCL's own model picks; a ring where that has nothing to say.
  [[nodiscard]] NcclWay way(Collective collective, double bytes) {
    if (collective != Collective::all_reduce) return usual_nccl_way(collective);
    try {
      if (!seen_by_nccl_)
        seen_by_nccl_ = nccl_machine(Machine(machine_.topology, machine_.model, machine_.settings));
      const auto pick = nccl_predictions(*seen_by_nccl_, collective, bytes).front().algorithm;
      const bool in_switch = pick == NcclAlgorithm::nvls || pick == NcclAlgorithm::nvls_tree;
      return in_switch ? NcclWay::nvls : NcclWay::ring;
    } catch (const Error&) {
      return NcclWay::ring;
    }
  }

  static Transfer transfer(const Place& from, const Place& to, MeasuredMethod method) {
    return {.from = from,
            .to = to,
            .reads = from.host,
            .mover = method == MeasuredMethod::kernel ? Mover::kernel : Mover::copy_engine};
  }

  /// Host memory is that nearest to the GPU at the other end.
  [[nodiscard]] std::optional<Place> place(int number, int other) const {
    const auto found = index_.find(number == host_memory ? other : number);
    if (found == index_.end()) return std::nullopt;
    return Place{.gpu = found->second, .host = number == host_memory};
  }

  [[nodiscard]] NodeId gpu(int index) const { return gpus_[static_cast<std::size_t>(index)]; }
  static std::string name(int number) {
    return number == host_memory ? "host" : std::to_string(number);
  }

  void leave_out(const std::string& what) {
    if (left_out_.insert(what).second) result_.left_out.push_back(what);
  }

  const MachineDescription& machine_;
  std::optional<NcclMachine> seen_by_nccl_;
  FitPoints& result_;
  std::vector<NodeId> gpus_;
  std::map<int, int> index_;  // number of a GPU -> index
  std::set<std::string> left_out_;
};

}  // namespace

FitPoints fit_points(const MachineDescription& machine, const Measurements& measured,
                     const std::vector<Reading>& readings) {
  FitPoints result;
  PointMaker maker(machine, result);
  for (const auto& pair : measured.pairs) maker.add(pair);
  for (const auto& reading : readings)
    if (const auto* rows = std::get_if<CollectiveRows>(&reading.facts)) maker.add(*rows);
  return result;
}

}  // namespace ringside
