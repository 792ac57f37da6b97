// SPDX-License-Identifier: MIT
/// Hierarchical: add up inside groups, then across them, then hand out inside the groups.
///
///     n = 4, groups 0-1/2-3, inner two_shot, outer ring; per rank the chunks 0 | 1 | 2 | 3, a
///     digit for every rank added so far, * when complete
///
///                rank 0               rank 1               rank 2               rank 3
///     start       0 |  0 |  0 |  0     1 |  1 |  1 |  1     2 |  2 |  2 |  2     3 |  3 |  3 |  3
///     inside     01 | 01 |  0 |  0     1 |  1 | 01 | 01    23 | 23 |  2 |  2     3 |  3 | 23 | 23
///     across 1    * | 01 |  0 |  0     1 |  1 |  * | 01    23 |  * |  2 |  2     3 |  3 | 23 |  *
///     across 2    * |  * |  0 |  0     1 |  1 |  * |  *     * |  * |  2 |  2     3 |  3 |  * |  *
///     hand out    * |  * |  * |  *     * |  * |  * |  *     * |  * |  * |  *     * |  * |  * |  *
///
/// The inner algorithm's first half leaves each of its chunks complete at one rank of the group,
/// its owner. Groups of different sizes cut differently: the data are cut finely enough for all of
/// them (the least common multiple), and every run that has the same owners in all groups is
/// all-reduced among these by the outer algorithm. The inner algorithm's second half hands the
/// results out. An inner algorithm without halves (one_shot, recursive_doubling) runs whole, and
/// the first rank of the group owns its result, which the others copy at the end.
///
/// Steps: the sum over the levels: 4 by default for equal groups. Bytes: by level; by default
/// S (2 - 1/g) for every rank of a group of g, of which only S/g cross between two groups.
/// Additions: inside the groups, then across them.
/// N. T. Karonis, B. R. de Supinski, I. Foster, W. Gropp, E. Lusk, J. Bresnahan: Exploiting
/// hierarchy in parallel computer networks to optimize collective operation performance, IPDPS
/// 2000.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "ringside/base/error.hpp"
#include "ringside/collectives/algorithms/builtin.hpp"

namespace ringside {
namespace {

constexpr int most_chunks = 1 << 20;  // far above what pays: finer than a cache line for 64 MB

/// Four phases, so numbered that two lanes are the way there and the way back. Then no rank adds up
/// inside its group for slices far ahead, at the expense of what goes across, which is scarcer.
constexpr int inside_lane = 0, across_lane = 2, back_lane = 1, spread_lane = 3;

int index(std::size_t i) { return static_cast<int>(i); }

/// From rank 0 to everybody in the group.
OpStream copy_from_first(Group g) {
  for (int rank = 1; rank < g.ranks(); ++rank)
    for (int chunk = 0; chunk < g.chunks(); ++chunk) co_yield g.copy(0, rank, chunk);
}

/// The algorithm's halves, or a whole all-reduce and its result at the first rank instead.
Halves halves_of(const Algorithm& algorithm) {
  if (algorithm.halves) return *algorithm.halves;
  return {[](int) { return 0; }, algorithm.write, copy_from_first};
}

/// Another algorithm at one of the two levels; for one rank alone it does nothing.
struct Level {
  int ranks = 1;
  int chunks = 1;
  std::function<OpStream(Group)> write = {};
  bool writes_halves = false;
  Halves halves = {[](int) { return 0; }, {}, {}};

  Level(const Spec& spec, int count) : ranks(count) {
    if (count == 1) return;
    Request request;
    request.ranks = count;
    const Algorithm algorithm = make_algorithm(spec, request);
    chunks = algorithm.chunks;
    write = algorithm.write;
    writes_halves = algorithm.writes_halves;
    halves = halves_of(algorithm);
  }
};

/// Chunks (of the whole) that have the same owners in all groups.
struct Run {
  int first = 0;
  int count = 0;
  std::vector<int> owners;  // a rank of each group
};

/// The whole composition, settled.
struct Hierarchy {
  std::vector<std::vector<int>> groups;
  std::vector<Level> inner;  // per group
  Level outer;
  int pieces = 1;  // what all inner levels' chunks are made of; each is outer.chunks chunks
  std::vector<Run> runs;

  Hierarchy(std::vector<std::vector<int>> ranks_of_groups, const Spec& inner_spec,
            const Spec& outer_spec)
      : groups(std::move(ranks_of_groups)), outer(outer_spec, index(groups.size())) {
    for (const auto& group : groups) {
      inner.emplace_back(inner_spec, index(group.size()));
      const auto both = std::lcm(static_cast<long>(pieces), static_cast<long>(inner.back().chunks));
      if (both * outer.chunks > most_chunks)
        throw Error(ErrorCode::unsupported,
                    fmt::format("hierarchical: these groups would need {} chunks: choose groups of "
                                "equal size",
                                both * outer.chunks));
      pieces = static_cast<int>(both);
    }
    find_runs();
  }

  [[nodiscard]] int chunks() const { return pieces * outer.chunks; }

  [[nodiscard]] int piece_owner(std::size_t group, int piece) const {
    const Level& level = inner[group];
    const int rank = level.halves.owner(piece / (pieces / level.chunks));
    return groups[group][static_cast<std::size_t>(rank)];
  }

