//===- PageScript.cpp - script of the report: draws the curves ----------------===//
#include "PageParts.h"

const char *const dsc::report::reportScript = R"js("use strict";
const runs = JSON.parse(document.getElementById("data").textContent);
const state = { hidden: new Set(), smooth: 0, zoom: null, log: new Set() };
const SVG = "http://www.w3.org/2000/svg";
function node(space, tag, attributes, ...children) {
  const e = space ? document.createElementNS(space, tag) : document.createElement(tag);
  for (const [k, v] of Object.entries(attributes || {}))
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else if (v !== null && v !== undefined) e.setAttribute(k, v);
  e.append(...children.filter(c => c !== null && c !== undefined));
  return e;
}
const el = (tag, a, ...c) => node(null, tag, a, ...c), sv = (tag, a, ...c) => node(SVG, tag, a, ...c);
const hue = i => `--hue: var(--run-${i % 8})`;
const group = n => Math.round(n).toLocaleString("en-US");
const short = v => v === 0 ? "0" : Math.abs(v) >= 1e5 || Math.abs(v) < 1e-3 ? v.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e")
  : String(Number(v.toPrecision(5)));
function bytes(n) {
  for (const unit of ["B", "KiB", "MiB", "GiB", "TiB"]) {
    if (n < 1024 || unit === "TiB") return String(Number(n.toPrecision(n < 100 ? 3 : 4))) + " " + unit;
    n /= 1024;
  }
}
const power = v => v > 0 && Number.isInteger(Math.log2(v)) && v >= 1024 ? "2" + String(Math.log2(v)).replace(/\d/g, d => "⁰¹²³⁴⁵⁶⁷⁸⁹"[d]) : short(v);
const charts = [
  { key: "loss", title: "Loss", unit: "nats a token", full: true, smooth: true, dots: "eval_loss", dotName: "validation", print: v => v.toFixed(4), logs: true },
  { key: "learning_rate", title: "Learning rate", print: short, zero: true },
  { key: "grad_norm", title: "Gradient norm", unit: "before clipping", print: v => short(v), smooth: true, logs: true },
  { key: "loss_scale", title: "Loss scale", print: power, log: 2 },
  { key: "tokens_per_second", title: "Throughput", unit: "counted tokens a second", print: group, smooth: true, zero: true },
  { key: "resident_bytes", title: "Memory", unit: "resident; dashed: at most so far", dashed: "peak_bytes", print: bytes, zero: true, binary: true },
].filter(c => runs.some(r => r.series[c.key] && r.series[c.key][0].length));
const series = (run, key) => (run.series[key] ? run.series[key][0].map((s, i) => [s, run.series[key][1][i]]).filter(p => p[1] !== null) : []);
// Long curves are a band without it.
if (runs.some(r => r.series.loss && r.series.loss[0].length > 600)) state.smooth = 0.8;
for (const c of charts) c.data = runs.map(r => ({ line: series(r, c.key), dashed: c.dashed ? series(r, c.dashed) : [], dots: c.dots ? series(r, c.dots) : [] }));

function smoothed(points) {
  if (!state.smooth) return points;
  let sum = 0, weight = 0;
  return points.map(([x, y]) => {
    sum = sum * state.smooth + y * (1 - state.smooth);
    weight = weight * state.smooth + 1 - state.smooth;
    return [x, sum / weight];
  });
}
function niceStep(span, count, binary) {
  const raw = span / count, base = binary ? 2 : 10;
  if (!(raw > 0)) return 1;
  const unit = Math.pow(base, Math.floor(Math.log(raw) / Math.log(base) + 1e-9));
  if (binary) return raw <= unit ? unit : unit * 2;
  for (const k of [1, 2, 2.5, 5, 10]) if (raw <= k * unit * 1.2) return k * unit;
  return 10 * unit;
}
function linearTicks(low, high, count, binary) {
  const step = niceStep(high - low, count, binary), ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; ++k) ticks.push(k * step + 0);
  return ticks;
}
function logTicks(low, high, base) {
  let a = Math.ceil(Math.log(low) / Math.log(base) - 1e-9), b = Math.floor(Math.log(high) / Math.log(base) + 1e-9);
  const every = Math.max(1, Math.ceil((b - a + 1) / 6)), ticks = [];
  for (let k = a; k <= b; k += every) ticks.push(Math.pow(base, k));
  if (ticks.length >= 3 || base === 2) return ticks;
  const fine = [];
  for (let k = a - 1; k <= b + 1; ++k) for (const m of [1, 2, 3, 5, 7]) { const v = m * Math.pow(10, k); if (v >= low && v <= high) fine.push(v); }
  return fine.length >= 2 ? fine : linearTicks(low, high, 4);
}
const first = Math.min(...runs.map(r => r.first)), last = Math.max(...runs.map(r => r.last));
const span = () => state.zoom || [Math.min(first, last - 1), last];
/// The point nearest to a step.
function nearest(points, step) {
  let a = 0, b = points.length - 1;
  if (b < 0) return null;
  while (a < b) { const m = (a + b) >> 1; if (points[m][0] < step) a = m + 1; else b = m; }
  return a > 0 && step - points[a - 1][0] <= points[a][0] - step ? points[a - 1] : points[a];
}

