//===- PageStyle.cpp - style sheet of the report -----------------------------===//
#include "PageParts.h"

const char *const dsc::report::reportStyle = R"css(
:root { --run-0: #3056d3; --run-1: #d1602a; --run-2: #26876a; --run-3: #a23b84; --run-4: #8a7413; --run-5: #2f8fb5;
  --run-6: #7a54c7; --run-7: #64707f; --skip: #cf2f3c; }
@media (prefers-color-scheme: dark) {
  :root { --run-0: #8aa4ff; --run-1: #f39a62; --run-2: #66cda9; --run-3: #e28bcb; --run-4: #d9c25a; --run-5: #74c6e8;
    --run-6: #b79bf5; --run-7: #a9b4c4; --skip: #ff7a82; }
}
main { padding-top: 18px; display: grid; gap: 18px; grid-template-columns: minmax(0, 1fr); }
h2 { margin: 0; font-size: 15px; font-weight: 650; display: inline-block; }
.panel { padding: 14px 18px; min-width: 0; }
.panel > p { margin: 8px 0 0; color: var(--soft); }
.none { color: var(--soft); opacity: .7; }
.chip { display: inline-block; width: 11px; height: 11px; border-radius: 3px; background: var(--hue); margin-right: 8px; }
.wide { overflow-x: auto; }
.scroll { overflow-x: auto; margin-top: 8px; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; font-variant-numeric: tabular-nums; }
th, td { padding: 6px 14px 6px 0; text-align: left; vertical-align: top; white-space: nowrap; }
thead th { font-weight: 400; font-size: 12px; color: var(--soft); padding-bottom: 4px; }
tbody tr { border-top: 1px solid var(--line); } tbody th { font-weight: 600; }
td.text { white-space: normal; min-width: 260px; overflow-wrap: anywhere; }
.runs td, .runs thead th:not(:first-child) { text-align: right; padding-left: 6px; }
.run { border: 0; background: none; color: inherit; font: inherit; cursor: pointer; padding: 1px 6px 1px 0; border-radius: 6px; }
.run:hover { color: var(--accent); } .run[aria-pressed=false] { opacity: .45; text-decoration: line-through; }
.run:focus-visible, .tools input:focus-visible, .tools button:focus-visible, summary:focus-visible
  { outline: 2px solid var(--accent); outline-offset: 1px; }
.settings th, .settings td { white-space: normal; overflow-wrap: anywhere; }
.settings tbody th { font: 12.5px/1.6 var(--mono); width: 34%; min-width: 190px; }
.settings td { font: 12.5px/1.6 var(--mono); min-width: 90px; }
.settings td.differs { font-weight: 650; }
summary { cursor: pointer; } summary span { color: var(--soft); font-size: 13px; margin-left: 10px; }

.tools { display: flex; flex-wrap: wrap; gap: 8px 26px; align-items: center; font-size: 13.5px; color: var(--soft); }
.tools label { display: inline-flex; gap: 8px; align-items: center; cursor: pointer; }
.tools input { accent-color: var(--accent); } .tools input[type=range] { width: 130px; }
.tools button { font: inherit; border: 1px solid var(--line); background: var(--card); color: inherit; border-radius: 7px;
  padding: 2px 10px; cursor: pointer; } .tools button:hover { color: var(--accent); }
.tools .key { display: inline-flex; gap: 6px; align-items: center; }
.tools .keys { display: inline-flex; flex-wrap: wrap; gap: 4px 18px; margin-left: auto; }
#charts { display: grid; gap: 18px; grid-template-columns: repeat(2, minmax(0, 1fr)); }
#charts > .chart:last-child:nth-child(odd) { grid-column: 1 / -1; }
.chart { padding: 12px 14px 6px; } .chart.full { grid-column: 1 / -1; }
.chart h2 small { font-weight: 400; color: var(--soft); font-size: 12.5px; margin-left: 8px; }
.chart svg { display: block; width: 100%; touch-action: pan-y; user-select: none; -webkit-user-select: none; cursor: crosshair; }
.chart text { font: 11.5px system-ui, "DejaVu Sans", sans-serif; fill: var(--soft); font-variant-numeric: tabular-nums; }
.grid { stroke: var(--line); stroke-width: 1; } .axis { stroke: var(--soft); stroke-width: 1; opacity: .7; }
.curve { fill: none; stroke: var(--hue); stroke-width: 1.6; stroke-linejoin: round; stroke-linecap: round; }
.curve.raw { stroke-width: 1; opacity: .28; } .curve.dashed { stroke-dasharray: 5 4; }
.dot { fill: var(--card); stroke: var(--hue); stroke-width: 1.8; } .dot.now { fill: var(--hue); stroke: var(--card); }
.mark { fill: var(--hue); } .lane { stroke: var(--hue); stroke-width: 1; opacity: .3; } .skipped { stroke: var(--skip); stroke-width: 1.3; }
.again { stroke: var(--hue); stroke-width: 1.2; stroke-dasharray: 2 4; opacity: .8; }
.cross { stroke: var(--soft); stroke-width: 1; opacity: .6; } .band { fill: var(--accent); opacity: .12; }
.tip { white-space: nowrap; display: grid; grid-template-columns: auto auto auto; gap: 1px 10px; align-items: baseline; }
.tip[hidden] { display: none; }
.tip b { grid-column: 1 / -1; font-weight: 650; } .tip .chip { margin: 0; } .tip span { text-align: right; }
.tip em { grid-column: 2 / -1; font-style: normal; opacity: .8; }
.tip span, .tip b { font-variant-numeric: tabular-nums; }
@media (max-width: 900px) { #charts { grid-template-columns: minmax(0, 1fr); } .panel { padding: 12px; }
  .tools .keys { margin-left: 0; } }
@media print { .tools { display: none; } }
)css";
