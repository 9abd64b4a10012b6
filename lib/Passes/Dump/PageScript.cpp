//===- PageScript.cpp - script of the IR page ------------------------------===//
#include "DumpPage.h"

const char *const dsc::pageScript = R"js("use strict";
const stages = JSON.parse(document.getElementById("stages").textContent);
const programs = JSON.parse(document.getElementById("memory").textContent);
const phases = { import: "Import", training: "Training", precision: "Precision", parallel: "Parallel", lowering: "Lowering", plan: "Plan", kernels: "Kernels" };
const texts = new Map();
function linesOf(i) {
  if (!texts.has(i)) {
    const raw = document.getElementById("ir-" + i).textContent.replace(/<\\([\/!])/g, "<$1").replace(/\n+$/, "");
    texts.set(i, raw.split("\n"));
  }
  return texts.get(i);
}
function el(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes || {}))
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else if (v !== null && v !== undefined) e.setAttribute(k, v);
  e.append(...children.filter(c => c !== null && c !== undefined));
  return e;
}
const group = n => n.toLocaleString("en-US");
const time = ms => ms < 0.95 ? ms.toFixed(1) + " ms" : ms < 1000 ? Math.round(ms) + " ms" : (ms / 1000).toFixed(1) + " s";
function bytes(n) {
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (n < 1024 || unit === "GiB") return (unit === "B" ? n : n.toFixed(n < 10 ? 2 : 1)) + " " + unit;
    n /= 1024;
  }
}
const total = s => Object.values(s.ops).reduce((a, b) => a + b, 0);
const plural = (n, word) => group(n) + " " + word + (n === 1 ? "" : "s");

// Colouring. One expression; the first group that matched names the class.
const token = /(\/\/.*)|("(?:[^"\\]|\\.)*")|(%[\w.$-]+(?:#\d+)?)|(@"[^"]*"|@[\w.$-]+)|((?:tensor|memref|vector)<(?:[^<>]|<[^<>]*>)*>|\b[if](?:1|8|16|32|64)\b|\bindex\b)|\b((?:ds|plan|func|arith|math|vector|scf|memref|llvm|cf|builtin)\.[\w.]+|return|module)\b|(-?\b\d[\d.]*(?:[eE][-+]?\d+)?\b)/g;
const classes = ["co", "st", "v", "sy", "ty", "op", "nu"];
const html = s => s.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
function colour(line) {
  let out = "", at = 0;
  for (const m of line.matchAll(token)) {
    let k = 1;
    while (m[k] === undefined) ++k;
    out += html(line.slice(at, m.index)) + `<span class="${classes[k - 1]}">${html(m[0])}</span>`;
    at = m.index + m[0].length;
  }
  return out + html(line.slice(at));
}
function row(number, line, kind, inner) {
  const e = el("div", { class: "ln " + (kind || "") });
  e.innerHTML = `<u>${number}</u><span>${inner === undefined ? colour(line) : inner}</span>`;
  return e;
}