function draw(c) {
  const shown = runs.map((_, i) => i).filter(i => !state.hidden.has(i));
  const width = Math.max(280, c.box.clientWidth - 28), lanes = c.full ? shown.filter(i => runs[i].checkpoints.length || runs[i].skipped.length) : [];
  const plot = c.full ? Math.round(Math.min(330, Math.max(220, width * 0.32))) : 190;
  const T = 10, B = 24 + 11 * lanes.length, H = T + plot + B, [x0, x1] = span();
  const isLog = c.log || (c.logs && state.log.has(c.key));
  let low = Infinity, high = -Infinity;
  const within = p => p[0] >= x0 && p[0] <= x1 && (!isLog || p[1] > 0);
  for (const i of shown)
    for (const points of [c.data[i].line, c.data[i].dashed, c.data[i].dots])
      for (const p of points) if (within(p)) { low = Math.min(low, p[1]); high = Math.max(high, p[1]); }
  if (low > high) { low = 0; high = 1; }
  if (isLog) {
    const f = Math.log(high / low) * 0.05 || 0.7;
    low *= Math.exp(-f); high *= Math.exp(f);
  } else {
    if (c.zero && low > 0) low = 0;
    const pad = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
    high += pad;
    if (!(c.zero && low === 0)) low -= pad;
  }
  const ticks = isLog ? logTicks(low, high, c.log || 10) : linearTicks(low, high, plot > 250 ? 6 : 5, c.binary);
  // Labels as short as tells neighbours apart.
  const digits = ticks.length > 1 && !isLog ? Math.max(0, Math.min(6, Math.ceil(-Math.log10(ticks[1] - ticks[0]) - 1e-9))) : 4;
  const label = v => c.key === "loss" ? String(Number(v.toFixed(Math.max(digits, 1) + 1))) : c.print(v);
  const L = 14 + Math.max(...ticks.map(t => label(t).length), 2) * 6.6, R = 14;
  const x = s => L + (width - L - R) * (s - x0) / (x1 - x0 || 1);
  const y = isLog ? v => T + plot * Math.log(high / v) / Math.log(high / low) : v => T + plot * (high - v) / (high - low);
  const svg = sv("svg", { viewBox: `0 0 ${width} ${H}`, height: H, role: "img", "aria-label": c.title + " over steps" });
  for (const t of ticks) {
    svg.append(sv("line", { class: "grid", x1: L, x2: width - R, y1: y(t), y2: y(t) }));
    svg.append(sv("text", { x: L - 7, y: y(t) + 4, "text-anchor": "end" }, label(t)));
  }
  const count = Math.max(2, Math.min(10, Math.floor(width / 90)));
  let lastEnd = -99;
  for (const t of linearTicks(x0, x1, count)) {
    if (!Number.isInteger(t)) continue;
    const text = group(t), at = Math.min(Math.max(x(t), L), width - R), half = text.length * 3.4;
    svg.append(sv("line", { class: "axis", x1: x(t), x2: x(t), y1: T + plot, y2: T + plot + 4 }));
    const middle = Math.min(at, width - half - 2);
    if (middle - half < lastEnd + 8) continue;
    lastEnd = middle + half;
    svg.append(sv("text", { x: middle, y: H - 7, "text-anchor": "middle" }, text));
  }
  const clip = "clip-" + c.key, body = sv("g", { "clip-path": `url(#${clip})` });
  svg.append(sv("clipPath", { id: clip }, sv("rect", { x: L, y: T - 4, width: width - L - R + 4, height: plot + 8 })), body);
  const path = points => {
    let out = "", pen = "M";
    // One point beyond either edge, so that lines leave the frame.
    const inside = points.filter((p, k) => (within(p) || (k + 1 < points.length && within(points[k + 1])) || (k > 0 && within(points[k - 1]))) && (!isLog || p[1] > 0));
    for (const p of inside) { out += pen + x(p[0]).toFixed(1) + " " + y(p[1]).toFixed(1); pen = "L"; }
    return out;
  };
  for (const i of shown) {
    const g = sv("g", { style: hue(i) }), d = c.data[i], raw = c.smooth && state.smooth;
    for (const s of runs[i].resumed) if (s >= x0 && s <= x1) g.append(sv("line", { class: "again", x1: x(s), x2: x(s), y1: T, y2: T + plot }));
    if (d.line.length === 1) g.append(sv("circle", { class: "dot now", cx: x(d.line[0][0]), cy: y(d.line[0][1]), r: 3.5 }));
    if (raw) g.append(sv("path", { class: "curve raw", d: path(d.line) }));
    g.append(sv("path", { class: "curve", d: path(raw ? smoothed(d.line) : d.line) }));
    if (d.dashed.length) g.append(sv("path", { class: "curve dashed", d: path(d.dashed) }));
    if (d.dots.length) {
      g.append(sv("path", { class: "curve dashed", d: path(d.dots) }));
      if (d.dots.length <= 200) for (const p of d.dots) if (within(p)) g.append(sv("circle", { class: "dot", cx: x(p[0]), cy: y(p[1]), r: 3.6 }));
    }
    for (const [s] of c.full ? [] : runs[i].skipped)
      if (s >= x0 && s <= x1) g.append(sv("line", { class: "skipped", x1: x(s), x2: x(s), y1: T + plot - 7, y2: T + plot }));
    body.append(g);
  }
  svg.append(sv("line", { class: "axis", x1: L, x2: width - R, y1: T + plot, y2: T + plot }));
  lanes.forEach((i, k) => {
    // A lane of its own, so that marks of several runs stay apart.
    const at = T + plot + 10 + 11 * k, g = sv("g", { style: hue(i) }, sv("line", { class: "lane", x1: L, x2: width - R, y1: at, y2: at }));
    for (const [s] of runs[i].skipped)
      if (s >= x0 && s <= x1) g.append(sv("line", { class: "skipped", x1: x(s), x2: x(s), y1: at - 4.5, y2: at + 4.5 }));
    for (const s of runs[i].checkpoints)
      if (s >= x0 && s <= x1) g.append(sv("path", { class: "mark", d: `M${x(s).toFixed(1)} ${at - 4.5}l4.6 8.4h-9.2z` }));
    svg.append(g);
  });
  c.view = { x, y, L, R, T, plot, width, x0, x1, shown, overlay: sv("g", {}) };
  svg.append(c.view.overlay);
  svg.addEventListener("pointermove", e => move(c, e));
  svg.addEventListener("pointerleave", () => { if (!state.drag) leave(); });
  svg.addEventListener("pointerdown", e => { if (e.pointerType !== "touch") { state.drag = { c, from: stepAt(c, e) }; svg.setPointerCapture(e.pointerId); } });
  svg.addEventListener("pointerup", e => zoomTo(c, e));
  svg.addEventListener("dblclick", () => { state.zoom = null; drawAll(); });
  c.svg.replaceChildren(svg);
}
function stepAt(c, e) {
  const v = c.view, box = c.svg.firstChild.getBoundingClientRect(), at = (e.clientX - box.left) * v.width / box.width;
  return Math.round(Math.min(Math.max(v.x0 + (at - v.L) * (v.x1 - v.x0) / (v.width - v.L - v.R), v.x0), v.x1));
}
function zoomTo(c, e) {
  const drag = state.drag;
  state.drag = null;
  if (!drag || drag.c !== c) return;
  const a = Math.min(drag.from, stepAt(c, e)), b = Math.max(drag.from, stepAt(c, e));
  if (c.view.x(b) - c.view.x(a) < 8 || b - a < 2) { leave(); return; }
  state.zoom = [a, b];
  drawAll();
}
const tip = document.body.appendChild(el("div", { class: "tip", hidden: "" }));
function leave() {
  tip.hidden = true;
  for (const c of charts) c.view.overlay.replaceChildren();
}
function move(c, e) {
  const step = stepAt(c, e);
  for (const other of charts) {
    const v = other.view;
    v.overlay.replaceChildren(sv("line", { class: "cross", x1: v.x(step), x2: v.x(step), y1: v.T, y2: v.T + v.plot }));
    if (other === c && state.drag) {
      const a = Math.min(v.x(state.drag.from), v.x(step)), b = Math.max(v.x(state.drag.from), v.x(step));
      v.overlay.append(sv("rect", { class: "band", x: a, width: b - a, y: v.T, height: v.plot }));
    }
    for (const i of v.shown) {
      const p = nearest(other.data[i].line, step);
      if (p && p[0] >= v.x0 && p[0] <= v.x1 && Number.isFinite(v.y(p[1])))
        v.overlay.append(sv("circle", { class: "dot now", style: hue(i), cx: v.x(p[0]), cy: v.y(p[1]), r: 4 }));
    }
  }
  tip.replaceChildren(el("b", {}, "step " + group(step)));
  for (const i of c.view.shown) {
    const p = nearest(c.data[i].line, step);
    if (!p) continue;
    tip.append(el("i", { class: "chip", style: hue(i) }), el("div", {}, runs[i].name), el("span", {}, c.print(p[1])));
    const extra = [];
    if (p[0] !== step) extra.push("at step " + group(p[0]));
    const d = nearest(c.data[i].dots, step);
    if (d) extra.push(`${c.dotName} ${c.print(d[1])} at ${group(d[0])}`);
    const peak = nearest(c.data[i].dashed, step);
    if (peak) extra.push("at most " + c.print(peak[1]));
    const skip = runs[i].skipped.find(s => s[0] === step);
    if (skip) extra.push("skipped: " + skip[1]);
    if (runs[i].checkpoints.includes(step)) extra.push("checkpoint");
    if (runs[i].resumed.includes(step)) extra.push("resumed after this step");
    for (const line of extra) tip.append(el("em", {}, line));
  }
  tip.hidden = false;
  const right = e.clientX + 16 + tip.offsetWidth > innerWidth;
  tip.style.left = Math.max(4, right ? e.clientX - 14 - tip.offsetWidth : e.clientX + 16) + "px";
  tip.style.top = Math.min(e.clientY + 14, innerHeight - tip.offsetHeight - 6) + "px";
}
function drawAll() {
  tip.hidden = true;
  reset.hidden = !state.zoom;
  for (const c of charts) draw(c);
}

