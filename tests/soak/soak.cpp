// SPDX-License-Identifier: MIT
/// Random collectives for as long as asked: worlds of 2 to 8 ranks that come and go, calls of every
/// collective, algorithm, type, operator, length and placement, blocking or several at a time, on
/// the world and on parts of it, messages round the ring. Each result is compared bit for bit with
/// the reference interpreter's, or with the collective's definition where the library chose the
/// algorithm. Memory and descriptors of the process must not grow.
///
/// usage: soak [--seconds N] [--seed N]
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/base/error.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/group.hpp"
#include "ringside/collectives/world.hpp"
#include "ringside/tests/collectives/host/calls_to_try.hpp"
#include "ringside/tests/collectives/host/tried_call.hpp"
#include "ringside/tests/support/elements.hpp"
#include "ringside/tests/support/process.hpp"

namespace ringside::tests {
namespace {

constexpr int most_ranks = 8;
constexpr int calls_of_a_world = 300;
constexpr std::size_t most_outstanding = 8;

// --- what to call --------------------------------------------------------------------------------

/// The algorithms that serve a kind of request, found once; and plans, made once.
class Repertoire {
 public:
  Repertoire() {
    for (int ranks = 1; ranks <= most_ranks; ++ranks)
      for_each_algorithm(ranks, [&](const Request& request, const std::string& spec) {
        specs_[{request.collective, ranks, request.in_place}].push_back(spec);
      });
  }
  [[nodiscard]] const std::vector<std::string>& specs(const Request& request) const {
    return specs_.at({request.collective, request.ranks, request.in_place});
  }
  const Plan& plan(const TriedCall& call) {
    const Request& r = call.request;
    const std::lock_guard lock(mutex_);
    auto& plan = plans_[{call.spec, r.collective, r.ranks, r.root, r.in_place}];
    if (!plan) plan = std::make_unique<Plan>(make_plan(call.spec, r));
    return *plan;
  }

 private:
  std::map<std::tuple<Collective, int, bool>, std::vector<std::string>> specs_;
  std::mutex mutex_;
  std::map<std::tuple<std::string, Collective, int, int, bool>, std::unique_ptr<Plan>> plans_;
};

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t end) { return random() % end; }

template <class Values>
auto any_of(Random& random, const Values& values) {
  return values[below(random, values.size())];
}

/// What one rank has called and not yet compared.
struct Pending {
  TriedCall call;
  Round round;
  int rank;
  std::unique_ptr<RankMemory> memory;
  Handle handle;
};

TriedCall any_call(Random& random, const Repertoire& repertoire, int ranks) {
  Request request{any_of(random, all_collectives), ranks, 0, below(random, 2) == 0};
  if (request.collective == Collective::all_to_all) request.in_place = false;
  if (has_root(request.collective))
    request.root = static_cast<int>(below(random, static_cast<std::size_t>(ranks)));
  std::string spec = any_of(random, repertoire.specs(request));
  if (below(random, 3) == 0) spec = "auto";
  if (spec != "auto")
    if (const auto cut = with_cut(spec, any_of(random, cuts)); supported(cut, request)) spec = cut;
  const auto ops = ops_of(request.collective);
  const std::uint64_t seed = random();
  const int way = static_cast<int>(below(random, static_cast<std::size_t>(length_ways(request))));
  return {request,
          spec,
          lengths(request, way, seed),
          any_of(random, all_element_types),
          any_of(random, ops),
          seed};
}

// --- a world -------------------------------------------------------------------------------------

struct Counts {
  std::atomic<std::int64_t> calls{0}, outstanding{0}, of_parts{0}, messages{0}, wrong{0};
};

/// One rank of a world.
class Rank {
 public:
  Rank(Communicator& world, Repertoire& repertoire, Counts& counts, std::uint64_t seed)
      : world_(world), repertoire_(repertoire), counts_(counts), common_(seed) {}

  void run() {
    // Two parts, whoever is in them.
    const int color = static_cast<int>(mix(common_() + static_cast<unsigned>(world_.rank())) % 2);
    part_ = world_.split(color);
    of_part_.seed(common_() + static_cast<unsigned>(color));
    for (int i = 0; i < calls_of_a_world; ++i) step();
    finish(0);
  }

 private:
  /// All ranks make the same decisions here, but for what a part calls.
  void step() {
    const std::size_t kind = below(common_, 10);
    const bool outstanding = below(common_, 2) == 0;
    const Round round = below(common_, 2) == 0 ? Round::rough : Round::exact;
    if (kind == 0) return exchange();
    if (kind <= 3) {
      counts_.of_parts += part_->rank() == 0 ? 1 : 0;
      begin(*part_, any_call(of_part_, repertoire_, part_->size()), round, outstanding);
    } else {
      begin(world_, any_call(common_, repertoire_, world_.size()), round, outstanding);
    }
    finish(below(common_, most_outstanding));
  }

  void begin(Communicator& comm, TriedCall call, Round round, bool outstanding) {
    // Which plan it was, only the library knows; the definition tells exact results.
    if (call.spec == "auto") round = Round::exact;
    Pending& one =
        pending_.emplace_back(Pending{std::move(call), round, comm.rank(), nullptr, Handle()});
    one.memory = std::make_unique<RankMemory>(one.call, one.rank);
    one.memory->fill(round);
    const CallOptions options = one.call.options(round);
    if (comm.rank() == 0) ++counts_.calls;
    if (outstanding) {
      if (comm.rank() == 0) ++counts_.outstanding;
      one.handle = comm.async().submit(one.memory->arguments(), options);
    } else {
      comm.submit(one.memory->arguments(), options);
    }
  }

