// SPDX-License-Identifier: MIT
#include "ringside/tools/report/plan_page.hpp"

#include <fmt/format.h>

#include "ringside/base/json_write.hpp"
#include "ringside/tools/report/assets.hpp"
#include "ringside/tools/report/colours.hpp"
#include "ringside/tools/report/html.hpp"

namespace ringside::report {
namespace {

Json data_of(const Story& story, const Drawing& drawing) {
  Json steps = Json::array();
  for (std::size_t i = 0; i < story.steps.size(); ++i)
    steps.push_back({{"label", story.steps[i].label},
                     {"words", story.steps[i].words},
                     {"begin", drawing.begins[i]},
                     {"end", drawing.ends[i]}});
  return {{"steps", std::move(steps)}, {"length", drawing.length}};
}

constexpr std::string_view controls =
    R"html(<div class="controls" role="group" aria-label="Animation">
<button type="button" id="first" title="To the start (Home)">Start</button>
<button type="button" id="back" title="A step back (left arrow)">Back</button>
<button type="button" id="play" title="Play or pause (space)">Play</button>
<button type="button" id="forward" title="A step on (right arrow)">Forward</button>
<label>Step <input type="range" id="slider" min="0" max="0" value="0" step="1"></label>
<label>Speed <select id="speed"><option value="0.5">half</option><option value="1" selected>normal</option>
<option value="2">double</option><option value="4">fourfold</option></select></label>
<button type="button" id="theme" hidden>Theme</button>
</div>
)html";

}  // namespace

std::string plan_page(const Story& story, const Drawing& drawing) {
  const std::string title = fmt::format("{}: {}", story.spec, story.call);
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; "
      "form-action 'none'; style-src 'unsafe-inline'; script-src {}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n<style>{}</style>\n"
      "</head>\n<body>\n<main>\n<h1 class=\"unseen\">{}</h1>\n{}<p id=\"now\" role=\"status\" "
      "aria-live=\"polite\">Start"
      "</p>\n<div class=\"scene\" style=\"--natural:{:.0f}px\">{}</div>\n<p "
      "class=\"legend\">Stripes in a chunk: whose "
      "contributions "
      "it has; framed: complete; dashed frame: scratch. oR[C]: output chunk C of rank R, iR: "
      "input. "
      "Plans of as many ranks run at one speed, but no step is shorter than an eye can "
      "follow.</p>\n"
      "</main>\n<script type=\"application/json\" id=\"data\">{}</script>\n<script>{}</script>\n"
      "</body>\n</html>\n",
      script_hash(animation_script().sha256), escaped(title), with_theme(animation_style()),
      escaped(title), controls, drawing.width, drawing.svg,
      script_json(dump_json(data_of(story, drawing), -1)), animation_script().text);
}

}  // namespace ringside::report