const host = document.getElementById("charts"), tools = document.getElementById("tools");
for (const c of charts) {
  c.svg = el("div", {});
  c.box = el("section", { class: "panel chart" + (c.full ? " full" : "") },
    el("h2", {}, c.title, el("small", {}, [c.unit, c.log ? "logarithmic" : null].filter(Boolean).join(", "))), c.svg);
  host.append(c.box);
}
const reset = el("button", { hidden: "", onclick: () => { state.zoom = null; drawAll(); } }, "Show all steps");
const amount = el("input", { type: "range", min: 0, max: 0.98, step: 0.02, value: state.smooth, "aria-label": "Smoothing",
  oninput: () => { state.smooth = Number(amount.value); drawAll(); } });
tools.append(el("label", {}, "smoothing", amount));
for (const c of charts.filter(c => c.logs)) {
  const box = el("input", { type: "checkbox", onchange: () => { box.checked ? state.log.add(c.key) : state.log.delete(c.key); drawAll(); } });
  tools.append(el("label", {}, box, c.title.toLowerCase() + " logarithmic"));
}
tools.append(reset);
const sample = (...shapes) => sv("svg", { width: 18, height: 12, viewBox: "0 0 18 12", style: "--hue: var(--soft)" }, ...shapes);
const keys = el("span", { class: "keys" });
if (runs.some(r => r.series.eval_loss)) keys.append(el("span", { class: "key" }, sample(sv("circle", { class: "dot", cx: 9, cy: 6, r: 3.6 })), "validation"));
if (runs.some(r => r.checkpoints.length)) keys.append(el("span", { class: "key" }, sample(sv("path", { class: "mark", d: "M9 2l4.2 7.4h-8.4z" })), "checkpoint"));
if (runs.some(r => r.skipped.length)) keys.append(el("span", { class: "key" }, sample(sv("line", { class: "skipped", x1: 9, x2: 9, y1: 1, y2: 11 })), "skipped step"));
if (runs.some(r => r.resumed.length)) keys.append(el("span", { class: "key" }, sample(sv("line", { class: "again", x1: 9, x2: 9, y1: 0, y2: 12 })), "resumed"));
keys.append(el("span", {}, "drag: zoom"));
tools.append(keys);
for (const b of document.querySelectorAll(".run"))
  b.addEventListener("click", () => {
    const i = Number(b.dataset.run);
    state.hidden.has(i) ? state.hidden.delete(i) : state.hidden.add(i);
    b.setAttribute("aria-pressed", String(!state.hidden.has(i)));
    drawAll();
  });
let waiting = 0;
addEventListener("resize", () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(drawAll); });
drawAll();
)js";
