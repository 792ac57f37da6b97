// SPDX-License-Identifier: MIT
/// Explanations for programs.
#include "ringside/base/json_write.hpp"
#include "ringside/collectives/selector/explain.hpp"

namespace ringside {
namespace {

Json direction_json(const LinkDirection& direction) {
  Json pairs = Json::array();
  const auto rank = [](int number) {
    return number == Crossing::host_memory ? Json(nullptr) : Json(number);
  };
  for (const auto& each : direction.crossings) pairs.push_back({rank(each.from), rank(each.to)});
  return {{"bytes", direction.bytes}, {"seconds_alone", direction.seconds}, {"rank_pairs", pairs}};
}

Json plan_json(const Explanation& plan) {
  Json links = Json::array();
  for (const auto& link : plan.links)
    links.push_back({{"near", link.near},
                     {"far", link.far},
                     {"out", direction_json(link.out)},
                     {"in", direction_json(link.in)}});
  Json parts = Json::object();
  for (const auto& part : plan.parts) parts[part.what] = part.seconds;
  Json full = Json::array();
  for (const auto& each : plan.full)
    full.push_back({{"name", each.name}, {"seconds", each.seconds}});
  return {{"spec", plan.spec},
          {"simulated_seconds", plan.seconds},
          {"simulated_range",
           plan.range ? Json({plan.range->first, plan.range->second}) : Json(nullptr)},
          {"ops", plan.ops},
          {"slices", plan.slices},
          {"steps", plan.steps ? Json(*plan.steps) : Json(nullptr)},
          {"remark", plan.remark},
          {"links", links},
          {"simulated_seconds_by_part", parts},
          {"full", full}};
}

Json bound_json(const Bound& bound, double message) {
  return {{"seconds", bound.seconds_per_byte * message},
          {"reason", bound.reason},
          {"void_where_a_switch_reduces", bound.ranks_reduce}};
}

}  // namespace

std::string explanation_json(const CallExplanation& facts) {
  const Request& request = facts.call.request;
  const double message = message_bytes(request, static_cast<double>(facts.call.bytes));
  Json json = {{"machine", facts.machine},     {"collective", to_string(request.collective)},
               {"ranks", request.ranks},       {"root", request.root},
               {"in_place", request.in_place}, {"bytes", facts.call.bytes},
               {"gpus", facts.gpu_names}};
  json["assumed"] = facts.assumed;
  json["chosen_because"] = facts.chosen_because;
  json["plans"] = Json::array();
  for (const auto& plan : facts.plans) json["plans"].push_back(plan_json(plan));
  json["bounds"] = Json::array();
  for (const auto& bound : facts.bounds.bounds)
    json["bounds"].push_back(bound_json(bound, message));
  if (facts.bounds.optimum)
    json["tree_optimum"] = {{"seconds", facts.bounds.optimum_seconds},
                            {"trees_per_root", facts.bounds.optimum->trees}};
  json["others"] = Json::array();
  for (const auto& other : facts.alternatives)
    json["others"].push_back(
        {{"spec", other.spec},
         {"simulated_seconds", other.seconds ? Json(*other.seconds) : Json(nullptr)},
         {"why", other.why}});
  json["nccl"] = facts.nccl;
  return dump_json(json);
}

}  // namespace ringside