  /// Compares all but the last `left`.
  void finish(std::size_t left) {
    for (; pending_.size() > left; pending_.pop_front()) {
      Pending& one = pending_.front();
      one.handle.wait();
      const auto& call = one.call;
      const auto all = call.spec == "auto" ? by_definition(call, one.round)
                                           : by_reference(call, repertoire_.plan(call), one.round);
      const auto difference =
          one.memory->difference(one.memory->bytes(), all[static_cast<std::size_t>(one.rank)]);
      if (difference.empty()) continue;
      ++counts_.wrong;
      fmt::print(stderr, "soak: {}: rank {}: {} differs\n", describe(call), one.rank, difference);
    }
  }

  /// To the next rank, from the one before, side by side.
  void exchange() {
    const int size = world_.size(), rank = world_.rank();
    const std::size_t elements = below(common_, 3000);
    const std::uint64_t seed = common_();
    const auto value = [&](int of, std::size_t i) {
      return mix(seed + static_cast<std::uint64_t>(of) * 65537 + i);
    };
    std::vector<std::uint64_t> mine(elements), theirs(elements);
    for (std::size_t i = 0; i < elements; ++i) mine[i] = value(rank, i);
    const int before = (rank + size - 1) % size;
    grouped([&] {
      world_.send(mine, (rank + 1) % size);
      world_.recv(theirs, before);
    });
    if (rank == 0) ++counts_.messages;
    for (std::size_t i = 0; i < elements; ++i)
      if (theirs[i] != value(before, i)) {
        ++counts_.wrong;
        fmt::print(stderr, "soak: element {} of a message is wrong\n", i);
        return;
      }
  }

  Communicator& world_;
  Repertoire& repertoire_;
  Counts& counts_;
  Random common_, of_part_;
  std::optional<Communicator> part_;
  std::deque<Pending> pending_;
};

// --- the run -------------------------------------------------------------------------------------

/// Memory after a quarter of the time, when caches and arenas are full, and at the end.
constexpr std::size_t growth_allowed = std::size_t{32} << 20;

int soak(double seconds, std::uint64_t seed) {
  Repertoire repertoire;
  Counts counts;
  const Stopwatch watch;
  std::size_t resident_early = 0;
  int descriptors_early = -1;
  double next_line = 10;
  std::int64_t worlds = 0;
  Random random(seed);
  while (watch.elapsed().count() < seconds && counts.wrong == 0) {
    const int ranks = 2 + static_cast<int>(below(random, most_ranks - 1));
    const std::uint64_t of_world = random();
    World::threads(ranks).run(
        [&](Communicator& comm) { Rank(comm, repertoire, counts, of_world).run(); });
    ++worlds;
    const double now = watch.elapsed().count();
    if (resident_early == 0 && now > seconds / 4) {
      resident_early = resident_bytes();
      descriptors_early = open_descriptors();
    }
    if (now > next_line) {
      fmt::print(stderr, "soak: {:.0f} s, {} calls in {} worlds, {:.1f} MiB\n", now,
                 counts.calls.load(), worlds, static_cast<double>(resident_bytes()) / (1 << 20));
      next_line = now + 10;
    }
  }
  const std::size_t resident = resident_bytes();
  const int descriptors = open_descriptors();
  fmt::print(
      "soak, seed {}: {} calls ({} outstanding side by side, {} on parts of a world) and {} "
      "exchanges of messages in {} worlds of 2 to {} ranks, {:.0f} s\n"
      "wrong results: {}\n"
      "resident memory: {:.1f} MiB after a quarter of the time, {:.1f} MiB at the end\n"
      "descriptors: {}, then {}\n",
      seed, counts.calls.load(), counts.outstanding.load(), counts.of_parts.load(),
      counts.messages.load(), worlds, most_ranks, watch.elapsed().count(), counts.wrong.load(),
      static_cast<double>(resident_early) / (1 << 20), static_cast<double>(resident) / (1 << 20),
      descriptors_early, descriptors);
  const bool grown = (resident_memory_tells && resident > resident_early + growth_allowed) ||
                     descriptors > descriptors_early;
  if (grown) fmt::print(stderr, "soak: the process has grown\n");
  return counts.wrong > 0 || grown ? 1 : 0;
}

std::optional<std::uint64_t> number_after(int argc, char** argv, std::string_view name) {
  for (int i = 1; i + 1 < argc; ++i)
    if (argv[i] == name) {
      const std::string_view text = argv[i + 1];
      std::uint64_t value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
      return value;
    }
  return std::nullopt;
}

}  // namespace
}  // namespace ringside::tests

int main(int argc, char** argv) {
  using namespace ringside::tests;
  try {
    return soak(static_cast<double>(number_after(argc, argv, "--seconds").value_or(20)),
                number_after(argc, argv, "--seed").value_or(1));
  } catch (const std::exception& error) {
    fmt::print(stderr, "soak: {}\n", error.what());
    return 1;
  }
}
