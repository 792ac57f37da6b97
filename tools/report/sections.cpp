// SPDX-License-Identifier: MIT
#include "ringside/tools/report/sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "ringside/tools/report/charts.hpp"
#include "ringside/tools/report/html.hpp"
#include "ringside/tools/report/machine_picture.hpp"
#include "ringside/tools/report/panels.hpp"
#include "ringside/topology/describe.hpp"

namespace ringside::report {
namespace {

std::string badge(std::string_view figures) {
  std::string name(figures);
  std::ranges::replace(name, ' ', '-');
  return fmt::format("<span class=\"badge {}\">{}</span>", name, figures);
}

std::string paragraph(const char* name, const std::string& text) {
  return text.empty() ? "" : fmt::format("<p><b>{}</b> {}</p>\n", name, escaped(text));
}

std::string notes_list(const std::vector<std::string>& notes) {
  std::string html;
  for (const auto& note : notes) html += fmt::format("<p class=\"note\">{}</p>\n", escaped(note));
  return html;
}

class SectionMaker {
 public:
  SectionMaker(const Runs& runs, PageData& data) : runs_(runs), data_(data) {}

  std::vector<Section> make() {
    std::vector<Section> sections;
    const auto add = [&](const char* id, const char* title, std::string html) {
      if (!html.empty()) sections.push_back({id, title, std::move(html)});
    };
    add("findings", "Findings", findings());
    add("speed", "How fast", speed());
    add("training", "Training", training());
    add("machine", "The machine", machines());
    add("timeline", "Time lines", timelines());
    add("paths", "Paths between GPUs", paths());
    add("changes", "Old run, new run", changes());
    add("files", "Files", files());
    return sections;
  }

 private:
  /// A place that the page's script fills.
  std::string chart(Json json) {
    std::string badges;
    for (const auto& figures : json["figures"])
      badges += " " + badge(figures.get_ref<const std::string&>());
    std::string html = fmt::format(
        "<figure class=\"chart {}\" "
        "data-chart=\"{}\"><figcaption>{}{}<small>{}</small></figcaption>"
        "</figure>\n",
        json["kind"].get_ref<const std::string&>(), data_.charts.size(),
        escaped(json["title"].get_ref<const std::string&>()), badges,
        escaped(json["better"].get_ref<const std::string&>()));
    data_.charts.push_back(std::move(json));
    return html;
  }

  std::string from(std::size_t source) const {
    return fmt::format("<p class=\"from\">from {}</p>\n", escaped(runs_.sources[source].file));
  }

  static std::string finding_html(const Finding& finding) {
    std::string html = fmt::format(
        "<article class=\"finding {}\">\n<h4>{}</h4>\n<p class=\"tags\">{}{}{} "
        "<code>{}</code></p>\n",
        escaped(finding.certainty), escaped(finding.title), escaped(finding.certainty),
        finding.harm.empty() ? "" : ", ", escaped(finding.harm), escaped(finding.id));
    html += paragraph("Why", finding.why);
    if (!finding.lines.empty()) {
      html += "<pre tabindex=\"0\">";
      for (const auto& line : finding.lines) html += escaped(line) + "\n";
      html += "</pre>\n";
    }
    html += paragraph("Cost", finding.cost) + paragraph("Check", finding.confirm) +
            paragraph("Fix", finding.fix);
    return html + "</article>\n";
  }

  std::string findings() {
    std::string html;
    for (const auto& diagnosis : runs_.diagnoses) {
      html += fmt::format("<h3>Diagnosis: {} {}</h3>\n", escaped(spaced(diagnosis.verdict)),
                          badge("predicted")) +
              from(diagnosis.source);
      if (diagnosis.findings.empty()) html += "<p>Nothing was found.</p>\n";
      for (const auto& finding : diagnosis.findings) html += finding_html(finding);
      html += paragraph("All of that together:", diagnosis.all_mended);
      if (!diagnosis.compared.empty()) html += chart(compared_chart(diagnosis));
    }
    for (const auto& preflight : runs_.preflights) {
      const Source& source = runs_.sources[preflight.source];
      html += fmt::format("<h3>Preflight: {} {}</h3>\n",
                          preflight.findings.empty()
                              ? "every copy arrived"
                              : fmt::format("{} finding{}", preflight.findings.size(),
                                            preflight.findings.size() == 1 ? "" : "s"),
                          badge(to_string(source.figures))) +
              from(preflight.source);
      for (const auto& finding : preflight.findings) html += finding_html(finding);
    }
    return html;
  }

