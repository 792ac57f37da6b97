// SPDX-License-Identifier: MIT
/// What rules ask of tables of collectives: whose they are, which GPUs took part, what a row says.
#pragma once

#include <optional>
#include <vector>

#include "ringside/topology/diagnose/rule.hpp"

namespace ringside {

/// Of NCCL or RCCL, not of a plan of ours.
[[nodiscard]] bool is_of_nccl(const CollectiveRows& table);

/// Each rank sends along a ring: bus bandwidth is then what a link carries.
[[nodiscard]] bool goes_in_rings(const CollectiveRows& table);

/// The GPUs of the ranks by their places in Topology::gpus(): as CUDA_VISIBLE_DEVICES and the
/// table's head name them, else the first. Empty where there are more ranks than GPUs, or more
/// hosts than one.
[[nodiscard]] std::vector<int> gpus_of(const Evidence& evidence, const CollectiveRows& table);

/// GPUs that CUDA_VISIBLE_DEVICES names by number, by their places; nothing where it does not, or
/// one is not there.
[[nodiscard]] std::optional<std::vector<int>> visible_gpus(const Evidence& evidence);

/// Different hosts, as logs and tables name them; 0 where none does.
[[nodiscard]] int hosts_of(const Evidence& evidence);
/// Those that the head of one table names.
[[nodiscard]] int hosts_of(const CollectiveRows& table);

/// Tables of ranks on one machine: the head names one host, or names none and no log has several.
[[nodiscard]] std::vector<Found<CollectiveRows>> tables_of_one_host(const Evidence& evidence);

/// A table of NCCL's that is complete shows that collectives work here.
[[nodiscard]] bool has_worked(const Evidence& evidence);

/// The line of the table that begins with this size: the first that is one.
[[nodiscard]] ShownLine line_of_size(const Evidence& evidence, const Found<CollectiveRows>& table,
                                     std::uint64_t size);

/// Bus bandwidth out of place, else in place; nothing where neither was measured.
[[nodiscard]] std::optional<CollectiveTiming> timing_of(const CollectiveRow& row);

}  // namespace ringside
