// SPDX-License-Identifier: MIT
#include "ringside/bench/algorithm_list.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ringside/base/error.hpp"
#include "ringside/bench/algorithm_subject.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/spec.hpp"

namespace ringside::bench {
namespace {

/// Nothing if the algorithm serves the collective in a placement that is measured, or the reason.
std::optional<Error> refusal_in_all(const BenchRequest& request, const std::string& spec,
                                    Request what) {
  if (spec == "auto") return std::nullopt;
  std::optional<Error> first;
  for (const auto placement : placements) {
    what.in_place = placement == Placement::in_place;
    if (!request.measured[static_cast<std::size_t>(placement)]) continue;
    if (what.in_place && !can_be_in_place(what.collective)) continue;
    auto why = refusal_of(spec, what);
    if (!why) return std::nullopt;
    if (!first) first = std::move(why);
  }
  return first;
}

}  // namespace

Request request_for(const BenchRequest& request, Operation operation, int ranks) {
  return {.collective = operation.is_sendrecv() ? Collective::all_reduce : Collective(operation),
          .ranks = ranks,
          .root = has_root(operation) ? request.root : 0,
          .in_place = false};
}

void check_algorithms(const BenchRequest& request) {
  // Barriers and messages ask for no algorithm, but a name that nobody knows is a mistake anywhere.
  for (const auto& spec : request.algorithms)
    if (spec != "auto" && !is_plan_file(spec)) (void)find_algorithm(parse_spec(spec).name);
  if (std::ranges::none_of(request.collectives, has_algorithms))
    for (const auto& spec : request.algorithms)
      if (spec != "auto")
        throw Error(ErrorCode::bad_input,
                    fmt::format("--algorithm {}: {} has no algorithms to choose from", spec,
                                to_string(request.collectives.front())));
  for (const int ranks : request.ranks)
    for (const auto& spec : request.algorithms) {
      std::optional<Error> first;
      bool served = false;
      for (const auto collective : request.collectives) {
        if (!has_algorithms(collective)) continue;
        auto why = refusal_in_all(request, spec, request_for(request, collective, ranks));
        served = served || !why;
        if (why && !first) first = std::move(why);
      }
      if (first && !served) throw *first;
    }
}

std::vector<std::unique_ptr<Subject>> make_algorithms(const BenchRequest& request, Stage& stage,
                                                      std::vector<Skipped>& skipped) {
  const Request what = stage.request(Placement::out_of_place);
  std::vector<std::unique_ptr<Subject>> subjects;
  if (is_barrier(what.collective)) {
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

}  // namespace ringside::bench