// A click on a value marks every place where it occurs.
const marked = document.head.appendChild(el("style"));
let markedName = "";
document.addEventListener("click", event => {
  if (!event.target.classList || !event.target.classList.contains("v")) return;
  const name = event.target.textContent.replace(/#\d+$/, "");
  markedName = markedName === name ? "" : name;
  for (const v of document.querySelectorAll(".v"))
    v.style.background = markedName && v.textContent.replace(/#\d+$/, "") === markedName
      ? "color-mix(in srgb, var(--value) 28%, transparent)" : "";
  event.stopPropagation();
});

// IR with folds: regions, and runs of equal declarations.
function outline(lines, from, to) {
  const items = [];
  for (let i = from; i < to;) {
    const indent = lines[i].search(/\S/);
    if (/\{\s*$/.test(lines[i]) && !/^\s*\^/.test(lines[i])) {
      let end = i + 1;
      while (end < to && !(lines[end].search(/\S/) === indent && lines[end].trim().startsWith("}"))) ++end;
      items.push({ head: i, from: i + 1, to: end, end: end });
      i = end + 1;
      continue;
    }
    const declared = /^\s*(?:%[\w.$-]+ = )?(ds\.variable \w+|ds\.hyperparameter|ds\.read|plan\.buffer "[^"]*" \w+)/.exec(lines[i]);
    if (declared) {
      const kind = declared[1].replace(/ "[^"]*"/, "");
      let end = i;
      while (end < to) {
        const next = /^\s*(?:%[\w.$-]+ = )?(ds\.variable \w+|ds\.hyperparameter|ds\.read|plan\.buffer "[^"]*" \w+)/.exec(lines[end]);
        if (!next || next[1].replace(/ "[^"]*"/, "") !== kind) break;
        ++end;
      }
      if (end - i > 8) {
        items.push({ run: kind, from: i, to: end });
        i = end;
        continue;
      }
    }
    items.push({ line: i });
    ++i;
  }
  return items;
}
function showOutline(parent, lines, from, to, depth, openBelow) {
  for (const item of outline(lines, from, to)) {
    if (item.line !== undefined) {
      parent.append(row(item.line + 1, lines[item.line]));
      continue;
    }
    const isRun = item.run !== undefined, count = item.to - item.from;
    const at = isRun ? item.from : item.head;
    const head = row(at + 1, lines[at], "head");
    if (isRun) head.lastChild.innerHTML = html(lines[at].match(/^\s*/)[0]) + `<span class="op">${html(item.run)}</span>`;
    head.append(el("small", {}, isRun ? group(count) + " declarations" : plural(count, "line")));
    const body = el("div", { hidden: "" });
    let filled = false;
    const toggle = open => {
      if (open && !filled) {
        filled = true;
        if (isRun) for (let i = item.from; i < item.to; ++i) body.append(row(i + 1, lines[i]));
        else {
          showOutline(body, lines, item.from, item.to, depth + 1, openBelow);
          if (item.end < lines.length) body.append(row(item.end + 1, lines[item.end]));
        }
      }
      body.hidden = !open;
      head.classList.toggle("open", open);
    };
    head.addEventListener("click", () => toggle(body.hidden));
    parent.append(head, body);
    if (!isRun && count <= openBelow(depth)) toggle(true);
  }
}
function showText(i) {
  const lines = linesOf(i), box = el("div", { class: "lines" }), small = lines.length < 500;
  const kernels = stages[i].phase === "kernels"; // folded by kernel
  showOutline(box, lines, 0, lines.length, 0, depth =>
    depth === 0 ? Infinity : kernels ? (depth === 1 ? 0 : 200) : small ? Infinity : depth === 1 ? 1200 : 60);
  return el("div", { class: "code" }, box);
}

// Changes against the stage before.
function marks(a, b) {
  const least = Math.min(a.length, b.length);
  let p = 0, s = 0;
  while (p < least && a[p] === b[p]) ++p;
  while (s < least - p && a[a.length - 1 - s] === b[b.length - 1 - s]) ++s;
  if (p + s < least * 0.4) return null;
  const cut = t => html(t.slice(0, p)) + "<mark>" + html(t.slice(p, t.length - s)) + "</mark>" + html(t.slice(t.length - s));
  return [cut(a), cut(b)];
}
function showDiff(i) {
  const stage = stages[i], before = linesOf(i - 1), after = linesOf(i), box = el("div", { class: "lines" });
  let a = 0, b = 0, shown = 0;
  const work = [];
  stage.diff.forEach(([equal, removed, added], r) => {
    const top = r === 0 ? 0 : 3, last = r === stage.diff.length - 1 && !removed && !added, bottom = last ? 0 : 3;
    if (equal <= top + bottom + 4) work.push({ same: equal, b });
    else {
      if (top) work.push({ same: top, b });
      work.push({ hidden: equal - top - bottom, b: b + top });
      if (bottom) work.push({ same: bottom, b: b + equal - bottom });
    }
    a += equal; b += equal;
    if (removed || added) work.push({ removed, added, a, b });
    a += removed; b += added;
  });
  const emit = (parent, item) => {
    if (item.same) for (let k = 0; k < item.same; ++k) parent.append(row(item.b + k + 1, after[item.b + k], "same"));
    if (item.hidden) {
      const bar = el("button", { class: "fold", onclick: () => {
        const all = document.createDocumentFragment();
        for (let k = 0; k < item.hidden; ++k) all.append(row(item.b + k + 1, after[item.b + k], "same"));
        bar.replaceWith(all);
      } }, "⋯ " + plural(item.hidden, "unchanged line"));
      parent.append(bar);
    }
    if (item.removed === undefined) return;
    const pairs = item.removed === item.added ? [...Array(item.removed).keys()].map(k => marks(before[item.a + k], after[item.b + k])) : [];
    for (let k = 0; k < item.removed; ++k)
      parent.append(row(item.a + k + 1, before[item.a + k], "rem", pairs[k] ? pairs[k][0] : undefined));
    for (let k = 0; k < item.added; ++k)
      parent.append(row(item.b + k + 1, after[item.b + k], "add", pairs[k] ? pairs[k][1] : undefined));
  };
  const step = parent => {
    let budget = 1500;
    while (shown < work.length && budget > 0) {
      const item = work[shown];
      const size = (item.removed || 0) + (item.added || 0);
      if (size > budget && size > 300) { // a long run is shown in pieces: removals first
        const piece = { a: item.a, b: item.b, removed: Math.min(item.removed, budget), added: 0 };
        if (item.removed === 0) { piece.removed = 0; piece.added = Math.min(item.added, budget); }
        emit(parent, piece);
        item.a += piece.removed; item.removed -= piece.removed;
        item.b += piece.added; item.added -= piece.added;
        budget = 0;
        break;
      }
      emit(parent, item);
      budget -= size + (item.same || 0) + 1;
      ++shown;
    }
    if (shown < work.length) {
      const more = el("button", { class: "fold", onclick: () => { more.remove(); step(parent); } }, "Show more changes");
      parent.append(more);
    }
  };
  if (!work.some(w => w.removed || w.added)) return el("div", { class: "none" }, "This pass changed nothing: it checks what holds here.");
  step(box);
  return el("div", { class: "code diff" }, box);
}

// Where the bytes of a program lie while it runs.
function hueOf(name) {
  const layer = /^h\.(\d+)/.exec(name);
  if (layer) return (200 + 37 * Number(layer[1])) % 360;
  return name.startsWith("head") ? 20 : name.startsWith("embedding") ? 140 : 265;
}
function showMemory() {
  const box = el("div", { class: "map" }), pick = el("select", { "aria-label": "Program" });
  programs.forEach((p, k) => pick.append(el("option", { value: k }, "@" + p.name)));
  const note = el("span", {}), picture = el("div", {});
  const draw = () => {
    const p = programs[pick.value], W = 1400, H = 560, L = 74, B = 30, steps = p.labels.length || 1;
    let low = Infinity, high = 0;
    for (const b of p.buffers) { low = Math.min(low, b[4]); high = Math.max(high, b[4] + b[5]); }
    const live = new Float64Array(steps + 1);
    for (const b of p.buffers) for (let t = b[2]; t <= Math.min(b[3], steps); ++t) live[t] += b[5];
    const bound = Math.max(...live), span = Math.max(1, high - low);
    const x = t => L + (W - L - 8) * t / steps, y = o => H - B - (H - B - 12) * (o - low) / span;
    let svg = `<svg viewBox="0 0 ${W} ${H}" preserveAspectRatio="none">`;
    for (let k = 0; k <= 4; ++k) {
      const at = y(low + span * k / 4);
      svg += `<line x1="${L}" x2="${W - 8}" y1="${at}" y2="${at}"/><text x="${L - 8}" y="${at + 4}" text-anchor="end">${bytes(span * k / 4)}</text>`;
    }
    p.buffers.forEach((b, k) => {
      const tone = /backward/.test(b[0]) ? "58%" : "70%";
      svg += `<rect class="b" data-b="${k}" x="${x(b[2])}" width="${Math.max(1, x(b[3] + 1) - x(b[2]))}" y="${y(b[4] + b[5])}" ` +
        `height="${Math.max(0.6, y(b[4]) - y(b[4] + b[5]))}" fill="hsl(${hueOf(b[0])} 52% ${tone})"/>`;
    });
    for (let k = 0; k <= 6; ++k) {
      const t = Math.round(steps * k / 6);
      svg += `<text x="${x(t)}" y="${H - 10}" text-anchor="${k === 6 ? "end" : k ? "middle" : "start"}">${k === 6 ? "instruction " : ""}${group(t)}</text>`;
    }
    picture.innerHTML = svg + "</svg>";
    note.textContent = `${plural(p.buffers.length, "buffer")} in ${bytes(span)}; at most ${bytes(bound)} are alive at one instruction ` +
      `(${(100 * bound / span).toFixed(1)} % of the region).`;
  };
  pick.addEventListener("change", draw);
  const tip = el("div", { class: "tip", hidden: "" });
  picture.addEventListener("mousemove", e => {
    const k = e.target.getAttribute && e.target.getAttribute("data-b");
    tip.hidden = k === null || k === undefined;
    if (tip.hidden) return;
    const p = programs[pick.value], b = p.buffers[k];
    tip.textContent = `${b[0]} (${b[1]}), ${bytes(b[5])} at ${group(b[4])}\nfrom ${b[2]}: ${p.labels[b[2]] || "end"}\nto ${b[3]}: ${p.labels[b[3]] || "end"}`;
    tip.style.left = Math.min(e.clientX + 14, innerWidth - 430) + "px";
    tip.style.top = e.clientY + 16 + "px";
  });
  picture.addEventListener("mouseleave", () => { tip.hidden = true; });
  const p = el("p", {}, pick, note);
  box.append(p, picture, tip);
  draw();
  return box;
}

const ribbon = document.getElementById("ribbon"), main = document.getElementById("stage");
let current = -1, view = "";
function change(now, was) {
  if (was === undefined || now === was) return null;
  return el("em", { class: now > was ? "up" : "down" }, (now > was ? "+" : "−") + group(Math.abs(now - was)));
}
function bars(stage, before) {
  const box = el("div", { class: "bars" });
  const names = Object.keys(stage.ops).sort((a, b) => stage.ops[b] - stage.ops[a] || (a < b ? -1 : 1)).slice(0, 9);
  const most = names.length ? stage.ops[names[0]] : 1;
  for (const name of names) {
    const bar = el("i", {});
    bar.style.width = Math.max(1, 100 * stage.ops[name] / most) + "%";
    box.append(el("code", {}, name), bar, el("b", {}, group(stage.ops[name])),
      (before && change(stage.ops[name], before.ops[name] || 0)) || el("em", {}));
  }
  return box;
}
function show(i, wanted) {
  const stage = stages[i], before = stage.diff ? stages[i - 1] : null;
  const views = [];
  if (stage.diff) views.push(["changes", "Changes"]);
  views.push(["ir", "IR"]);
  if (programs.length && stage.phase === "plan" && /memory|verify/.test(stage.name)) views.push(["memory", "Memory"]);
  current = i;
  view = views.some(v => v[0] === wanted) ? wanted : stage.name === "plan-assign-memory" && wanted !== "ir" ? "memory" : views[0][0];
  const n = total(stage), was = before ? total(before) : undefined, lines = linesOf(i).length;
  let removed = 0, added = 0;
  for (const r of stage.diff || []) { removed += r[1]; added += r[2]; }
  const figure = (name, ...value) => el("div", {}, el("dt", {}, name), el("dd", {}, ...value));
  const panel = el("section", { class: "panel" },
    el("div", { class: "about" },
      el("div", {}, el("h2", {}, stage.name), el("p", {}, stage.summary + "."),
        el("dl", { class: "figures" }, figure("time", time(stage.ms)),
          figure("ops", group(n) + " ", change(n, was)), figure("lines", group(lines)),
          stage.diff ? figure("changed lines", el("span", { class: "up" }, "+" + group(added)), " ", el("span", { class: "down" }, "−" + group(removed))) : null)),
      bars(stage, before)),
    el("div", { class: "tabs", role: "tablist" },
      ...views.map(([id, name]) => el("button", { role: "tab", "aria-selected": String(id === view), onclick: () => go(i, id) }, name)),
      el("span", { class: "right" }, el("span", {}, "← → between passes"), el("a", { href: stage.file }, stage.file))),
    view === "changes" ? showDiff(i) : view === "memory" ? showMemory() : showText(i));
  panel.style.setProperty("--hue", `var(--${stage.phase})`);
  main.replaceChildren(panel);
  for (const b of ribbon.querySelectorAll(".pass")) b.setAttribute("aria-current", String(Number(b.dataset.i) === i));
}
function go(i, wanted) { location.replace("#" + stages[i].name + (wanted ? "/" + wanted : "")); }
function follow() {
  const [name, wanted] = decodeURIComponent(location.hash.slice(1)).split("/");
  const i = stages.findIndex(s => s.name === name);
  show(i < 0 ? 0 : i, wanted || "");
}

ribbon.append(el("span", { class: "end" }, "model.json"));
for (const id of [...new Set(stages.map(s => s.phase))]) {
  const inside = stages.map((s, i) => [s, i]).filter(([s]) => s.phase === id);
  const card = el("section", { class: "phase" },
    el("h2", {}, el("b", {}, phases[id] || id), el("span", {}, "ops"), el("span", {}, time(inside.reduce((a, [s]) => a + s.ms, 0)))));
  card.style.setProperty("--hue", `var(--${id})`);
  for (const [s, i] of inside)
    card.append(el("button", { class: "pass", "data-i": i, title: s.summary, onclick: () => go(i) },
      el("code", {}, s.phase === "kernels" ? s.name.replace("kernels-", "") : s.name), el("span", {}, group(total(s))), el("span", {}, time(s.ms))));
  ribbon.append(el("span", { class: "arrow" }), card);
}
ribbon.append(el("span", { class: "arrow" }), el("span", { class: "end" }, "plan.bin"));
addEventListener("hashchange", follow);
addEventListener("keydown", e => {
  if (e.ctrlKey || e.metaKey || e.altKey || /SELECT|INPUT/.test(e.target.tagName)) return;
  const step = e.key === "ArrowRight" || e.key === "j" ? 1 : e.key === "ArrowLeft" || e.key === "k" ? -1 : 0;
  if (step && stages[current + step]) go(current + step, view);
});
follow();
)js";
