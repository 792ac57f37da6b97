// SPDX-License-Identifier: MIT
/// Spec strings: the one way to name an algorithm with its parameters.
///
///     ring
///     ring:order=0-1-3-2,slices=8
///     hierarchical:groups=0-1/2-3,inner=two_shot,outer=(ring:order=1-0)
///
/// A value that contains a comma stands in parentheses.
///
/// A plan file stands wherever a spec does, by its path (plugin/plan_file.hpp):
///
///     ring4.json
///     ./plans/ring4.json
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ringside {

/// A spec string that has been read. Nothing is known of whether such an algorithm exists.
struct Spec {
  std::string name;  ///< of an algorithm, or the path of a plan file
  std::vector<std::pair<std::string, std::string>> parameters;  ///< in the order given

  bool operator==(const Spec&) const = default;
};

/// Whether a text is the path of a plan file: no name of an algorithm has a '.' or '/', so one
/// before the first ':' tells. Any file can be given as ./NAME.
[[nodiscard]] bool is_plan_file(std::string_view text);

/// Throws Error(bad_input) with the place of the mistake; a parameter may be given only once. The
/// path of a plan file is a name without parameters, whatever characters it has, but for control
/// characters: it is printed.
[[nodiscard]] Spec parse_spec(std::string_view text);
/// What parse_spec reads as this.
[[nodiscard]] std::string to_string(const Spec& spec);

/// The spec with more behind it: "ring" and "slices=8,lanes=2" make "ring:slices=8,lanes=2". It is
/// the caller who knows that none is given twice. Throws Error(bad_input) for a plan file, which
/// takes none.
[[nodiscard]] std::string with_parameters(std::string_view spec, std::string_view parameters);

/// Splits "ring:slices=8,order=1-0,two_shot" into its specs: a comma before `name=` continues a
/// spec, any other begins the next. The path of a plan file that has a comma stands in parentheses:
/// "(./a,b.json),ring". Throws Error(bad_input).
[[nodiscard]] std::vector<std::string> split_specs(std::string_view text);

/// A parameter that an algorithm takes, as `ringside algorithms` lists it.
struct ParameterInfo {
  std::string name;          ///< letters, digits and '_'
  std::string default_text;  ///< in words where it depends on the request
  std::string meaning;       ///< one line, without a final full stop
};

/// The parameters of one spec, read typed. Every reader throws Error(bad_input) that quotes the
/// spec, the parameter and what was expected.
class Parameters {
 public:
  /// That the names are the algorithm's has been checked before (make_algorithm).
  explicit Parameters(Spec spec) : spec_(std::move(spec)) {}

  [[nodiscard]] const Spec& spec() const { return spec_; }

  /// A whole number from `least` to `most`; `absent` where it is not given.
  [[nodiscard]] int integer(std::string_view name, int absent, int least, int most) const;
  /// One of the words `allowed`; `absent` where it is not given.
  [[nodiscard]] std::string choice(std::string_view name, std::span<const std::string_view> allowed,
                                   std::string_view absent) const;
  /// A permutation of 0..ranks-1 written 0-1-3-2; absent: 0, 1, ..., ranks-1.
  [[nodiscard]] std::vector<int> order(std::string_view name, int ranks) const;
  /// A partition of 0..ranks-1 written 0-1/2-3; absent: empty.
  [[nodiscard]] std::vector<std::vector<int>> groups(std::string_view name, int ranks) const;
  /// Another spec, with or without parentheses.
  [[nodiscard]] Spec spec(std::string_view name, std::string_view absent) const;

 private:
  [[nodiscard]] const std::string* find(std::string_view name) const;
  [[noreturn]] void reject(std::string_view name, const std::string& why) const;
  Spec spec_;
};

}  // namespace ringside