  void find_runs() {
    for (int piece = 0; piece < pieces; ++piece) {
      std::vector<int> owners;
      for (std::size_t group = 0; group < groups.size(); ++group)
        owners.push_back(piece_owner(group, piece));
      if (runs.empty() || runs.back().owners != owners)
        runs.push_back({piece * outer.chunks, 0, std::move(owners)});
      runs.back().count += outer.chunks;
    }
  }

  /// The rank that has a chunk after the outer algorithm's first half.
  [[nodiscard]] int owner(int chunk) const {
    for (const Run& run : runs)
      if (chunk < run.first + run.count) {
        const int outer_chunk = (chunk - run.first) / (run.count / outer.chunks);
        return run.owners[static_cast<std::size_t>(outer.halves.owner(outer_chunk))];
      }
    throw Error(ErrorCode::internal, "a chunk that nobody owns");
  }
};

using Shared = std::shared_ptr<const Hierarchy>;
using Writer = std::function<OpStream(Group)>;

OpStream inside(Group g, Shared h, Writer Halves::*half, int lane) {
  for (std::size_t i = 0; i < h->groups.size(); ++i) {
    const Level& level = h->inner[i];
    if (level.ranks == 1) continue;
    const Group group =
        g.among(h->groups[i]).part(0, h->chunks(), level.chunks).on_fixed_lane(lane);
    for (const Op& op : (level.halves.*half)(group)) co_yield op;
  }
}

/// The outer algorithm among the owners of every run. An op of each run in turn, because a rank
/// may own several, whose steps should go side by side.
OpStream across(Group g, Shared h, Writer writer, int lane) {
  if (h->outer.ranks == 1) co_return;
  std::vector<OpStream> streams;
  for (const Run& run : h->runs)
    streams.push_back(writer(
        g.among(run.owners).part(run.first, run.count, h->outer.chunks).on_fixed_lane(lane)));
  for (bool any = true; any;) {
    any = false;
    for (OpStream& stream : streams)
      if (const Op* op = stream.next()) {
        any = true;
        co_yield *op;
      }
  }
}

/// Inside, then across.
OpStream collect(Group g, Shared h) {
  for (const Op& op : inside(g, h, &Halves::reduce, inside_lane)) co_yield op;
  for (const Op& op : across(g, h, h->outer.halves.reduce, across_lane)) co_yield op;
}

OpStream distribute(Group g, Shared h) {
  for (const Op& op : across(g, h, h->outer.halves.spread, back_lane)) co_yield op;
  for (const Op& op : inside(g, h, &Halves::spread, spread_lane)) co_yield op;
}

OpStream everything(Group g, Shared h) {
  if (h->outer.writes_halves) {
    for (const Op& op : collect(g, h)) co_yield op;
    for (const Op& op : distribute(g, h)) co_yield op;
    co_return;
  }
  for (const Op& op : inside(g, h, &Halves::reduce, inside_lane)) co_yield op;
  for (const Op& op : across(g, h, h->outer.write, across_lane)) co_yield op;
  for (const Op& op : inside(g, h, &Halves::spread, spread_lane)) co_yield op;
}

/// Consecutive ranks in two halves; the first gets the odd one.
std::vector<std::vector<int>> two_halves(int n) {
  std::vector<std::vector<int>> groups(static_cast<std::size_t>(std::min(n, 2)));
  for (int rank = 0; rank < n; ++rank) groups[rank < (n + 1) / 2 ? 0 : 1].push_back(rank);
  return groups;
}

/// Slices and lanes are the whole plan's: refused where they would mean nothing.
Spec level_spec(const Parameters& parameters, std::string_view which, std::string_view absent) {
  Spec spec = parameters.spec(which, absent);
  (void)find_algorithm(spec.name);  // a level of one rank makes none, but a wrong name is wrong
  for (const auto& [name, value] : spec.parameters)
    for (const auto& common : common_parameters())
      if (name == common.name)
        throw Error(
            ErrorCode::bad_input,
            fmt::format("hierarchical: {}={}: '{}' belongs to hierarchical itself, not to a "
                        "level of it",
                        which, to_string(spec), name));
  return spec;
}

Algorithm make(const Request& request, const Parameters& parameters) {
  auto groups = parameters.groups("groups", request.ranks);
  if (groups.empty()) groups = two_halves(request.ranks);
  const auto h = std::make_shared<const Hierarchy>(std::move(groups),
                                                   level_spec(parameters, "inner", "two_shot"),
                                                   level_spec(parameters, "outer", "ring"));
  return {.chunks = h->chunks(),
          .lanes = 4,
          .write = [h](Group g) { return everything(std::move(g), h); },
          .halves = Halves{[h](int chunk) { return h->owner(chunk); },
                           [h](Group g) { return collect(std::move(g), h); },
                           [h](Group g) { return distribute(std::move(g), h); }}};
}

}  // namespace

AlgorithmInfo hierarchical() {
  return {.name = "hierarchical",
          .summary = "one algorithm inside groups of ranks, another across them",
          .reference = "Karonis et al. 2000",
          .parameters = {{"groups", "two halves", "the ranks of each group: 0-1/2-3"},
                         {"inner", "two_shot", "the algorithm inside the groups"},
                         {"outer", "ring", "the algorithm across them"}},
          .make = make};
}

}  // namespace ringside
