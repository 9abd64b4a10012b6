//===- Page.cpp - the page about one run or several -------------------------===//
// Tables are HTML; curves are drawn by the script, from numbers that stand in the page.
#include "dsc/Report/Page.h"
#include "PageParts.h"
#include "dsc/Support/HtmlPage.h"
#include "dsc/Support/Numbers.h"
#include <algorithm>
#include <cmath>

using namespace dsc;
using namespace dsc::report;
using nlohmann::ordered_json;

static const Series &seriesOf(const Run &run, const std::string &key) {
  static const Series none;
  auto found = run.series.find(key);
  return found == run.series.end() ? none : found->second;
}

/// What a curve needs: single precision.
static std::string curveNumber(double value) {
  auto single = static_cast<float>(value);
  return std::isfinite(single) ? printShortest(single) : "null";
}

static std::string curves(const Run &run) {
  std::string out;
  for (const auto &[key, series] : run.series) {
    std::string steps, values;
    for (const auto &[step, value] : thin(series)) {
      steps += (steps.empty() ? "" : ",") + std::to_string(step);
      values += (values.empty() ? "" : ",") + curveNumber(value);
    }
    out += (out.empty() ? "\"" : ",\"") + key + "\":[[" + steps + "],[" + values + "]]";
  }
  return "{" + out + "}";
}

static std::string dataOf(const std::vector<Run> &runs) {
  std::string out;
  for (const Run &run : runs) {
    ordered_json head = {
        {"name", run.name},       {"first", run.firstStep},         {"last", run.steps},
        {"skipped", run.skipped}, {"checkpoints", run.checkpoints}, {"resumed", run.resumed}};
    std::string text = head.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
    text.pop_back();
    out += (out.empty() ? "" : ",\n") + text + ",\"series\":" + curves(run) + "}";
  }
  return "[" + out + "]";
}

static std::pair<int64_t, double> leastOf(const Series &series) {
  std::pair<int64_t, double> best{0, INFINITY};
  for (const auto &point : series)
    if (point.second < best.second)
      best = point;
  return best;
}

static std::string whole(double value) {
  return std::isfinite(value) && std::fabs(value) < 9e15
             ? printGrouped(static_cast<int64_t>(std::llround(value)))
             : printShortest(value);
}

