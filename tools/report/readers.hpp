// SPDX-License-Identifier: MIT
/// One function a kind of file. Each adds its source and what it tells; each throws
/// Error(bad_input) with the path of what is damaged.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ringside/base/json.hpp"
#include "ringside/tools/report/runs.hpp"

namespace ringside::report {

void read_bench(const JsonValue& root, const std::string& file, Runs& runs);
void read_nccl_tests(const JsonValue& root, const std::string& file, Runs& runs);
void read_run_changes(const JsonValue& root, const std::string& file, Runs& runs);
void read_simulation(const JsonValue& root, const std::string& file, Runs& runs);
void read_timeline(const JsonValue& root, const std::string& file, Runs& runs);
void read_topology(const JsonValue& root, const std::string& file, Runs& runs);
void read_training(const JsonValue& root, const std::string& file, Runs& runs);
void read_training_comparison(const JsonValue& root, const std::string& file, Runs& runs);
void read_predicted_training(const JsonValue& root, const std::string& file, Runs& runs);
void read_diagnosis(const JsonValue& root, const std::string& file, Runs& runs);
void read_preflight(const JsonValue& root, const std::string& file, Runs& runs);

/// More entries than any run of ours has are refused before they are read.
inline constexpr std::size_t most_entries = 200'000;

/// The field, unless it is absent or null.
[[nodiscard]] std::optional<JsonValue> present(const JsonValue& object, std::string_view key);
[[nodiscard]] std::optional<double> number_in(const JsonValue& object, std::string_view key);
[[nodiscard]] std::string text_in(const JsonValue& object, std::string_view key);
/// A number of at least 0; greater than 0 if so asked.
[[nodiscard]] double amount(const JsonValue& value, bool positive = false);
[[nodiscard]] int count_in(const JsonValue& object, std::string_view key, int least, int most);
[[nodiscard]] std::vector<std::string> texts_in(const JsonValue& object, std::string_view key);
/// Adds the source and returns its index.
std::size_t add_source(Runs& runs, Source source);
/// Names of nccl-tests in our words: "float" is float32.
[[nodiscard]] std::string type_name(std::string_view name);

}  // namespace ringside::report
