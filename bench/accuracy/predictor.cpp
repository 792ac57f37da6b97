// SPDX-License-Identifier: MIT
#include "ringside/bench/accuracy/predictor.hpp"

#include <fmt/format.h>

#include "ringside/base/error.hpp"
#include "ringside/bench/accuracy/published_machines.hpp"
#include "ringside/bench/operation.hpp"
#include "ringside/bench/volume.hpp"
#include "ringside/collectives/executors/simulated/nccl_run.hpp"
#include "ringside/collectives/selector/nccl_model.hpp"
#include "ringside/topology/model/transfers.hpp"

namespace ringside::bench {
namespace {

constexpr double giga = 1e9;

Collective collective_of(const PublishedRow& row) {
  const auto operation = parse_operation(row.collective);
  if (!operation)
    throw Error(ErrorCode::bad_input,
                fmt::format("row {}: no collective: {}", row.row, row.collective));
  return static_cast<Collective>(*operation);
}

double copy_rate(const PublishedRow& row, const MachineDescription& machine) {
  const Machine made(machine.topology, machine.model, machine.settings);
  std::vector<Transfer> transfers{
      {.from = {.gpu = row.ranks_on[0]}, .to = {.gpu = row.ranks_on[1]}}};
  if (row.way == "copies_both_ways")
    transfers.push_back({.from = {.gpu = row.ranks_on[1]}, .to = {.gpu = row.ranks_on[0]}});
  return transfer_rate(made, transfers);
}

bool is_copy(const PublishedRow& row) { return row.way.starts_with("cop"); }

}  // namespace

MachineDescription machine_of(const PublishedRow& row) {
  Topology topology = published_machine(row.machine);
  LinkModel model = *link_model_for(topology).model;
  MachineDescription machine{
      .topology = std::move(topology), .model = std::move(model), .settings = {}};
  for (const auto& word : row.what_if) machine = with_what_if(std::move(machine), word);
  return machine;
}

double predicted_rate(const PublishedRow& row, const MachineDescription& machine,
                      const std::string& way) {
  if (is_copy(row)) return copy_rate(row, machine);
  const Machine nccl = as_nccl_uses(machine);
  const auto parsed = parse_nccl_way(way);
  if (!parsed) throw Error(ErrorCode::bad_input, fmt::format("row {}: no way: {}", row.row, way));
  NcclCall call{.collective = collective_of(row), .way = *parsed, .gpus = row.ranks_on, .bytes = 0};
  const double factor = bus_factor(call.collective, static_cast<int>(row.ranks_on.size()));
  double sum = 0;
  for (const double bytes : row.bytes) {
    call.bytes = bytes;
    sum += bytes / nccl_seconds(nccl, call) / giga * factor;
  }
  return sum / static_cast<double>(row.bytes.size());
}

std::string way_of(const PublishedRow& row, const MachineDescription& machine) {
  if (row.way != "auto") return row.way;
  const auto seen = nccl_machine(Machine(machine.topology, machine.model, machine.settings));
  const auto predictions = nccl_predictions(seen, collective_of(row), row.bytes.front());
  const auto algorithm = predictions.front().algorithm;
  const bool in_switch = algorithm == NcclAlgorithm::nvls || algorithm == NcclAlgorithm::nvls_tree;
  // In one box NCCL's tree is a chain: it moves what a ring moves.
  return std::string(to_string(in_switch ? NcclWay::nvls : NcclWay::ring));
}

}  // namespace ringside::bench
