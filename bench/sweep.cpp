// SPDX-License-Identifier: MIT
#include "ringside/bench/sweep.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "ringside/base/error.hpp"
#include "ringside/base/options.hpp"
#include "ringside/base/text.hpp"
#include "ringside/bench/algorithm_subject.hpp"
#include "ringside/bench/measure.hpp"
#include "ringside/bench/peer_process.hpp"
#include "ringside/collectives/algorithm.hpp"

namespace ringside::bench {
namespace {

std::string utc_now() {
  return fmt::format(
      "{:%Y-%m-%dT%H:%M:%S}Z",
      fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

bool measures(const BenchRequest& request, Placement placement) {
  return request.measured[static_cast<std::size_t>(placement)];
}

/// Refuses what would end in the kernel killing somebody. Open MPI's processes have buffers of
/// their own, and its algorithms a temporary as large.
void check_memory(const BenchRequest& request, std::uint64_t largest, int ranks) {
  const std::uint64_t available = available_memory();
  const std::uint64_t buffers = measures(request, Placement::out_of_place) ? 2 : 1;
  const std::uint64_t of_rank = buffers + (request.compare_openmpi ? buffers + 1 : 0);
  const auto n = static_cast<std::uint64_t>(ranks);
  if (available == 0 || largest <= available / (of_rank * n)) return;
  throw Error(
      ErrorCode::bad_input,
      fmt::format("{} ranks with messages of {} need {} buffers of that size, more than the "
                  "{} of memory available; choose a smaller --end",
                  ranks, format_bytes(largest), of_rank * n, format_bytes(available)));
}

/// The algorithms to measure at this number of ranks. Those that `all` leaves out are noted.
std::vector<std::unique_ptr<Subject>> make_subjects(const BenchRequest& request, Stage& stage,
                                                    std::vector<Skipped>& skipped) {
  std::vector<std::unique_ptr<Subject>> subjects;
  for (const auto& spec : request.algorithms)
    subjects.push_back(std::make_unique<AlgorithmSubject>(stage, spec));
  if (!request.algorithms.empty()) return subjects;
  for (const AlgorithmInfo& info : registered_algorithms()) {
    const auto& served = info.collectives;
    if (std::find(served.begin(), served.end(), Collective::all_reduce) == served.end()) continue;
    try {
      subjects.push_back(std::make_unique<AlgorithmSubject>(stage, info.name));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::bad_input) throw;
      skipped.push_back({info.name, stage.team().size(), error.what()});
    }
  }
  return subjects;
}

/// Fails for a request that cannot be served before anything has been measured.
void check_algorithms(const BenchRequest& request) {
  for (const int ranks : request.ranks)
    for (const auto& spec : request.algorithms)
      if (spec != "auto")
        for (const bool in_place : {false, true})
          (void)make_algorithm(parse_spec(spec), {.collective = Collective::all_reduce,
                                                  .ranks = ranks,
                                                  .root = 0,
                                                  .in_place = in_place});
}

/// One number of ranks.
class Group {
 public:
  Group(Report& report, const std::vector<std::uint64_t>& sizes, int ranks,
        const SweepListener& listener)
      : report_(report),
        request_(report.request),
        sizes_(sizes),
        listener_(listener),
        stage_(ranks, sizes.back(), request_),
        subjects_(make_subjects(request_, stage_, report.skipped)),
        first_(report.series.size()) {
    if (request_.compare_openmpi)
      subjects_.push_back(std::make_unique<OpenMpiSubject>(
          ranks, request_.openmpi_program, request_.timeout.value_or(option<Seconds>("timeout"))));
    for (const auto& subject : subjects_) report_.series.push_back(subject->describe());
  }

  void run() {
    for (const auto type : request_.types)
      for (const auto op : request_.ops)
        for (const auto size : sizes_) measure_size(type, op, size);
    listener_.group(report_, first_);
  }

 private:
  /// A row of every series.
  void measure_size(ElementType type, ReduceOp op, std::uint64_t size) {
    const std::uint64_t count = size / size_of(type);
    std::vector<Row> rows(
        subjects_.size(),
        Row{.type = type, .op = op, .bytes = count * size_of(type), .count = count, .timings = {}});
    std::vector<bool> taken(subjects_.size(), false);
    for (const auto placement : placements) {
      if (!measures(request_, placement)) continue;
      const Cell cell{.type = type, .op = op, .count = count, .placement = placement};
      std::vector<Subject*> able;
      std::vector<std::size_t> places;
      for (std::size_t i = 0; i < subjects_.size(); ++i) {
        if (const auto why = subjects_[i]->refusal(cell))
          note_refusal(i, *why);
        else
          able.push_back(subjects_[i].get()), places.push_back(i);
      }
      listener_.progress(done_++, total(),
                         fmt::format("{} ranks, {}, {}", stage_.team().size(), format_bytes(size),
                                     to_string(placement)));
      stage_.fill_with_ones(type, count);
      const auto timings = measure(able, cell, request_);
      for (std::size_t i = 0; i < places.size(); ++i) {
        rows[places[i]].timings[static_cast<std::size_t>(placement)] = timings[i];
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
    const Skipped note{report_.series[first_ + subject].label, stage_.team().size(), why};
    for (const auto& earlier : report_.skipped)
      if (earlier.label == note.label && earlier.ranks == note.ranks &&
          earlier.reason == note.reason)
        return;
    report_.skipped.push_back(note);
  }

  [[nodiscard]] std::size_t total() const {
    const auto both = static_cast<std::size_t>(
        std::count(request_.measured.begin(), request_.measured.end(), true));
    return sizes_.size() * request_.types.size() * request_.ops.size() * both;
  }

  Report& report_;
  const BenchRequest& request_;
  const std::vector<std::uint64_t>& sizes_;
  const SweepListener& listener_;
  Stage stage_;
  std::vector<std::unique_ptr<Subject>> subjects_;
  std::size_t first_;
  std::size_t done_ = 0;
};

}  // namespace

Report run_sweep(const BenchRequest& request, const SweepListener& listener) {
  Report report;
  report.request = request;
  report.machine = read_machine();
  report.start_time = utc_now();
  if (request.compare_openmpi && request.openmpi_program.empty())
    report.request.openmpi_program = find_openmpi_program();
  const auto sizes = sizes_of(request.sizes);
  check_algorithms(request);
  for (const int ranks : request.ranks) check_memory(request, sizes.back(), ranks);
  for (const int ranks : request.ranks) Group(report, sizes, ranks, listener).run();
  report.end_time = utc_now();
  return report;
}

bool all_right(const Report& report) {
  return std::all_of(report.series.begin(), report.series.end(),
                     [](const Series& series) { return failed_checks(series) == 0; });
}

}  // namespace ringside::bench
