// SPDX-License-Identifier: MIT
#include "ringside/bench/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "ringside/base/error.hpp"
#include "ringside/base/options.hpp"
#include "ringside/base/text.hpp"
#include "ringside/bench/algorithm_subject.hpp"
#include "ringside/bench/competitors.hpp"
#include "ringside/bench/measure.hpp"
#include "ringside/bench/message_subject.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/spec.hpp"

namespace ringside::bench {
namespace {

/// Those that may change what is measured.
std::vector<std::pair<std::string, std::string>> changed_options() {
  std::vector<std::pair<std::string, std::string>> changed;
  for (const auto& row : option_rows())
    if (row.name != "progress" && row.current != row.default_text)
      changed.emplace_back(row.name, row.current);
  return changed;
}

bool measures(const BenchRequest& request, Placement placement) {
  return request.measured[static_cast<std::size_t>(placement)];
}

/// The sizes of a sweep; a barrier has none, and is measured once.
std::vector<std::uint64_t> sizes_for(const BenchRequest& request, Operation operation) {
  if (is_barrier(operation)) return {0};
  return sizes_of(request.sizes);
}

/// Of sendrecv: an all_reduce, whose buffers are as long.
Request request_for(const BenchRequest& request, Operation operation, int ranks) {
  return {.collective = operation.is_sendrecv() ? Collective::all_reduce : Collective(operation),
          .ranks = ranks,
          .root = has_root(operation) ? request.root : 0,
          .in_place = false};
}

/// Refuses what would end in the kernel killing somebody. Open MPI's processes have buffers of
/// their own, and its algorithms a temporary as large.
void check_memory(const BenchRequest& request, const Request& what) {
  const std::uint64_t largest = sizes_for(request, what.collective).back();
  const std::uint64_t buffers = measures(request, Placement::out_of_place) ? 2 : 1;
  const std::uint64_t of_peer = competitor_buffers(request, buffers);
  const double needed = static_cast<double>(HostStage::bytes_needed(what, largest, request)) +
                        static_cast<double>(largest) * static_cast<double>(of_peer) * what.ranks;
  const std::uint64_t available = available_memory();
  if (available == 0 || needed <= static_cast<double>(available)) return;
  throw Error(
      ErrorCode::bad_input,
      fmt::format("{} ranks with messages of {} need {} of buffers, more than the {} of memory "
                  "available; choose a smaller --end",
                  what.ranks, format_bytes(largest),
                  format_bytes(static_cast<std::uint64_t>(std::min(needed, 0x1p63))),
                  format_bytes(available)));
}

/// Nothing if the algorithm serves the collective in a placement that is measured, or the reason.
std::optional<Error> refusal_in_all(const BenchRequest& request, const std::string& spec,
                                    Request what) {
  if (spec == "auto") return std::nullopt;
  std::optional<Error> first;
  for (const auto placement : placements) {
    what.in_place = placement == Placement::in_place;
    if (!measures(request, placement)) continue;
    if (what.in_place && !can_be_in_place(what.collective)) continue;
    auto why = refusal_of(spec, what);
    if (!why) return std::nullopt;
    if (!first) first = std::move(why);
  }
  return first;
}

/// The algorithms to measure. Those that are left out are noted: by `all`, and of those named the
/// ones that serve other collectives of the sweep.
std::vector<std::unique_ptr<Subject>> make_subjects(const BenchRequest& request, HostStage& stage,
                                                    Operation operation,
                                                    std::vector<Skipped>& skipped) {
  const Request what = stage.request(Placement::out_of_place);
  std::vector<std::unique_ptr<Subject>> subjects;
  if (operation.is_sendrecv()) {
    subjects.push_back(std::make_unique<MessageSubject>(stage));
    return subjects;
  }
  if (is_barrier(operation)) {
    subjects.push_back(std::make_unique<AlgorithmSubject>(stage, "auto"));
    return subjects;
  }
  for (const auto& spec : request.algorithms) {
    if (const auto why = refusal_in_all(request, spec, what))
      skipped.push_back({spec, what.ranks, why->what(), what.collective});
    else
      subjects.push_back(std::make_unique<AlgorithmSubject>(stage, spec));
  }
  if (!request.algorithms.empty()) return subjects;
  for (const AlgorithmInfo& info : registered_algorithms()) {
    const auto& served = info.collectives;
    if (std::find(served.begin(), served.end(), what.collective) == served.end()) continue;
    try {
      subjects.push_back(std::make_unique<AlgorithmSubject>(stage, info.name));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::bad_input) throw;
      skipped.push_back({info.name, what.ranks, error.what(), what.collective});
    }
  }
  return subjects;
}

/// Fails for a request that cannot be served before anything has been measured: for a spec that
/// cannot be run at a number of ranks with any of the collectives.
void check_algorithms(const BenchRequest& request) {
  // Barriers and messages ask for no algorithm, but a name that nobody knows is a mistake anywhere.
  for (const auto& spec : request.algorithms)
    if (spec != "auto" && !is_plan_file(spec)) (void)find_algorithm(parse_spec(spec).name);
  for (const int ranks : request.ranks)
    for (const auto& spec : request.algorithms) {
      std::optional<Error> first;
      bool served = false;
      for (const auto collective : request.collectives) {
        if (is_barrier(collective) || collective.is_sendrecv()) continue;
        auto why = refusal_in_all(request, spec, request_for(request, collective, ranks));
        served = served || !why;
        if (why && !first) first = std::move(why);
      }
      if (first && !served) throw *first;
    }
}

void check_request(const BenchRequest& request) {
  (void)sizes_of(request.sizes);
  const bool out = measures(request, Placement::out_of_place);
  for (const auto collective : request.collectives)
    if (!out && !can_be_in_place(collective) && request.collectives.size() == 1)
      throw Error(ErrorCode::bad_input,
                  fmt::format("{} cannot be in place", to_string(collective)));
  for (const int ranks : request.ranks)
    if (request.root < 0 || request.root >= ranks)
      throw Error(ErrorCode::bad_input,
                  fmt::format("--root {} is not one of {} ranks", request.root, ranks));
  check_algorithms(request);
  for (const auto collective : request.collectives)
    for (const int ranks : request.ranks)
      check_memory(request, request_for(request, collective, ranks));
}

/// How far a sweep has come.
struct Cells {
  std::size_t done = 0, total = 0;
};

/// One collective at one number of ranks.
class Group {
 public:
  Group(Report& report, Operation operation, const Request& what, Cells& cells,
        const SweepListener& listener)
      : report_(report),
        request_(report.request),
        operation_(operation),
        what_(what),
        cells_(cells),
        sizes_(sizes_for(request_, operation)),
        listener_(listener),
        stage_(what, sizes_.back(), request_),
        subjects_(make_subjects(request_, stage_, operation, report.skipped)),
        first_(report.series.size()),
        watch_(request_.watch) {
    if (operation.is_sendrecv())
      for (const auto& name : request_.compare)
        report.skipped.push_back(
            {name, what.ranks, "sendrecv is measured of ours only", operation});
    else
      for (auto& competitor : make_competitors(request_, stage_, report.skipped))
        subjects_.push_back(std::move(competitor));
    for (const auto& subject : subjects_) {
      report_.series.push_back(subject->describe());
      report_.series.back().collective = operation;
      report_.series.back().root = what.root;
    }
  }

