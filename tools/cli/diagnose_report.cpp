// SPDX-License-Identifier: MIT
#include "ringside/tools/cli/diagnose_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "ringside/base/json_write.hpp"
#include "ringside/base/text.hpp"
#include "ringside/tools/cli/diagnose_verdict.hpp"
#include "ringside/tools/cli/report_text.hpp"
#include "ringside/topology/describe.hpp"
#include "ringside/topology/diagnose/rule.hpp"

namespace ringside::cli {
namespace {

constexpr std::size_t most_wanted = 3;
constexpr std::size_t most_notes = 4;  // of what could not be placed, or does not fit
constexpr double clearly_faster = 0.95;

std::string call_text(const DiagnosisReport& report) {
  return fmt::format("all-reduce of {} by NCCL's ring", format_bytes(report.bytes));
}

/// What is measured now counts more than what is predicted of it.
std::string price_text(const DiagnosisReport& report, const MendPrice& price) {
  const auto by = price.mended_by.empty() ? "" : fmt::format(" by Ringside's {}", price.mended_by);
  const auto call = fmt::format("{} on {} GPUs", call_text(report), price.gpus_as_is);
  const auto mended =
      fmt::format("{} when mended{}{}", time_text(price.mended),
                  price.gpus == price.gpus_as_is ? "" : fmt::format(" on {} GPUs", price.gpus), by);
  if (price.as_is_measured)
    return fmt::format("{}: {} now (at the measured rate), {} (predicted)", call,
                       time_text(*price.as_is_measured), mended);
  return fmt::format("{}: {} as it is, {}; predicted", call, time_text(price.as_is), mended);
}

/// Of the kernel, not of a person.
bool is_of_system(const std::string& source) {
  return source.starts_with("/proc/") || source.starts_with("/sys/") || source.starts_with("/dev/");
}

/// Of a file's path the last part, unless two inputs share it.
std::string short_name(const Evidence& evidence, const std::string& source) {
  if (is_of_system(source)) return source;
  const auto last = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
  const auto same = std::ranges::count_if(evidence.sources, [&](const Evidence::Source& each) {
    return last(each.name) == last(source);
  });
  return same > 1 ? source : last(source);
}

/// "topo.txt:3: GPU0 X PHB"; what a live machine states has no number.
std::string line_text(const Evidence& evidence, const ShownLine& line) {
  return line.number == 0
             ? line.text
             : fmt::format("{}:{}: {}", short_name(evidence, line.source), line.number, line.text);
}

// ---- text

std::string source_line(const Evidence::Source& source, const Evidence& evidence) {
  if (is_of_system(source.name)) return fmt::format("  {}\n", source.name);
  std::vector<std::string> readers;
  for (const auto& reading : evidence.readings)
    if (reading.source == source.name &&
        std::ranges::find(readers, reading.reader) == readers.end())
      readers.emplace_back(reading.reader);
  return fmt::format(
      "  {}: {}; {} of {} lines not understood\n", short_name(evidence, source.name),
      readers.empty() ? "nothing that is understood" : fmt::format("{}", fmt::join(readers, ", ")),
      source.unknown, source.lines);
}

std::string evidence_text(const DiagnosisReport& report) {
  const Evidence& evidence = *report.evidence;
  std::string text = "Evidence\n";
  for (const auto& source : evidence.sources) text += source_line(source, evidence);
  if (evidence.live) text += "  this machine\n";
  if (const auto* topology = evidence.topology())
    text += fmt::format("  machine: {}{}\n", topology->name.empty() ? "" : topology->name + ": ",
                        summary(*topology));
  if (evidence.built) {
    const auto& notes = evidence.built->findings;
    for (std::size_t i = 0; i < std::min(notes.size(), most_notes); ++i)
      text += wrapped(notes[i].text, "  note:", 8);
  }
  const auto models = evidence.gpu_models();
  if (!models.empty()) text += fmt::format("  GPUs: {}\n", fmt::join(models, ", "));
  return text;
}

std::string finding_text(const DiagnosisReport& report, std::size_t at, std::size_t number) {
  const Diagnosis& each = report.diagnoses.found[at];
  std::string text = fmt::format("{}. {} ({}, {}; {})\n", number, each.title,
                                 to_string(each.certainty), to_string(each.harm), each.id);
  text += wrapped(each.why, "   why", 12);
  for (std::size_t i = 0; i < each.shown.size(); ++i)
    text += fmt::format("{:12}{}\n", i == 0 ? "   shown by" : "",
                        line_text(*report.evidence, each.shown[i]));
  if (const auto& price = report.prices.each[at])
    text += wrapped(price_text(report, *price), "   cost", 12);
  if (!each.confirm.empty()) text += wrapped(each.confirm, "   check", 12);
  text += wrapped(each.fix, "   fix", 12);
  if (!each.mend.ring_order.empty() && each.certainty != Certainty::possible)
    text += wrapped(
        "with --nccl-graph ring.xml this command writes that ring, and NCCL_GRAPH_FILE=ring.xml "
        "makes NCCL take it (its developers call that a means for tests)",
        "   file", 12);
  if (report.verbose) text += wrapped(each.source, "   source", 12);
  return text;
}

/// Merely possible ones are a line each, unless all is asked for.
std::string findings_text(const DiagnosisReport& report) {
  std::string text;
  std::size_t number = 0;
  for (std::size_t i = 0; i < report.diagnoses.found.size(); ++i)
    if (report.verbose || report.diagnoses.found[i].certainty != Certainty::possible)
      text += "\n" + finding_text(report, i, ++number);
  if (report.prices.together)
    text += "\nAll of that together\n" +
            wrapped(price_text(report, *report.prices.together), "   cost", 12);
  if (report.verbose) return text;
  std::string possible;
  for (const auto& each : report.diagnoses.found)
    if (each.certainty == Certainty::possible) {
      possible += wrapped(fmt::format("{} ({}): {}", each.title, each.id, each.why), " -", 3);
      possible += wrapped(each.confirm, "   check", 12);
    }
  if (!possible.empty())
    text += "\nPossible, not shown by these inputs (-v for all of it)\n" + possible;
  return text;
}

std::string compared_line(const Compared& each) {
  return fmt::format("  {:44} measured {:>7.2f} GB/s, predicted {:>7.2f} GB/s, {:>4.0f} %\n",
                     each.what, each.measured, each.predicted, 100 * each.ratio());
}

/// Of the copies the worst and the best; all of them, if asked.
std::string compared_text(const DiagnosisReport& report) {
  if (report.compared.empty()) return "";
  std::string text =
      "\nMeasured beside what this topology can do (collectives: bytes of the message by time)\n";
  auto sorted = report.compared;
  std::ranges::stable_sort(sorted, {}, &Compared::ratio);
  std::size_t copies = 0;
  for (const auto& each : sorted) {
    constexpr std::size_t most_copies = 3;
    if (!each.collective && ++copies > most_copies && !report.verbose) continue;
    text += compared_line(each);
  }
  if (copies > 3 && !report.verbose)
    text += fmt::format("  ({} copies that come nearer are not shown; -v)\n", copies - 3);
  return text;
}

std::string gradient_text(const GradientCost& cost, const TrainedModel& model) {
  return fmt::format("an all-reduce takes {} ({}), {:.0f} % of a step with {} of computation{}",
                     time_text(cost.seconds), cost.measured ? "at the measured rate" : "predicted",
                     100 * cost.share, time_text(model.step_seconds),
                     cost.accumulation == 1
                         ? ""
                         : fmt::format("; accumulate {} steps to come under {:.0f} %",
                                       cost.accumulation, 100 * tolerable_share));
}

/// "350 million", "1.3 billion"
std::string count_text(double count) {
  constexpr double million = 1e6, billion = 1e9;
  return count < billion ? fmt::format("{:.3g} million", count / million)
                         : fmt::format("{:.4g} billion", count / billion);
}

std::string advice_text(const DiagnosisReport& report) {
  if (!report.advice) return "";
  const TrainingAdvice& advice = *report.advice;
  std::string text = "\nFor training on it as it is\n";
  text += wrapped(
      fmt::format("Ringside's best plan for {} is {}: {} (predicted)", format_bytes(report.bytes),
                  advice.choice.spec, time_text(advice.choice.seconds)),
      " -", 3);
  if (advice.nccl)
    text += wrapped(
        fmt::format("NCCL would pick {}; {}", advice.nccl->pick, advice.nccl->difference), " -", 3);
  for (const auto& cost : advice.gradients) {
    text += wrapped(
        fmt::format("{} parameters as {} gradients: {}", count_text(report.model->parameters),
                    cost.type, gradient_text(cost, *report.model)),
        " -", 3);
    for (const auto& mended : report.mended_gradients)
      if (mended.type == cost.type && mended.seconds < clearly_faster * cost.seconds)
        text +=
            wrapped(fmt::format("when mended: {}", gradient_text(mended, *report.model)), "", 3);
  }
  return text;
}

/// Of the first few rules the titles, with their ids.
std::string titles_text(const std::vector<std::string>& ids) {
  constexpr std::size_t most = 3;
  std::vector<std::string> titles;
  for (const auto& rule : rules())
    if (titles.size() < most && std::ranges::find(ids, rule.id) != ids.end())
      titles.push_back(fmt::format("{} ({})", rule.title, rule.id));
  const auto more =
      ids.size() > titles.size() ? fmt::format("; and {} more", ids.size() - titles.size()) : "";
  return fmt::format("{}{}", fmt::join(titles, "; "), more);
}

/// What one command tells; the same one may serve for several inputs.
struct WantedCommand {
  std::string command;
  std::vector<std::string_view> inputs;
  std::vector<std::string> decides, opens;  ///< ids
};

void add_ids(std::vector<std::string>& to, const std::vector<std::string>& ids) {
  for (const auto& id : ids)
    if (std::ranges::find(to, id) == to.end()) to.push_back(id);
}

std::vector<WantedCommand> wanted_commands(const DiagnosisReport& report) {
  const auto gpus = report.evidence->gpus();
  std::vector<WantedCommand> commands;
  for (const auto& each : report.diagnoses.wanted) {
    auto found =
        std::ranges::find(commands, command_for(each.input, gpus), &WantedCommand::command);
    if (found == commands.end()) {
      commands.push_back({command_for(each.input, gpus), {}, {}, {}});
      found = std::prev(commands.end());
    }
    found->inputs.push_back(name_of(each.input));
    add_ids(found->decides, each.decides);
    add_ids(found->opens, each.opens);
  }
  return commands;
}

std::string wanted_text(const DiagnosisReport& report) {
  std::string text;
  std::size_t shown = 0;
  for (const auto& each : wanted_commands(report)) {
    if (!report.verbose && ++shown > most_wanted) break;
    text += wrapped(fmt::format("{} ({})", each.command, fmt::join(each.inputs, "; ")), " -", 3);
    if (!each.decides.empty())
      text += wrapped(fmt::format("would decide: {}", titles_text(each.decides)), "", 3);
    if (each.decides.empty() || report.verbose)
      text += wrapped(fmt::format("would tell of: {}", titles_text(each.opens)), "", 3);
  }
  return text.empty() ? "" : "\nWhat would help most\n" + text;
}

/// Where to go on, for a machine whose links are known.
std::string onward_text(const DiagnosisReport& report) {
#ifdef RINGSIDE_WITH_BENCH
  const Evidence& evidence = *report.evidence;
  const Topology* topology = evidence.topology();
  if (topology == nullptr || topology->gpus().size() < 2 || topology->links().empty() ||
      evidence.nvlink_untold())
    return "";
  const auto machine = evidence.live              ? std::string("--live")
                       : evidence.sources.empty() ? "--topo " + topology->name  // a preset
                                                  : std::string("--topo FILE");
  return fmt::format("\nWhat would be fastest here (simulated): ringside choose {} --size {}\n",
                     machine, format_size(report.bytes));
#else
  (void)report;
  return "";  // this program cannot choose
#endif
}

// ---- JSON

Json line_json(const ShownLine& line) {
  Json json = {{"text", line.text}};
  if (!line.source.empty()) json["file"] = line.source;
  if (line.number > 0) json["line"] = line.number;
  return json;
}

Json price_json(const MendPrice& price) {
  Json json = {{"as_is_seconds_predicted", price.as_is},
               {"mended_seconds_predicted", price.mended},
               {"gpus_as_is", price.gpus_as_is},
               {"gpus", price.gpus}};
  if (price.as_is_measured) json["as_is_seconds_measured"] = *price.as_is_measured;
  if (!price.mended_by.empty()) json["mended_by"] = price.mended_by;
  return json;
}

Json finding_json(const DiagnosisReport& report, std::size_t at) {
  const Diagnosis& each = report.diagnoses.found[at];
  Json json = {{"id", each.id},
               {"title", each.title},
               {"certainty", to_string(each.certainty)},
               {"harm", to_string(each.harm)},
               {"why", each.why}};
  json["lines"] = Json::array();
  for (const auto& line : each.shown) json["lines"].push_back(line_json(line));
  if (!each.confirm.empty()) json["confirm"] = each.confirm;
  json["fix"] = each.fix;
  json["source"] = each.source;
  if (!each.mend.as_is.empty()) json["as_is"] = each.mend.as_is;
  if (!each.mend.mended.empty()) json["mended"] = each.mend.mended;
  if (!each.mend.ring_order.empty()) json["ring_order"] = each.mend.ring_order;
  if (const auto& price = report.prices.each[at]) json["cost"] = price_json(*price);
  return json;
}

Json gradients_json(const std::vector<GradientCost>& costs) {
  Json list = Json::array();
  for (const auto& cost : costs)
    list.push_back({{"type", cost.type},
                    {"bytes", cost.bytes},
                    {cost.measured ? "all_reduce_seconds_measured" : "all_reduce_seconds_predicted",
                     cost.seconds},
                    {"share_of_step", cost.share},
                    {"accumulation_steps", cost.accumulation}});
  return list;
}

Json advice_json(const DiagnosisReport& report) {
  const TrainingAdvice& advice = *report.advice;
  Json json = {{"algorithm", advice.choice.spec}, {"seconds_predicted", advice.choice.seconds}};
  if (advice.nccl)
    json["nccl"] = {{"pick", advice.nccl->pick}, {"difference", advice.nccl->difference}};
  json["gradients"] = gradients_json(advice.gradients);
  if (!report.mended_gradients.empty())
    json["gradients_when_mended"] = gradients_json(report.mended_gradients);
  return json;
}

Json inputs_json(const Evidence& evidence) {
  Json inputs = Json::array();
  for (const auto& source : evidence.sources) {
    Json json = {{"file", source.name},
                 {"lines", source.lines},
                 {"lines_not_understood", source.unknown},
                 {"readings", Json::array()}};
    for (const auto& reading : evidence.readings)
      if (reading.source == source.name)
        json["readings"].push_back({{"reader", reading.reader},
                                    {"first_line", reading.first_line},
                                    {"last_line", reading.last_line}});
    inputs.push_back(std::move(json));
  }
  return inputs;
}

Json rule_json(const Rule& rule) {
  Json json = {{"id", rule.id}, {"title", rule.title}, {"source", rule.source}};
  json["inputs"] = Json::array();
  for (const Input input : rule.inputs) json["inputs"].push_back(name_of(input));
  if (rule.find == nullptr) json["undecidable"] = rule.undecidable;
  return json;
}

}  // namespace

std::string diagnosis_text(const DiagnosisReport& report) {
  return verdict_text(report) + findings_text(report) + compared_text(report) +
         advice_text(report) + wanted_text(report) + "\n" + evidence_text(report) +
         onward_text(report);
}

std::string diagnosis_json(const DiagnosisReport& report) {
  Json json = {{"verdict", word_of(report.verdict())}};
  json["findings"] = Json::array();
  for (std::size_t i = 0; i < report.diagnoses.found.size(); ++i)
    json["findings"].push_back(finding_json(report, i));
  json["priced"] = call_text(report);
  if (report.prices.together) json["all_mended"] = price_json(*report.prices.together);
  json["compared"] = Json::array();
  for (const auto& each : report.compared)
    json["compared"].push_back({{"what", each.what},
                                {"gb_per_s_measured", each.measured},
                                {"gb_per_s_predicted", each.predicted}});
  if (report.advice) json["training"] = advice_json(report);
  json["wanted"] = Json::array();
  for (const auto& each : report.diagnoses.wanted)
    json["wanted"].push_back({{"input", name_of(each.input)},
                              {"command", command_for(each.input, report.evidence->gpus())},
                              {"decides", each.decides},
                              {"opens", each.opens}});
  json["inputs"] = inputs_json(*report.evidence);
  return dump_json(json);
}

std::string rules_text() {
  std::string text;
  for (const auto& rule : rules()) {
    std::vector<std::string_view> inputs;
    for (const Input input : rule.inputs) inputs.push_back(name_of(input));
    text += fmt::format("{}  {}\n", rule.id, rule.title);
    text += rule.find != nullptr
                ? wrapped(fmt::format("{}", fmt::join(inputs, "; ")), "     from", 11)
                : wrapped(rule.undecidable, "     cannot be told from text:", 11);
  }
  return text;
}

std::string rules_json() {
  Json list = Json::array();
  for (const auto& rule : rules()) list.push_back(rule_json(rule));
  return dump_json({{"rules", std::move(list)}});
}

}  // namespace ringside::cli