  std::string variant_html(const Panel& panel, const Variant& variant) {
    std::string html =
        chart(bandwidth_chart(panel, variant, looks_)) + chart(time_chart(panel, variant, looks_));
    if (!variant.ratios.empty()) html += chart(ratio_chart(panel, variant, looks_));
    return html;
  }

  std::string speed() {
    std::string html;
    std::size_t number = 0;
    for (const auto& panel : panels_of(runs_)) {
      html += fmt::format("<div class=\"panel\">\n<h3>{}</h3>\n", escaped(panel.title));
      const bool several = panel.variants.size() > 1;
      if (several) {
        html += fmt::format("<label>Shown: <select class=\"variants\" data-panel=\"{}\">", number);
        for (const auto& variant : panel.variants)
          html += fmt::format("<option>{}</option>", escaped(variant.name));
        html += "</select></label>\n";
      } else {
        html += fmt::format("<p class=\"from\">{}</p>\n", escaped(panel.variants.front().name));
      }
      html += notes_list(panel.notes);
      for (std::size_t i = 0; i < panel.variants.size(); ++i)
        html += fmt::format(
            "<div class=\"variant\" data-panel=\"{}\" data-variant=\"{}\"{}>\n{}</div>\n", number,
            i, i > 0 ? " hidden" : "", variant_html(panel, panel.variants[i]));
      html += "</div>\n";
      ++number;
    }
    return html;
  }

  std::string training() {
    std::string html;
    for (const auto& comparison : runs_.comparisons) {
      html += from(comparison.source);
      const Figures figures = runs_.sources[comparison.source].figures;
      html += chart(speedup_chart(comparison, figures));
      html += chart(step_chart(comparison, figures));
    }
    for (const auto& run : runs_.trainings) {
      html += fmt::format("<h3>{}</h3>\n", escaped(run.title)) + from(run.source);
      if (run.epochs.empty()) {
        html += "<p>Nothing was left to do.</p>\n";
        continue;
      }
      html += chart(accuracy_chart(run));
      html += chart(epoch_chart(run));
    }
    return html;
  }

  std::string load_legend() const {
    std::string html = "<p class=\"load-legend\">Part of a link's capacity over the whole call:";
    constexpr std::array words = {"none", "to 20 %", "to 40 %", "to 60 %", "to 80 %", "above"};
    static_assert(words.size() == load_steps);
    for (std::size_t step = 0; step < words.size(); ++step)
      html += fmt::format(" <span><i class=\"swatch load-{}\"></i>{}</span>", step, words[step]);
    return html + "</p>\n";
  }

  std::string machines() {
    std::string html;
    for (const auto& view : runs_.machines) {
      const auto number = data_.machines.size();
      const auto svg = machine_svg(view, number);
      html += fmt::format("<h3>{}</h3>\n<p class=\"from\">{}{}; from {}</p>\n", escaped(view.name),
                          escaped(summary(view.topology)),
                          view.call.empty() ? "" : "; " + escaped(view.call),
                          escaped(runs_.sources[view.source].file));
      if (!svg) {
        html += "<p class=\"note\">Too many devices for a picture.</p>\n";
        continue;
      }
      html += fmt::format(
          "<figure class=\"machine-figure\" data-machine=\"{}\"><figcaption>{}"
          "</figcaption>\n",
          number,
          view.loads.empty() ? "Its links" : "What its links carried " + badge("simulated"));
      html += fmt::format(
          "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"picture of "
          "the machine\">{}</div>\n{}</figure>\n",
          *svg, view.loads.empty() ? "" : load_legend());
      data_.machines.push_back({{"name", view.name}, {"cases", load_cases(view)}});
    }
    return html;
  }

  std::string timelines() {
    std::string html;
    for (const auto& timeline : runs_.timelines) {
      html += from(timeline.source);
      if (timeline.left_out > 0)
        html += fmt::format("<p class=\"note\">The first {} spans; {} more are not drawn.</p>\n",
                            timeline.spans.size(), timeline.left_out);
      html += chart(timeline_chart(timeline));
    }
    return html;
  }