  /// Empty where every algorithm was left out.
  void run() {
    if (subjects_.empty()) return;
    for (std::size_t i = first_; i < report_.series.size(); ++i) listener_.start(report_.series[i]);
    const std::vector<ReduceOp> no_operator = {ReduceOp::sum};
    const bool barrier = is_barrier(operation_);
    for (const auto type : barrier ? std::vector{request_.types.front()} : request_.types)
      for (const auto op : reduces(operation_) ? request_.ops : no_operator)
        for (const auto size : sizes_) measure_size(type, op, size);
    listener_.group(report_, first_);
  }

  /// Sizes times placements, of all types and operators.
  [[nodiscard]] static std::size_t cells(const BenchRequest& request, Operation operation) {
    std::size_t placed = 0;
    for (const auto placement : placements)
      if (measured(request, operation, placement)) ++placed;
    if (is_barrier(operation)) return placed;
    const std::size_t ops = reduces(operation) ? request.ops.size() : 1;
    return placed * sizes_of(request.sizes).size() * request.types.size() * ops;
  }

 private:
  static bool measured(const BenchRequest& request, Operation operation, Placement placement) {
    return measures(request, placement) &&
           (placement == Placement::out_of_place || can_be_in_place(operation));
  }

  /// A row of every series.
  void measure_size(ElementType type, ReduceOp op, std::uint64_t size) {
    const auto volume = volume_of(operation_, what_.ranks, type, size, request_.exact_counts);
    std::vector<Row> rows(subjects_.size(), Row{.type = type,
                                                .op = op,
                                                .asked = size,
                                                .bytes = volume.bytes,
                                                .count = volume.count,
                                                .timings = {}});
    std::vector<bool> taken(subjects_.size(), false);
    for (const auto placement : placements) {
      if (!measured(request_, operation_, placement)) continue;
      const Cell cell{.collective = operation_,
                      .type = type,
                      .op = op,
                      .count = volume.count,
                      .placement = placement,
                      .root = what_.root};
      std::vector<Subject*> able;
      std::vector<std::size_t> places;
      for (std::size_t i = 0; i < subjects_.size(); ++i) {
        if (const auto why = subjects_[i]->refusal(cell))
          note_refusal(i, *why);
        else
          able.push_back(subjects_[i].get()), places.push_back(i);
      }
      listener_.progress(cells_.done++, cells_.total,
                         fmt::format("{}, {} ranks, {}, {}", to_string(operation_), what_.ranks,
                                     format_bytes(size), to_string(placement)));
      stage_.fill_with_ones(type, volume.count);
      auto timings = measure(able, cell, request_, watch_);
      for (std::size_t i = 0; i < places.size(); ++i) {
        timings[i].spec = able[i]->choice(cell);
        rows[places[i]].timings[static_cast<std::size_t>(placement)] = std::move(timings[i]);
        taken[places[i]] = true;
      }
    }
    for (std::size_t i = 0; i < subjects_.size(); ++i) {
      if (!taken[i]) continue;
      Series& series = report_.series[first_ + i];
      series.rows.push_back(std::move(rows[i]));
      listener_.row(series, series.rows.back());
    }
  }

