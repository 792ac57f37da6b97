// SPDX-License-Identifier: MIT
/// What the JSON outputs of the commands say, as far as a report shows it. Readers fill it, the
/// page is made of it; nothing here knows JSON or HTML.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ringside/topology/graph.hpp"

namespace ringside::report {

/// How a figure came about. `nothing`: calls ran on a test double, and their times mean nothing.
enum class Figures { measured, simulated, predicted, nothing };

/// "measured", ..., "not measured".
[[nodiscard]] std::string_view to_string(Figures figures);

/// A file that was read.
struct Source {
  std::string file = {};  ///< as it was named
  std::string kind = {};  ///< "benchmark", "simulation", ...
  Figures figures = Figures::measured;
  std::vector<std::pair<std::string, std::string>> facts = {};  ///< name and value, for people
  std::vector<std::string> notes = {};  ///< what is to be said, a sentence each
};

// ---- times of calls

/// What was called. Curves of one call belong in one chart.
struct Call {
  std::string collective = {};
  int ranks = 1;
  bool gpus = false;  ///< on GPUs or a model of some, else on processor cores
  std::string type = {}, redop = {};
  int root = -1;  ///< -1: it has none
  bool in_place = false;

  auto operator<=>(const Call&) const = default;  // NOLINT(modernize-use-nullptr)
};

struct Point {
  std::uint64_t bytes = 0;
  double us = 0;                                ///< microseconds a call
  std::optional<double> least = {}, most = {};  ///< of rounds, of samples, or of what is possible
  double busbw = 0;                             ///< GB/s
  std::string ran = {};                         ///< what `auto` took
};

enum class Role {
  ours,
  peer,      ///< another library
  baseline,  ///< a loop written by hand
  bound,     ///< what no plan can beat
};

struct Series {
  std::string label = {};  ///< a spec string, a library's name
  Role role = Role::ours;
  Figures figures = Figures::measured;
  std::size_t source = 0;   ///< index in Runs::sources
  std::string detail = {};  ///< what exactly that is; what the spread is of
  std::vector<Point> points = {};
};

struct Curve {
  Call call = {};
  Series series = {};
};

/// How many times as long a peer takes as we do.
struct RatioPoint {
  std::uint64_t bytes = 0;
  double ratio = 1;
  std::string algorithm = {};  ///< the fastest of ours
};

struct RatioCurve {
  Call call = {};
  std::string peer = {};
  std::size_t source = 0;
  bool same_rounds = true;  ///< else the ratio of medians of separate runs
  std::vector<RatioPoint> points = {};
};

/// A row of `ringside bench --compare`: new time over old.
struct RowChange {
  Call call = {};
  std::string algorithm = {};
  std::uint64_t bytes = 0;
  std::optional<double> ratio = {}, low = {}, high = {};
  std::string verdict = {};
};

struct RunChanges {
  std::size_t source = 0;
  std::string old_run = {}, new_run = {};
  std::vector<RowChange> rows = {};
};

// ---- training

using Parts = std::vector<std::pair<std::string, double>>;  ///< name, milliseconds of a step

struct TrainingRow {
  std::string strategy = {}, algorithm = {};
  std::string more = {};  ///< what else tells it from others: micro-batches, a what-if
  int ranks = 1;
  double samples_per_second = 0, speedup = 1;
  std::vector<double> speedups = {};  ///< by round
  Parts parts = {};
};

/// Measured side by side, or predicted for a machine that is not here.
struct TrainingComparison {
  std::size_t source = 0;
  std::string title = {};
  std::vector<TrainingRow> rows = {};
};

struct Epoch {
  int number = 0;
  double seconds = 0, samples_per_second = 0, loss = 0, accuracy = 0;
  std::optional<double> test_accuracy = {};
  Parts parts = {};  ///< mean of the ranks
};

struct TrainingRun {
  std::size_t source = 0;
  std::string title = {};
  std::vector<Epoch> epochs = {};
};

// ---- machines

struct LinkLoad {
  std::string link = {};  ///< "GPU0 -> switch0"
  double bytes = 0;
  double capacity = 0;             ///< bytes per second
  double busy = 0, saturated = 0;  ///< seconds
};

/// What the links of a machine carried in a call.
struct LoadCase {
  std::string algorithm = {};
  std::uint64_t bytes = 0;  ///< of the message
  double seconds = 0;
  std::vector<LinkLoad> links = {};
};

struct MachineView {
  std::size_t source = 0;
  std::string name = {}, call = {};
  Topology topology = {};
  std::vector<LoadCase> loads = {};
};

// ---- time lines

struct Span {
  int row = 0;
  double begin_us = 0, end_us = 0;
  std::string kind = {}, what = {};
};

struct Timeline {
  std::size_t source = 0;
  std::string title = {};
  std::vector<std::string> rows = {};
  std::vector<Span> spans = {};
  std::size_t left_out = 0;  ///< spans beyond what is drawn
};

// ---- findings

struct Finding {
  std::string id = {}, title = {}, certainty = {}, harm = {}, why = {}, cost = {}, confirm = {},
              fix = {};
  std::vector<std::string> lines = {};
};

/// Measured beside predicted, in GB/s.
struct ComparedFigure {
  std::string what = {};
  double measured = 0, predicted = 0;
};

struct Diagnosis {
  std::size_t source = 0;
  std::string verdict = {};
  std::vector<Finding> findings = {};
  std::vector<ComparedFigure> compared = {};
  std::string all_mended = {};
};

/// What preflight measured between two ends.
struct PathFigure {
  std::string from = {}, to = {}, traffic = {}, method = {}, peer_access = {};
  std::optional<double> gb_per_s = {}, latency_us = {};
};

struct Preflight {
  std::size_t source = 0;
  std::vector<std::string> devices = {};
  std::vector<PathFigure> paths = {};
  std::vector<Finding> findings = {};
};

struct Runs {
  std::vector<Source> sources = {};
  std::vector<Curve> curves = {};
  std::vector<RatioCurve> ratios = {};
  std::vector<RunChanges> changes = {};
  std::vector<TrainingComparison> comparisons = {};
  std::vector<TrainingRun> trainings = {};
  std::vector<MachineView> machines = {};
  std::vector<Timeline> timelines = {};
  std::vector<Diagnosis> diagnoses = {};
  std::vector<Preflight> preflights = {};
};

}  // namespace ringside::report