  /// A table per kind of traffic: from below, to across.
  static std::string path_table(const std::string& title,
                                const std::vector<const PathFigure*>& all) {
    std::vector<std::string> ends;
    double most = 0;
    bool latency = false;
    std::map<std::pair<std::string, std::string>, double> values;
    for (const auto* path : all) {
      for (const auto* end : {&path->from, &path->to})
        if (std::ranges::find(ends, *end) == ends.end()) ends.push_back(*end);
      latency |= path->latency_us.has_value();
      const double value = path->latency_us.value_or(path->gb_per_s.value_or(0));
      values[{path->from, path->to}] = value;
      most = std::max(most, value);
    }
    std::ranges::sort(ends);
    std::string html = fmt::format(
        "<div class=\"wide\" tabindex=\"0\" role=\"group\"><table class=\"heat\"><caption>{}, {}"
        "</caption>\n<tr><th>from \\ to</th>",
        escaped(title), latency ? "us" : "GB/s");
    for (const auto& end : ends) html += fmt::format("<th scope=\"col\">{}</th>", escaped(end));
    html += "</tr>\n";
    for (const auto& from : ends) {
      html += fmt::format("<tr><th scope=\"row\">{}</th>", escaped(from));
      for (const auto& to : ends) {
        const auto found = values.find({from, to});
        html += found == values.end()
                    ? "<td>-</td>"
                    : fmt::format("<td class=\"heat-{}\">{:.4g}</td>",
                                  static_cast<int>(5 * found->second / std::max(most, 1e-12)),
                                  found->second);
      }
      html += "</tr>\n";
    }
    return html + "</table></div>\n";
  }

  std::string paths() {
    std::string html;
    for (const auto& preflight : runs_.preflights) {
      html += fmt::format("<h3>Preflight {}</h3>\n<ul>\n",
                          badge(to_string(runs_.sources[preflight.source].figures)));
      for (const auto& device : preflight.devices)
        html += fmt::format("<li>{}</li>\n", escaped(device));
      html += "</ul>\n";
      if (preflight.paths.empty()) html += "<p>No times.</p>\n";
      std::map<std::string, std::vector<const PathFigure*>> tables;
      for (const auto& path : preflight.paths) {
        std::string title = path.latency_us ? "latency: " : "bandwidth: ";
        title += path.traffic + ", " + path.method;
        if (!path.peer_access.empty()) title += ", " + path.peer_access;
        tables[title].push_back(&path);
      }
      for (const auto& [title, all] : tables) html += path_table(title, all);
    }
    return html;
  }

  std::string changes() {
    std::string html;
    for (const auto& change : runs_.changes) {
      html += fmt::format("<p>Old: {}<br>New: {}</p>\n", escaped(change.old_run),
                          escaped(change.new_run)) +
              from(change.source) + chart(change_chart(change));
      std::size_t unknown = 0;
      for (const auto& row : change.rows) unknown += row.ratio ? 0 : 1;
      if (unknown > 0)
        html += fmt::format("<p class=\"note\">{} row{} could not be compared.</p>\n", unknown,
                            unknown == 1 ? "" : "s");
    }
    return html;
  }

  std::string files() const {
    std::string html;
    for (const auto& source : runs_.sources) {
      html += fmt::format("<h3>{} <small>{}</small> {}</h3>\n<dl>\n", escaped(source.file),
                          escaped(source.kind),
                          source.kind == "topology" ? "" : badge(to_string(source.figures)));
      for (const auto& [name, value] : source.facts)
        if (!value.empty())
          html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escaped(name), escaped(value));
      html += "</dl>\n" + notes_list(source.notes);
    }
    return html;
  }

  static std::string spaced(std::string text) {
    std::ranges::replace(text, '_', ' ');
    return text;
  }

  const Runs& runs_;
  PageData& data_;
  Looks looks_;
};

}  // namespace

std::vector<Section> sections_of(const Runs& runs, PageData& data) {
  return SectionMaker(runs, data).make();
}

}  // namespace ringside::report
