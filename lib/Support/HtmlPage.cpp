//===- HtmlPage.cpp - what our HTML pages share -----------------------------===//
#include "dsc/Support/HtmlPage.h"

using namespace dsc;

static const char *const sharedStyle = R"css(
:root {
  --paper: #fbfaf7; --card: #ffffff; --ink: #1d2330; --soft: #677084; --line: #e3e0d8; --shade: #f3f1ea;
  --accent: #3056d3; --accent-soft: #e6ebfb; --add: #e3f5e6; --add-strong: #b5e3bd; --del: #fdeaea;
  --del-strong: #f6c3c3; --add-ink: #1b6e2d; --del-ink: #a32626;
  --op: #3056d3; --value: #9a4a00; --symbol: #7a2e8e; --type: #4d7a72; --string: #3f7d33; --number: #9b3d5d;
  --import: #3b82c4; --training: #c2622d; --precision: #a8841c; --parallel: #5f8f2f; --lowering: #7d56c2; --plan: #2c8a6e; --kernels: #b23a64;
  --mono: ui-monospace, "SF Mono", "JetBrains Mono", "Cascadia Code", Menlo, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171d; --card: #1b1f27; --ink: #e6e8ee; --soft: #98a1b3; --line: #2c323d; --shade: #222731;
    --accent: #8aa4ff; --accent-soft: #26304d; --add: #16301f; --add-strong: #24573a; --del: #3a1e22;
    --del-strong: #6b2c34; --add-ink: #86d79a; --del-ink: #f09a9a;
    --op: #8fb0ff; --value: #e8b071; --symbol: #d2a0e6; --type: #86c3b8; --string: #9fd191; --number: #f098b4;
  }
}
* { box-sizing: border-box; }
html { scrollbar-gutter: stable; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", "Helvetica Neue", "DejaVu Sans", sans-serif; }
header { display: flex; flex-wrap: wrap; align-items: end; gap: 12px 48px; padding: 26px 36px 4px; }
header .name b { font-size: 13px; letter-spacing: .14em; text-transform: uppercase; color: var(--accent); }
h1 { margin: 0; font-size: 25px; line-height: 1.2; font-weight: 650; letter-spacing: -.01em; overflow-wrap: anywhere; }
header dl { display: flex; flex-wrap: wrap; gap: 6px 30px; margin: 0; }
dt { font-size: 12px; color: var(--soft); } dd { margin: 0; font-weight: 600; font-variant-numeric: tabular-nums; }
main { padding: 0 36px 80px; }
.panel { background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
.tip { position: fixed; pointer-events: none; background: var(--ink); color: var(--paper); font-size: 12.5px; line-height: 1.45;
  padding: 7px 11px; border-radius: 7px; max-width: 420px; z-index: 5; white-space: pre-line; }
@media (max-width: 900px) { header, main { padding-left: 16px; padding-right: 16px; } }
)css";

static std::string replaced(const std::string &text, char what, const char *with) {
  std::string out;
  for (char c : text)
    if (c == what)
      out += with;
    else
      out += c;
  return out;
}

std::string dsc::escapeHtml(const std::string &text) {
  return replaced(replaced(replaced(text, '&', "&amp;"), '<', "&lt;"), '"', "&quot;");
}

std::string dsc::inertJson(const std::string &json) { return replaced(json, '<', "\\u003c"); }

std::string dsc::printPage(const HtmlPage &page) {
  std::string title = escapeHtml(page.title), facts;
  for (const auto &[name, value] : page.facts)
    facts += "<div><dt>" + escapeHtml(name) + "</dt><dd>" + escapeHtml(value) + "</dd></div>";
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         title + " · " + escapeHtml(page.subtitle) + "</title>\n<style>" + sharedStyle +
         page.style + "</style>\n</head>\n<body>\n<header><div class=\"name\"><b>dsc</b><h1>" +
         title + "</h1></div><dl>" + facts + "</dl></header>\n" + page.body + "</body>\n</html>\n";
}
