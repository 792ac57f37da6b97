// SPDX-License-Identifier: MIT
#include "ringside/bench/accuracy/accuracy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/bench/accuracy/predictor.hpp"

namespace ringside::bench {
namespace {

/// How far a figure is moved to see which rows depend on it.
constexpr double probe = 1.5;

/// The rows that count, each with its machine; predictions are remembered.
class Predictions {
 public:
  explicit Predictions(const std::vector<PublishedRow>& rows) {
    for (const auto& row : rows) {
      if (!row.excluded_because.empty()) continue;
      Entry entry{
          .row = &row, .machine = machine_of(row), .way = {}, .depends_on = {}, .known = {}};
      entry.way = way_of(row, entry.machine);
      entries_.push_back(std::move(entry));
    }
    const auto priors = prior_values();
    for (auto& entry : entries_) {
      const double before = simulate(entry, priors);
      for (std::size_t k = 0; k < priors.size(); ++k)
        if (depends(entry, priors, before, k)) entry.depends_on.push_back(k);
    }
  }

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] const PublishedRow& row(std::size_t i) const { return *entries_[i].row; }
  [[nodiscard]] const std::string& way(std::size_t i) const { return entries_[i].way; }
  [[nodiscard]] const std::string& model(std::size_t i) const {
    return entries_[i].machine.model.name;
  }
  [[nodiscard]] const std::vector<std::size_t>& depends_on(std::size_t i) const {
    return entries_[i].depends_on;
  }

  static std::vector<double> prior_values() {
    std::vector<double> values;
    for (const auto& each : published_figures()) values.push_back(each.figure.prior);
    return values;
  }

  /// With the figures of the library.
  double as_is(std::size_t i) {
    return predicted_rate(row(i), entries_[i].machine, entries_[i].way);
  }

  double at(std::size_t i, const std::vector<double>& values) {
    Entry& entry = entries_[i];
    std::vector<double> key;
    for (const auto k : entry.depends_on) key.push_back(values[k]);
    const auto known = entry.known.find(key);
    if (known != entry.known.end()) return known->second;
    return entry.known[key] = simulate(entry, values);
  }

 private:
  struct Entry {
    const PublishedRow* row;
    MachineDescription machine;
    std::string way;
    std::vector<std::size_t> depends_on;  // numbers of published_figures()
    std::map<std::vector<double>, double> known;
  };

  static double simulate(const Entry& entry, const std::vector<double>& values) {
    MachineDescription machine = entry.machine;
    for (std::size_t k = 0; k < values.size(); ++k) {
      const auto& figure = published_figures()[k];
      if (!figure.model.empty() && figure.model != machine.model.name) continue;
      Figure changed = *machine.model.find(figure.figure.name);
      changed.value = values[k];
      machine.model.set(std::move(changed));
    }
    try {
      return predicted_rate(*entry.row, machine, entry.way);
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("row {}: {}", entry.row->row, error.what()));
    }
  }

  /// `before`: what is predicted with these values.
  static bool depends(const Entry& entry, std::vector<double> values, double before,
                      std::size_t k) {
    const auto& figure = published_figures()[k];
    if (!figure.model.empty() && figure.model != entry.machine.model.name) return false;
    const double prior = values[k];
    values[k] = std::min(prior * probe, figure.figure.most);
    if (simulate(entry, values) != before) return true;
    values[k] = std::max(prior / probe, figure.figure.least);
    return simulate(entry, values) != before;
  }

  std::vector<Entry> entries_;
};

/// Figures that the same rows depend on are fitted together, others apart: what one row says
/// changes nothing elsewhere.
std::vector<std::vector<std::size_t>> parts_of(const Predictions& predictions) {
  std::vector<std::size_t> leader(published_figures().size());
  for (std::size_t k = 0; k < leader.size(); ++k) leader[k] = k;
  const auto find = [&](std::size_t k) {
    while (leader[k] != k) k = leader[k];
    return k;
  };
  for (std::size_t i = 0; i < predictions.size(); ++i)
    for (const auto k : predictions.depends_on(i))
      leader[find(k)] = find(predictions.depends_on(i).front());
  std::map<std::size_t, std::vector<std::size_t>> parts;
  for (std::size_t k = 0; k < leader.size(); ++k) parts[find(k)].push_back(k);
  std::vector<std::vector<std::size_t>> result;
  for (auto& [first, part] : parts) result.push_back(std::move(part));
  return result;
}

/// Fits the figures of a part to the rows outside of a group.
void fit_part(Predictions& predictions, const std::vector<std::size_t>& part,
              const std::string& without_group, std::vector<double>& values) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    const auto& on = predictions.depends_on(i);
    if (predictions.row(i).group != without_group && !on.empty() &&
        std::ranges::find(part, on.front()) != part.end())
      rows.push_back(i);
  }
  std::vector<FreeFigure> figures;
  for (const auto k : part) figures.push_back(published_figures()[k].figure);
  const auto errors = [&](const std::vector<double>& these) {
    std::vector<double> all = values, logs;
    for (std::size_t j = 0; j < part.size(); ++j) all[part[j]] = these[j];
    for (const auto i : rows)
      logs.push_back(std::log(predictions.at(i, all) / predictions.row(i).measured));
    return logs;
  };
  const Fit fit = fit_figures(figures, errors);
  for (std::size_t j = 0; j < part.size(); ++j) values[part[j]] = fit.values[j];
}

