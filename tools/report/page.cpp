// SPDX-License-Identifier: MIT
#include "ringside/tools/report/page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ringside/base/json_write.hpp"
#include "ringside/tools/report/assets.hpp"
#include "ringside/tools/report/colours.hpp"
#include "ringside/tools/report/html.hpp"
#include "ringside/tools/report/sections.hpp"

namespace ringside::report {
namespace {

std::string title_of(const Runs& runs) {
  std::vector<std::string> kinds;
  for (const auto& source : runs.sources)
    if (std::ranges::find(kinds, source.kind) == kinds.end()) kinds.push_back(source.kind);
  std::string words;
  for (const auto& kind : kinds) words += (words.empty() ? "" : ", ") + kind;
  return "Ringside: " + words;
}

std::string script(const Script& script) {
  return fmt::format("<script>{}</script>\n", script.text);
}

std::string head(const std::string& title) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; "
      "form-action 'none'; style-src 'unsafe-inline'; img-src data: blob:; script-src {} {}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n",
      script_hash(chart_library().sha256), script_hash(page_script().sha256), escaped(title),
      with_theme(page_style()));
}

std::string navigation(const std::vector<Section>& sections) {
  std::string html = "<nav aria-label=\"Sections\"><ul>\n";
  for (const auto& section : sections)
    html += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", section.id, escaped(section.title));
  return html + "</ul></nav>\n";
}

std::string body(const Runs& runs, const PageFacts& facts, const std::vector<Section>& sections) {
  std::string html = fmt::format(
      "<body>\n<a class=\"skip\" href=\"#main\">To the content</a>\n<header>\n<h1>Ringside</h1>\n"
      "<p>Made {} by ringside {} from {} file{}. Every figure says whether it was measured, "
      "simulated or predicted; what was not measured is drawn dashed.</p>\n"
      "<button type=\"button\" id=\"theme\" hidden>Theme</button>\n</header>\n{}<main "
      "id=\"main\">\n"
      "<noscript><p class=\"note\">The charts need JavaScript, which is in this "
      "file.</p></noscript>\n",
      escaped(facts.made), escaped(facts.version), runs.sources.size(),
      runs.sources.size() == 1 ? "" : "s", navigation(sections));
  for (const auto& section : sections)
    html += fmt::format(
        "<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">"
        "{1}</h2>\n{2}</section>\n",
        section.id, escaped(section.title), section.html);
  return html +
         "</main>\n<p id=\"spoken\" class=\"unseen\" role=\"status\" aria-live=\"polite\"></p>\n";
}

}  // namespace

std::string why_no_report() {
  return chart_library().text.empty()
             ? "this build has no Chart.js, which draws the charts of a report: install "
               "libjs-chart.js (Debian) and build again"
             : "";
}

std::string report_page(const Runs& runs, const PageFacts& facts) {
  PageData data;
  const auto sections = sections_of(runs, data);
  const Json all = {{"charts", std::move(data.charts)}, {"machines", std::move(data.machines)}};
  return head(title_of(runs)) + body(runs, facts, sections) +
         fmt::format("<script type=\"application/json\" id=\"data\">{}</script>\n",
                     script_json(dump_json(all, -1))) +
         script(chart_library()) + script(page_script()) + "</body>\n</html>\n";
}

}  // namespace ringside::report
