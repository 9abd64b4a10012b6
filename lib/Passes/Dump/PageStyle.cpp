//===- PageStyle.cpp - style sheet of the IR page --------------------------===//
#include "DumpPage.h"

const char *const dsc::pageStyle = R"css(
#ribbon { display: flex; align-items: stretch; gap: 0; padding: 18px 36px 18px; overflow-x: auto; scrollbar-width: thin; }
.end { align-self: center; font: 600 11.5px var(--mono); padding: 8px 7px; border-radius: 9px; white-space: nowrap;
  border: 1.5px dashed var(--line); color: var(--soft); background: var(--card); }
.arrow { flex: 1 0 10px; max-width: 26px; align-self: center; height: 2px; background: var(--line); position: relative; }
.arrow::after { content: ""; position: absolute; right: 0; top: -4px; border: 5px solid transparent;
  border-left-color: var(--line); border-right: 0; }
.phase { flex: 1 0 auto; background: var(--card); border: 1px solid var(--line);
  border-top: 4px solid var(--hue); border-radius: 10px; padding: 8px 4px 8px; }
.phase h2 { margin: 0 6px 4px; font-size: 14px; font-weight: 650; display: flex; justify-content: space-between;
  gap: 14px; }
.phase h2 span { font-weight: 400; color: var(--soft); font-size: 12px; align-self: center; white-space: nowrap; }
.pass { display: grid; grid-template-columns: 1fr auto auto; gap: 8px; width: 100%; border: 0; border-radius: 6px;
  background: none; color: inherit; font: inherit; font-size: 13px; text-align: left; padding: 3px 6px; cursor: pointer; }
.pass code { font: 11.5px/1.65 var(--mono); white-space: nowrap; }
.pass span { color: var(--soft); font-size: 12px; font-variant-numeric: tabular-nums; text-align: right;
  min-width: 38px; white-space: nowrap; }
.phase h2 b { font-weight: 650; flex: 1; } .phase h2 span { min-width: 38px; text-align: right; }
.phase h2 { gap: 8px; }
.pass:hover { background: var(--shade); }
.pass[aria-current=true] { background: color-mix(in srgb, var(--hue) 16%, transparent);
  box-shadow: inset 3px 0 var(--hue); }
.pass:focus-visible, .tabs button:focus-visible, .fold:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }

.about { display: grid; grid-template-columns: minmax(300px, 1fr) minmax(340px, 1.15fr); gap: 34px; padding: 20px 24px; }
.about h2 { margin: 0; font: 650 20px var(--mono); }
.about p { margin: 5px 0 14px; max-width: 62ch; color: var(--ink); }
.figures { display: flex; flex-wrap: wrap; gap: 6px 30px; margin: 0; }
.figures .up { color: var(--add-ink); } .figures .down { color: var(--del-ink); } .figures small { font-weight: 400; }
.bars { display: grid; grid-template-columns: max-content 1fr max-content max-content; gap: 3px 12px; align-items: center;
  font-size: 12.5px; align-content: start; }
.bars code { font: 12.5px var(--mono); } .bars i { height: 9px; border-radius: 3px; background: var(--hue); opacity: .75; }
.bars b { font-weight: 500; text-align: right; font-variant-numeric: tabular-nums; }
.bars em { font-style: normal; font-size: 12px; color: var(--soft); text-align: right; min-width: 36px; }
.bars em.up { color: var(--add-ink); } .bars em.down { color: var(--del-ink); }

.tabs { display: flex; gap: 4px; align-items: center; border-top: 1px solid var(--line); border-bottom: 1px solid var(--line);
  padding: 6px 18px; position: sticky; top: 0; background: var(--card); z-index: 2; }
.tabs button { border: 0; background: none; color: var(--soft); font: inherit; font-weight: 600; font-size: 14px;
  padding: 5px 12px; border-radius: 7px; cursor: pointer; }
.tabs button[aria-selected=true] { background: var(--accent-soft); color: var(--accent); }
.tabs .right { margin-left: auto; color: var(--soft); font-size: 13px; display: flex; gap: 18px; align-items: center; }
.tabs a { color: var(--accent); text-decoration: none; font: 12.5px var(--mono); } .tabs a:hover { text-decoration: underline; }
.tabs .right button { padding: 3px 8px; font-size: 13px; font-weight: 500; }

.code { font: 12.5px/1.62 var(--mono); overflow-x: auto; padding: 10px 0 16px; tab-size: 2; }
.code .lines { display: inline-block; min-width: 100%; }
.ln { white-space: pre; padding: 0 22px 0 0; min-height: 1.62em; display: flex; }
.ln > u { flex: 0 0 58px; text-align: right; padding-right: 18px; color: var(--soft); opacity: .6; text-decoration: none;
  user-select: none; font-variant-numeric: tabular-nums; }
.add { background: var(--add); } .add > u::after { content: "+"; color: var(--add-ink); margin-left: 7px; }
.rem { background: var(--del); } .rem > u::after { content: "−"; color: var(--del-ink); margin-left: 7px; }
.diff .ln > u { padding-right: 8px; flex-basis: 66px; } .diff .same > u::after { content: " "; margin-left: 14px; }
.add mark { background: var(--add-strong); color: inherit; border-radius: 2px; }
.rem mark { background: var(--del-strong); color: inherit; border-radius: 2px; }
.fold { display: block; width: 100%; border: 0; text-align: left; font: 12px system-ui, sans-serif; cursor: pointer;
  color: var(--soft); background: var(--shade); padding: 3px 22px 3px 78px; margin: 3px 0; }
.fold:hover { color: var(--accent); }
.ln.head { cursor: pointer; } .ln.head > u::before { content: "▸"; float: left; padding-left: 14px; opacity: .9; }
.ln.head.open > u::before { content: "▾"; } .ln.head:hover { background: var(--shade); }
.ln.head small { font: 12px system-ui, sans-serif; color: var(--soft); padding-left: 14px; align-self: center; }
.op { color: var(--op); font-weight: 600; } .v { color: var(--value); font-style: normal; cursor: pointer; }
.sy { color: var(--symbol); } .ty { color: var(--type); } .st { color: var(--string); } .nu { color: var(--number); }
.co { color: var(--soft); font-style: italic; }
.none { padding: 28px 24px; color: var(--soft); }

.map { padding: 16px 24px 22px; } .map p { margin: 0 0 12px; color: var(--soft); max-width: 90ch; }
.map select { font: inherit; font-size: 14px; padding: 3px 8px; border-radius: 7px; border: 1px solid var(--line);
  background: var(--card); color: inherit; margin-right: 16px; }
.map svg { width: 100%; height: 560px; display: block; background: var(--shade); border-radius: 8px; }
.map rect.b { stroke: var(--card); stroke-width: .6; vector-effect: non-scaling-stroke; }
.map rect.b:hover { filter: brightness(1.18); }
.map text { font: 12px system-ui, sans-serif; fill: var(--soft); } .map line { stroke: var(--line); }
@media (max-width: 900px) { header, main, #ribbon { padding-left: 16px; padding-right: 16px; } .about { grid-template-columns: 1fr; } }
)css";