std::vector<double> fit_all(Predictions& predictions, const std::string& without_group) {
  std::vector<double> values = Predictions::prior_values();
  for (const auto& part : parts_of(predictions)) fit_part(predictions, part, without_group, values);
  return values;
}

double error_of(double predicted, double measured) { return predicted / measured - 1; }

std::string shortened(const std::string& text, std::size_t length) {
  return text.size() <= length ? text : text.substr(0, length - 2) + "..";
}

std::string summary_line(const char* what, const ErrorSummary& errors) {
  return fmt::format("{}: median {:.1f} %, p90 {:.1f} %, worst {:.1f} % of {} rows\n", what,
                     100 * errors.median, 100 * errors.p90, 100 * errors.worst, errors.rows);
}

}  // namespace

Accuracy accuracy_of(const std::vector<PublishedRow>& rows) {
  Predictions predictions(rows);
  Accuracy accuracy{.rows = {}, .fitted = fit_all(predictions, "")};
  std::map<std::string, std::vector<double>> without;
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    const auto& group = predictions.row(i).group;
    if (!without.contains(group)) without[group] = fit_all(predictions, group);
    accuracy.rows.push_back({.way = predictions.way(i),
                             .model = predictions.model(i),
                             .predicted = predictions.as_is(i),
                             .without_system = predictions.at(i, without[group])});
  }
  return accuracy;
}

ErrorSummary errors_of(const std::vector<PublishedRow>& rows, const Accuracy& accuracy,
                       bool without_system, bool copies) {
  std::vector<double> errors;
  std::size_t next = 0;
  for (const auto& row : rows) {
    if (!row.excluded_because.empty()) continue;
    const auto& result = accuracy.rows[next++];
    if (!copies && row.way.starts_with("cop")) continue;
    errors.push_back(std::abs(
        error_of(without_system ? result.without_system : result.predicted, row.measured)));
  }
  if (errors.empty()) return {};
  std::ranges::sort(errors);
  const auto quantile = [&](double part) {
    const double at = part * static_cast<double>(errors.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const auto above = std::min(below + 1, errors.size() - 1);
    return errors[below] + (at - static_cast<double>(below)) * (errors[above] - errors[below]);
  };
  return {
      .rows = errors.size(), .median = quantile(0.5), .p90 = quantile(0.9), .worst = errors.back()};
}

std::string accuracy_text(const std::vector<PublishedRow>& rows, const Accuracy& accuracy) {
  std::string text =
      "Bus bandwidth of NCCL (of copies: the rate) in GB/s: measured, as published by the sources\n"
      "named in published-busbw.tsv; simulated by the twin, once with the library's figures and "
      "once\n"
      "with the figures that all rows but those of the same machine give (left out).\n\n";
  text += fmt::format("{:>3} {:38} {:24} {:>4} {:14} {:>11} {:6} {:>8} {:>9} {:>7} {:>9} {:>7}\n",
                      "row", "system", "machine of the twin", "gpus", "collective", "size", "ran",
                      "measured", "simulated", "error", "left out", "error");
  std::size_t next = 0;
  for (const auto& row : rows) {
    if (!row.excluded_because.empty()) continue;
    const auto& result = accuracy.rows[next++];
    text += fmt::format(
        "{:>3} {:38} {:24} {:>4} {:14} {:>11} {:6} {:>8.2f} {:>9.2f} {:>+6.1f}% {:>9.2f} "
        "{:>+6.1f}%\n",
        row.row, shortened(row.system, 38), row.machine, row.gpus, row.collective, row.size,
        shortened(result.way, 6), row.measured, result.predicted,
        100 * error_of(result.predicted, row.measured), result.without_system,
        100 * error_of(result.without_system, row.measured));
  }
  text += "\n" + summary_line("figures as they are, fitted to these rows",
                              errors_of(rows, accuracy, false, true));
  text += summary_line("each machine with figures fitted to the others",
                       errors_of(rows, accuracy, true, true));
  text += summary_line("the same without rows of copies", errors_of(rows, accuracy, true, false));
  text += "\nfitted figures\n";
  for (std::size_t k = 0; k < published_figures().size(); ++k) {
    const auto& each = published_figures()[k];
    text += fmt::format("  {:20} {:24} {:8.4g}  before {:8.4g} ({})\n",
                        each.model.empty() ? "all" : each.model, each.figure.name,
                        accuracy.fitted[k], each.figure.prior, each.prior_source);
  }
  text += "\nwhat the twin was told beyond the sources' words\n";
  for (const auto& row : rows)
    if (!row.remark.empty()) text += fmt::format("  {:>3} {}\n", row.row, row.remark);
  text += "\nrows that do not count\n";
  for (const auto& row : rows)
    if (!row.excluded_because.empty())
      text += fmt::format("  {:>3} {:44} {:>8.2f}  {}\n", row.row, shortened(row.system, 44),
                          row.measured, row.excluded_because);
  return text;
}

}  // namespace ringside::bench
