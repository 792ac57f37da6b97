// SPDX-License-Identifier: MIT
/// Proves that a plan computes its collective, by running it on symbols (symbols.hpp).
///
/// Every memory cell holds an expression: a rank's contribution, or a fold of expressions. At the
/// end each output element must hold exactly what the collective demands, every contribution once.
#pragma once

#include <optional>
#include <string>

#include "ringside/collectives/plan.hpp"

namespace ringside {

/// The largest number of ranks that is proven (the symbols grow with its square).
inline constexpr int max_proven_ranks = 256;

/// What is known of a right plan; printed in the documentation, relied on by nobody's code. All
/// four hold of collectives that only copy.
struct ProofFacts {
  /// Every element is added in the order of ranks, ((0 + 1) + 2) + ..., however often it is rounded
  /// on the way.
  bool rank_order = false;
  /// Every element is rounded once: a single op folds all contributions (matters for 16-bit
  /// floats).
  bool one_rounding = false;
  /// Every chunk has the same expression up to commutativity, so bits do not depend on message
  /// size.
  bool uniform = false;
  /// All ranks end with the same expressions, up to swapping the operands of one addition: the same
  /// bits everywhere.
  bool same_on_all_ranks = false;

  /// Whether the plan gives every rank the bits of the definition: the sum in the order of ranks,
  /// rounded once. Plans that do are interchangeable, and so is a fold of all inputs at once.
  [[nodiscard]] bool is_definition() const {
    return rank_order && one_rounding && same_on_all_ranks;
  }

  bool operator==(const ProofFacts&) const = default;
};

/// Why a plan is wrong.
using Refutation = Fault;

/// What the prover says of a plan.
struct Proof {
  std::optional<Refutation> refuted;  ///< nothing: the plan is right
  ProofFacts facts;                   ///< meaningful when it is right
  /// Where a right plan leaves two ranks with different expressions; nothing if it does not.
  std::optional<Refutation> difference = std::nullopt;

  /// Whether the plan computes its collective.
  [[nodiscard]] bool holds() const { return !refuted.has_value(); }
};

/// Proves or refutes; also refutes what check_structure rejects. Throws Error(unsupported) above
/// max_proven_ranks ranks, or where SymbolicRun does.
[[nodiscard]] Proof prove(const Plan& plan);

/// Throws Error(bad_input) with the refutation. `own` demands also that all ranks end with the same
/// expressions, as our own algorithms must.
Proof require_proof(const Plan& plan, bool own);

/// The first output that two right plans of one request, cut in the same chunks, compute by
/// different expressions, told of `plan`; nothing when both give the same bits. What lowering and
/// conversion must keep. Throws Error(bad_input) unless both are right, and Error(invalid_argument)
/// unless they are of one request and cut.
[[nodiscard]] std::optional<Refutation> difference_in_bits(const Plan& plan, const Plan& reference);

}  // namespace ringside
