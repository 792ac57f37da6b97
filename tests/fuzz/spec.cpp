// SPDX-License-Identifier: MIT
/// Any text as a spec: refused, or it names a plan that is right in both placements.
///
/// Input: a character for the number of ranks ('1' is 1, ':' is 10, ...), then the spec.
#include <string>
#include <vector>

#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/plan.hpp"
#include "ringside/collectives/prover.hpp"
#include "ringside/collectives/spec.hpp"
#include "ringside/tests/fuzz/require.hpp"

namespace ringside::fuzz {
namespace {

constexpr int most_ranks = 17;

void try_plan(const Spec& spec, int ranks, bool in_place) try {
  const Request request{.ranks = ranks, .in_place = in_place};
  const Plan plan = make_plan(spec, request);
  check_structure(plan);
  const Proof proof = prove(plan);
  require(proof.holds(), proof.holds() ? "" : proof.refuted->message);
  require(proof.facts.same_on_all_ranks, "all ranks end with the same expressions");
  const Plan again = make_plan(plan.spec(), request);
  require(again.spec() == plan.spec(), "a canonical spec stays as it is");
  require(again.hash() == plan.hash(), "a canonical spec names the same plan");
} catch (const Error& error) {
  require_refusal(error);
}

void try_split(std::string_view text) try {
  std::string joined;
  for (const auto& part : split_specs(text)) joined += (joined.empty() ? "" : ",") + part;
  require(joined.size() <= text.size(), "splitting invents nothing");
} catch (const Error& error) {
  require_refusal(error);
}

}  // namespace

void run(std::string_view input) {
  if (input.empty()) return;
  const int ranks = 1 + static_cast<unsigned char>(input.front() - '1') % most_ranks;
  const std::string_view text = input.substr(1);
  try_split(text);
  const Spec spec = parse_spec(text);
  require(parse_spec(to_string(spec)) == spec, "a spec is what its text says");
  if (is_plan_file(spec.name)) return;  // the target plan_file reads those; here none is opened
  for (const bool in_place : {false, true}) try_plan(spec, ranks, in_place);
}

}  // namespace ringside::fuzz
