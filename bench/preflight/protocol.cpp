// SPDX-License-Identifier: MIT
#include "ringside/bench/preflight/protocol.hpp"

#include "ringside/base/text.hpp"

namespace ringside::bench::preflight {
namespace {

constexpr int most_devices = 1024;

/// The value that has this name.
template <class List>
auto named(const JsonValue& json, const List& all) {
  for (const auto value : all)
    if (json.text() == to_string(value)) return value;
  json.fail("an unknown word");
}

int device_of(const JsonValue& json) { return static_cast<int>(json.integer(host, most_devices)); }

std::uint64_t count_of(const JsonValue& json) {
  return static_cast<std::uint64_t>(json.integer(0));
}

Json to_json(const Step& step) {
  Json flows = Json::array();
  for (const auto& flow : step.flows) flows.push_back({flow.source, flow.destination});
  return {{"quantity", to_string(step.quantity)},
          {"traffic", to_string(step.traffic)},
          {"method", to_string(step.method)},
          {"peer_access", step.peer_access},
          {"flows", std::move(flows)},
          {"bytes", step.bytes},
          {"time_s", step.time.count()}};
}

Step step_from_json(const JsonValue& json) {
  Step step;
  step.quantity = named(json["quantity"], all_quantities);
  step.traffic = named(json["traffic"], all_traffics);
  step.method = named(json["method"], all_methods);
  step.peer_access = json["peer_access"].boolean();
  for (const auto& flow : json["flows"].items()) {
    const auto ends = flow.items();
    if (ends.size() != 2) flow.fail("expected two ends");
    step.flows.push_back({device_of(ends[0]), device_of(ends[1])});
  }
  step.bytes = count_of(json["bytes"]);
  step.time = Seconds(json["time_s"].number());
  return step;
}

Json to_json(const Verdict& verdict) {
  return {{"arrival", to_string(verdict.arrival)},
          {"bytes", verdict.bytes},
          {"wrong_words", verdict.wrong_words},
          {"wrong_guard_words", verdict.wrong_guard_words},
          {"first_wrong_byte", verdict.first_wrong_byte},
          {"offset_bytes", verdict.offset_bytes},
          {"foreign_tag", verdict.foreign_tag},
          {"flipped_bits", verdict.flipped_bits}};
}

Verdict verdict_from_json(const JsonValue& json) {
  Verdict verdict;
  verdict.arrival = named(json["arrival"], all_arrivals);
  verdict.bytes = count_of(json["bytes"]);
  verdict.wrong_words = count_of(json["wrong_words"]);
  verdict.wrong_guard_words = count_of(json["wrong_guard_words"]);
  verdict.first_wrong_byte = json["first_wrong_byte"].integer();
  verdict.offset_bytes = json["offset_bytes"].integer();
  verdict.foreign_tag = static_cast<std::uint32_t>(json["foreign_tag"].integer(0, most_tags));
  verdict.flipped_bits = static_cast<int>(json["flipped_bits"].integer(0, 64));
  return verdict;
}

Json to_json(const Outcome& outcome) {
  Json verdicts = Json::array(), times = Json::array();
  for (const auto& verdict : outcome.verdicts) verdicts.push_back(to_json(verdict));
  for (const auto time : outcome.times) times.push_back(time.count());
  return {{"ending", to_string(outcome.ending)},
          {"text", outcome.text},
          {"verdicts", std::move(verdicts)},
          {"times_s", std::move(times)},
          {"together_s", outcome.together.count()},
          {"bytes", outcome.bytes},
          {"link_speed", outcome.link.speed ? Json(*outcome.link.speed) : Json(nullptr)},
          {"link_width", outcome.link.width ? Json(*outcome.link.width) : Json(nullptr)},
          {"samples", outcome.samples}};
}

Outcome outcome_from_json(const JsonValue& json) {
  Outcome outcome;
  outcome.ending = named(json["ending"], all_endings);
  outcome.text = json["text"].text();
  for (const auto& verdict : json["verdicts"].items())
    outcome.verdicts.push_back(verdict_from_json(verdict));
  for (const auto& time : json["times_s"].items()) outcome.times.emplace_back(time.number());
  outcome.together = Seconds(json["together_s"].number());
  outcome.bytes = count_of(json["bytes"]);
  if (const auto speed = json["link_speed"]; !speed.is_null()) outcome.link.speed = speed.text();
  if (const auto width = json["link_width"]; !width.is_null())
    outcome.link.width = static_cast<int>(width.integer(1, 1024));
  outcome.samples = static_cast<int>(json["samples"].integer(0, 1'000'000));
  return outcome;
}

std::string line_of(const Json& json) {
  std::string line = dump_json(json, -1);
  return std::string(trim(line));
}

}  // namespace

std::string write(const Command& command) {
  switch (command.kind) {
    case Command::Kind::facts:
      return line_of({{"facts", true}});
    case Command::Kind::open:
      return line_of({{"open", command.device}});
    case Command::Kind::step:
      return line_of({{"step", to_json(command.step)}});
  }
  return {};
}

Command read_command(const std::string& line) {
  const JsonDocument document(line, "a command of the preflight");
  const auto json = document.root();
  if (const auto step = json.find("step"))
    return {.kind = Command::Kind::step, .step = step_from_json(*step)};
  if (const auto device = json.find("open"))
    return {.kind = Command::Kind::open, .device = device_of(*device), .step = {}};
  (void)json["facts"];
  return {};
}

std::string write(const Reply& reply) {
  if (reply.refusal) return line_of({{"refusal", *reply.refusal}});
  if (reply.facts) return line_of({{"facts", to_json(*reply.facts)}});
  return line_of({{"outcome", to_json(reply.outcome)}});
}

Reply read_reply(const std::string& line) {
  const JsonDocument document(line, "an answer to the preflight");
  const auto json = document.root();
  Reply reply;
  if (const auto refusal = json.find("refusal"))
    reply.refusal = refusal->text();
  else if (const auto facts = json.find("facts"))
    reply.facts = facts_from_json(*facts);
  else
    reply.outcome = outcome_from_json(json["outcome"]);
  return reply;
}

}  // namespace ringside::bench::preflight