  void note_refusal(std::size_t subject, const std::string& why) {
    const Skipped note{report_.series[first_ + subject].label, what_.ranks, why, operation_};
    for (const auto& earlier : report_.skipped)
      if (earlier.label == note.label && earlier.ranks == note.ranks &&
          earlier.collective == note.collective && earlier.reason == note.reason)
        return;
    report_.skipped.push_back(note);
  }

  Report& report_;
  const BenchRequest& request_;
  Operation operation_;
  Request what_;
  Cells& cells_;
  std::vector<std::uint64_t> sizes_;
  const SweepListener& listener_;
  HostStage stage_;
  std::vector<std::unique_ptr<Subject>> subjects_;
  std::size_t first_;
  RoundWatch watch_;
};

}  // namespace

Report run_sweep(const BenchRequest& request, const SweepListener& listener) {
  Report report;
  report.request = request;
  report.machine = read_machine();
  report.options = changed_options();
  report.start_time = utc_now();
  check_competitors(request);
  check_request(request);

  struct Planned {
    Operation operation;
    Request what;
    std::size_t cells;
  };
  std::vector<Planned> groups;
  Cells cells;
  for (const auto collective : request.collectives)
    for (const int ranks : request.ranks) {
      groups.push_back(
          {collective, request_for(request, collective, ranks), Group::cells(request, collective)});
      cells.total += groups.back().cells;
    }
  for (const auto& group : groups) {
    if (group.cells > 0)
      Group(report, group.operation, group.what, cells, listener).run();
    else
      report.skipped.push_back({"all", group.what.ranks, "it cannot be in place", group.operation});
  }
  report.end_time = utc_now();
  return report;
}

bool all_right(const Report& report) {
  return std::all_of(report.series.begin(), report.series.end(),
                     [](const Series& series) { return failed_checks(series) == 0; });
}

}  // namespace ringside::bench
