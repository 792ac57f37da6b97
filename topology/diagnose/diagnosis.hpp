// SPDX-License-Identifier: MIT
/// What is wrong with a machine: a cause, how sure it is, what shows it, and what to do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ringside/topology/diagnose/input.hpp"

namespace ringside {

enum class Certainty {
  certain,   ///< an input states it, or a measurement leaves no other cause
  likely,    ///< a measurement or several signs together need this cause
  possible,  ///< a pattern that also has harmless causes
};

/// What it does to those who use the machine, worst first.
enum class Harm {
  wrong_data,  ///< results are wrong, and nothing says so
  hang,        ///< calls fail or never return
  slow,
  risk,  ///< nothing yet
};

/// "certain", "likely", "possible"; "wrong data", "hang", "slow", "risk".
[[nodiscard]] std::string_view to_string(Certainty certainty);
[[nodiscard]] std::string_view to_string(Harm harm);

/// A line of an input as the reader saw it (escapes and marks of quoting taken off).
struct ShownLine {
  std::string source;
  int number = 0;  ///< from 1; 0 where the fact was not read from a text (a live machine, a preset)
  std::string text;

  bool operator==(const ShownLine&) const = default;
};

/// What the twin is to price: words of what_if.hpp.
struct Mend {
  /// What makes the machine that was built from the inputs the one that runs: {"acs=on"}. Empty
  /// where the topology has it already (a narrow link).
  std::vector<std::string> as_is = {};
  /// What mends it: {"slot:GPU3=x16"}. Empty where leaving out `as_is` is the cure.
  std::vector<std::string> mended = {};
  /// The orders of GPUs in which rings go and in which they ought to; empty: that of their numbers.
  std::vector<int> ring_as_is = {}, ring_order = {};
  /// The GPUs that the call is on, by their numbers; empty: all.
  std::vector<int> gpus = {};
  /// The cure is another algorithm: the best that the twin finds.
  bool other_algorithm = false;

  bool operator==(const Mend&) const = default;
  [[nodiscard]] bool empty() const {
    return as_is.empty() && mended.empty() && ring_order.empty() && !other_algorithm;
  }
};

/// A cause that a rule found. The rule that found it adds id, title and source (rules.hpp).
struct Diagnosis {
  std::string id;     ///< "D01", of the catalogue in docs/diagnose.md
  std::string title;  ///< "ACS sends traffic between GPUs up to the processor"
  Certainty certainty = Certainty::possible;
  Harm harm = Harm::slow;
  /// One or two sentences, of this machine: which devices, which figures. Every number that is not
  /// a count says "measured" or "predicted".
  std::string why;
  std::vector<ShownLine> shown = {};  ///< the lines that show it, the best first
  /// What to run, and what it shows when this is the cause. Never empty unless it is certain.
  std::string confirm = {};
  std::string fix = {};
  std::string source = {};  ///< where the cause was found: "NVIDIA/nccl#949, NVIDIA/nccl#2079"
  Mend mend = {};
  /// How many times as long the worst path takes because of it, as measured or as the catalogue
  /// knows it; 1: not known. Ranks what the twin cannot price.
  double slowdown = 1;
  /// Inputs that would make it certain or rule it out.
  std::vector<Input> decided_by = {};
  /// Ids of diagnoses that this one explains: they are dropped.
  std::vector<std::string> explains = {};
};

}  // namespace ringside
