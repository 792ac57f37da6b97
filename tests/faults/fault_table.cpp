// SPDX-License-Identifier: MIT
#include "ringside/tests/faults/fault_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <set>

#include "ringside/tests/faults/scene.hpp"

namespace ringside::tests {
namespace {

constexpr std::array collectives = {
    Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather,
    Collective::broadcast,  Collective::reduce,         Collective::gather,
    Collective::scatter,    Collective::all_to_all,     Collective::barrier};
/// Elements of a block: one that travels in the call where there is such a thing, and one that a
/// plan moves.
constexpr std::array<std::size_t, 2> lengths = {3, 5000};

/// Of a scene, for one call.
struct Cell {
  std::optional<std::string> fault;  ///< what was not as it must be
  std::set<std::string> told;        ///< the kinds of errors, and whether calls worked
  Seconds beyond{0};
};

Cell run_cell(const FaultyExecutor& executor, const Scene& scene, const UniformCall& call) {
  std::mutex mutex;
  Cell cell;
  const auto note = [&](const std::string& fault) {
    const std::lock_guard lock(mutex);
    if (!cell.fault) cell.fault = fault;
  };
  {
    World world = executor.world(fault_ranks);
    std::string thrown;
    try {
      world.run([&](Communicator& comm) {
        Actor actor(comm, executor, call);
        try {
          const Seconds late = scene.act(actor);
          const std::lock_guard lock(mutex);
          cell.beyond = std::max(cell.beyond, late);
          cell.told.merge(std::set(actor.told()));
        } catch (const Failure& failure) {
          note(fmt::format("rank {}: {}", comm.rank(), failure.what));
        }
      });
    } catch (const std::exception& error) {
      thrown = error.what();
    }
    const bool thrown_here = world.ranks_here() > 1 || world.first_rank_here() == culprit;
    if (thrown_here && thrown.find(scene.run_throws) == std::string::npos)
      note(fmt::format("run threw \"{}\"", thrown));
    if (scene.run_throws.empty() && !thrown.empty()) note(fmt::format("run threw \"{}\"", thrown));
  }
  // A new world works at once.
  World world = executor.world(fault_ranks);
  world.run([&](Communicator& comm) {
    Actor actor(comm, executor, call);
    try {
      actor.expect_works();
    } catch (const Failure& failure) {
      note(fmt::format("rank {}, in a new world: {}", comm.rank(), failure.what));
    }
  });
  return cell;
}

/// Of a scene, for all calls that it applies to.
struct Row {
  int cells = 0, held = 0;
  std::set<std::string> told;
  Seconds beyond{0};
};

Row run_row(const FaultyExecutor& executor, const Scene& scene) {
  Row row;
  for (const Collective collective : collectives) {
    if (!scene.applies(collective)) continue;
    for (const std::size_t length : lengths) {
      const bool has_length = collective != Collective::barrier;
      if (!has_length && length != lengths.front()) continue;
      const UniformCall call{collective, has_length ? length : 0, 0, {}, length};
      Cell cell = run_cell(executor, scene, call);
      ++row.cells;
      row.held += cell.fault ? 0 : 1;
      row.told.merge(cell.told);
      row.beyond = std::max(row.beyond, cell.beyond);
      if (cell.fault)
        ADD_FAILURE() << executor.name << ", " << scene.name << ", " << to_string(collective)
                      << " of " << length << ": " << *cell.fault;
    }
  }
  return row;
}

std::string print(const Scene& scene, const Row& row) {
  const double late = 1e3 * row.beyond.count();
  return fmt::format("  {:44} {:2} of {:2}  {:>7}  {}\n", scene.name, row.held, row.cells,
                     late > 0 ? fmt::format("{:.0f} ms", late) : "", fmt::join(row.told, ", "));
}

}  // namespace

std::string run_fault_table(const FaultyExecutor& executor) {
  std::string table = fmt::format(
      "{}, {} ranks; cells (calls) that held, of those that there are; the longest time to an "
      "error beyond the limit (measured); what ranks were told\n",
      executor.name, fault_ranks);
  int cells = 0;
  for (const Subject* subject : Subject::all()) {
    table += fmt::format("{}\n", subject->name());
    for (const Scene& scene : subject->scenes()) {
      const Row row = run_row(executor, scene);
      cells += row.cells;
      table += print(scene, row);
    }
  }
  return table + fmt::format("{} cells\n", cells);
}

}  // namespace ringside::tests
