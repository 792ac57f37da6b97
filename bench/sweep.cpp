// SPDX-License-Identifier: MIT
#include "ringside/bench/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "ringside/base/error.hpp"
#include "ringside/base/options.hpp"
#include "ringside/base/text.hpp"
#include "ringside/bench/algorithm_list.hpp"
#include "ringside/bench/measure.hpp"
#include "ringside/bench/platform.hpp"

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

void check_memory(const BenchRequest& request, const Platform& platform) {
  for (const auto collective : request.collectives)
    for (const int ranks : request.ranks)
      platform.check_memory(
          request_for(request, collective, ranks),
          sizes_for(request, request_for(request, collective, ranks).collective).back());
}

/// How far a sweep has come.
struct Cells {
  std::size_t done = 0, total = 0;
};

/// One collective at one number of ranks.
class Group {
 public:
  Group(Report& report, Platform& platform, Operation operation, const Request& what, Cells& cells,
        const SweepListener& listener)
      : report_(report),
        request_(report.request),
        operation_(operation),
        what_(what),
        cells_(cells),
        sizes_(sizes_for(request_, operation)),
        listener_(listener),
        group_(platform.group(operation, what, sizes_.back())),
        subjects_(group_->subjects(report.skipped)),
        first_(report.series.size()),
        watch_(request_.watch && platform.depends_on_cores()) {
    for (const auto& subject : subjects_) {
      report_.series.push_back(subject->describe());
      report_.series.back().collective = operation;
      report_.series.back().root = what.root;
    }
  }

  /// Empty where every algorithm was left out.
  void run() {
    if (subjects_.empty()) return;
    for (std::size_t i = first_; i < report_.series.size(); ++i)
      listener_.start(report_, report_.series[i]);
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
      group_->prepare(type, volume.count);
      auto timings = measure(able, cell, request_, watch_);
      for (std::size_t i = 0; i < places.size(); ++i) {
        timings[i].spec = able[i]->choice(cell);
        if (report_.nothing_measured()) forget_times(timings[i]);
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
  std::unique_ptr<PlatformGroup> group_;
  std::vector<std::unique_ptr<Subject>> subjects_;
  std::size_t first_;
  RoundWatch watch_;
};

}  // namespace

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
}

Report run_sweep(const BenchRequest& request, const SweepListener& listener) {
  Report report;
  report.request = request;
  report.machine = read_machine();
  report.options = changed_options();
  report.start_time = utc_now();
  const auto platform = make_platform(report.request);
  report.gpus = platform->gpus();
  if (runs_on_processes(request.backend)) report.processes = read_processes();
  check_request(report.request);
  check_memory(report.request, *platform);

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
      Group(report, *platform, group.operation, group.what, cells, listener).run();
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