static std::string duration(double seconds) {
  if (!(seconds >= 0 && seconds < 1e9))
    return "?";
  auto total = static_cast<int64_t>(seconds + 0.5);
  auto two = [](int64_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  if (total < 60)
    return std::to_string(total) + " s";
  if (total < 3600)
    return std::to_string(total / 60) + ":" + two(total % 60) + " min";
  return std::to_string(total / 3600) + ":" + two(total / 60 % 60) + " h";
}

namespace {
/// What the table says of a run.
struct Figures {
  std::string steps, updates, loss, best, perplexity, bits, speed, memory, skipped, checkpoints,
      time;

  explicit Figures(const Run &run) {
    steps = printGrouped(run.steps);
    updates = printGrouped(run.updates);
    const Series &losses = seriesOf(run, "loss"), &evaluations = seriesOf(run, "eval_loss");
    if (!losses.empty())
      loss = printFixed(losses.back().second, 4);
    if (!evaluations.empty()) {
      auto [step, value] = leastOf(evaluations);
      best = printFixed(value, 4) + " at " + printGrouped(step);
      auto at = [&, step = step](const char *key, int decimals) {
        for (const auto &[other, number] : seriesOf(run, key))
          if (other == step)
            return printFixed(number, decimals);
        return std::string();
      };
      perplexity = at("eval_perplexity", 3);
      bits = at("eval_bits_per_byte", 4);
    }
    speed = whole(median(seriesOf(run, "tokens_per_second")));
    if (const Series &peaks = seriesOf(run, "peak_bytes"); !peaks.empty())
      memory = printBytes(static_cast<uint64_t>(std::clamp(peaks.back().second, 0.0, 1e18)));
    skipped = printGrouped(static_cast<int64_t>(run.skipped.size()));
    checkpoints = printGrouped(static_cast<int64_t>(run.checkpoints.size()));
    time = duration(run.seconds);
  }
};
} // namespace

static std::string cell(const std::string &text, const char *kind = "") {
  return std::string("<td") + (*kind ? std::string(" class=\"") + kind + "\"" : "") + ">" +
         (text.empty() ? "<span class=\"none\">–</span>" : escapeHtml(text)) + "</td>";
}

static std::string chip(size_t index) {
  return "<i class=\"chip\" style=\"--hue: var(--run-" + std::to_string(index % 8) + ")\"></i>";
}

static std::string runsTable(const std::vector<Run> &runs) {
  std::string rows;
  for (size_t i = 0; i < runs.size(); ++i) {
    Figures f(runs[i]);
    rows += "<tr><th scope=\"row\"><button class=\"run\" data-run=\"" + std::to_string(i) +
            "\" aria-pressed=\"true\" title=\"show or hide\">" + chip(i) +
            escapeHtml(runs[i].name) + "</button></th>";
    for (const std::string &text : {f.steps, f.updates, f.loss, f.best, f.perplexity, f.bits,
                                    f.speed, f.memory, f.skipped, f.checkpoints, f.time})
      rows += cell(text);
    rows += "</tr>\n";
  }
  std::string head;
  for (const char *name :
       {"run", "steps", "updates", "last loss", "best validation loss", "perplexity", "bits a byte",
        "tokens/s, median", "peak memory", "skipped", "checkpoints", "time in steps"})
    head += std::string("<th scope=\"col\">") + name + "</th>";
  return "<section class=\"panel wide\"><table class=\"runs\"><thead><tr>" + head +
         "</tr></thead><tbody>\n" + rows + "</tbody></table></section>\n";
}

static std::string settingsRows(const std::vector<SettingRow> &rows, bool differing) {
  std::string out, section;
  for (const SettingRow &row : rows) {
    if (row.differs != differing)
      continue;
    out += "<tr><th scope=\"row\">" + escapeHtml(row.key) + "</th>";
    for (const std::string &value : row.values)
      out += cell(value, differing ? "differs" : "");
    out += "</tr>\n";
  }
  return out;
}

static std::string settings(const std::vector<Run> &runs) {
  std::vector<SettingRow> rows = compareSettings(runs);
  if (rows.empty())
    return {};
  std::string head = "<thead><tr><th scope=\"col\">setting</th>";
  for (size_t i = 0; i < runs.size(); ++i)
    head += "<th scope=\"col\">" + chip(i) + escapeHtml(runs[i].name) + "</th>";
  head += "</tr></thead>";
  auto table = [&](const std::string &body) {
    return "<div class=\"scroll\"><table class=\"settings\">" + head + "<tbody>\n" + body +
           "</tbody></table></div>";
  };
  std::string differing = settingsRows(rows, true), same = settingsRows(rows, false), out;
  if (runs.size() > 1)
    out = "<section class=\"panel\"><h2>What differs</h2>" +
          (differing.empty() ? "<p>The runs have the same settings.</p>" : table(differing)) +
          "</section>\n";
  auto equal =
      std::count_if(rows.begin(), rows.end(), [](const auto &row) { return !row.differs; });
  return out + "<section class=\"panel\"><details" + (runs.size() > 1 ? "" : " open") +
         "><summary><h2>" + (runs.size() > 1 ? "What is the same" : "Settings") + "</h2> <span>" +
         std::to_string(equal) + " settings</span></summary>" + table(same) +
         "</details></section>\n";
}

static std::string happenings(const std::vector<Run> &runs) {
  std::string rows;
  for (size_t i = 0; i < runs.size(); ++i) {
    for (const RunEvent &event : runs[i].events)
      rows += "<tr><th scope=\"row\">" + chip(i) + escapeHtml(runs[i].name) + "</th>" +
              cell(printGrouped(event.step)) + cell(event.event) + cell(event.message, "text") +
              "</tr>\n";
    for (const std::string &note : runs[i].notes)
      rows += "<tr><th scope=\"row\">" + chip(i) + escapeHtml(runs[i].name) + "</th>" + cell("") +
              cell("note") + cell(note, "text") + "</tr>\n";
  }
  if (rows.empty())
    return {};
  return "<section class=\"panel\"><h2>What happened</h2><div class=\"scroll\"><table "
         "class=\"events\"><thead><tr><th>run</th><th>step</th><th>event</th><th></th></tr></thead>"
         "<tbody>\n" +
         rows + "</tbody></table></div></section>\n";
}

std::string report::reportPage(const std::vector<Run> &runs) {
  HtmlPage page;
  page.title = runs.size() == 1 ? runs.front().name : std::to_string(runs.size()) + " runs";
  page.subtitle = "training report";
  if (runs.size() == 1) {
    Figures f(runs.front());
    page.facts = {{"steps", f.steps}, {"last loss", f.loss}};
    if (!f.best.empty())
      page.facts.emplace_back("best validation loss", f.best);
    page.facts.emplace_back("tokens/s, median", f.speed);
    page.facts.emplace_back("counted tokens", printGrouped(runs.front().countedTokens));
  }
  page.style = reportStyle;
  page.body =
      "<main>\n" + runsTable(runs) +
      "<div class=\"tools\" id=\"tools\"></div>\n<div id=\"charts\"><noscript>The curves need "
      "JavaScript.</noscript></div>\n" +
      happenings(runs) + settings(runs) +
      "</main>\n<script type=\"application/json\" id=\"data\">" + inertJson(dataOf(runs)) +
      "</script>\n<script>" + reportScript + "</script>\n";
  return printPage(page);
}
