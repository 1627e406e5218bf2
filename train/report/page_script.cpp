#include "train/report/page_parts.h"

namespace brightnet {

// Texts of the content become text nodes, never markup.
const char* const page_script = R"js("use strict";
(() => {
const content = JSON.parse(document.getElementById("content").textContent);
const page = document.getElementById("page");
const NS = "http://www.w3.org/2000/svg";

function el(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes || {}))
    k === "style" ? e.style.cssText = v : e.setAttribute(k, v);
  for (const c of children) if (c !== null && c !== undefined) e.append(c);
  return e;
}
function svg(tag, attributes, text) {
  const e = document.createElementNS(NS, tag);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  if (text !== undefined) e.textContent = text;
  return e;
}
function show(v) {
  if (v === null || v === undefined) return "–";
  if (v === 0) return "0";
  const a = Math.abs(v);
  return a >= 1e5 || a < 1e-3 ? v.toExponential(2) : a >= 100 ? v.toFixed(1) : String(+v.toPrecision(4));
}

// Round ticks that lie within [low, high].
function ticks(low, high, count) {
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find(f => f * power >= rough * 0.999) || 10);
  const list = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) list.push(i * step);
  return list;
}
function logTicks(low, high) {
  const list = [];
  for (let p = 10 ** Math.floor(Math.log10(low)); p <= high; p *= 10)
    for (const f of high / low > 1000 ? [1] : [1, 2, 5])
      if (p * f >= low * 0.999 && p * f <= high * 1.001) list.push(p * f);
  return list;
}
function label(v) {
  const wide = Math.abs(v) >= 1e5 || (v !== 0 && Math.abs(v) < 1e-3);
  return wide ? v.toExponential(0) : String(+v.toPrecision(6));
}

// One plot: legend, axes, curves, and the values under the pointer. All panels of a section point together.
class Panel {
  constructor(spec, section, group) {
    this.spec = spec; this.section = section; this.group = group; this.hidden = new Set();
    this.xName = spec.x_name || section.x_name;
    this.box = el("div", {class: "panel"}, el("h3", {}, spec.title));
    this.box.append(this.legend());
    this.svg = svg("svg", {role: "img", "aria-label": spec.title});
    this.tip = el("div", {class: "tip"});
    this.box.append(this.svg, this.tip);
    if (spec.note) this.box.append(el("p", {class: "remark"}, spec.note));
    this.svg.addEventListener("pointermove",
      e => this.place && group.forEach(p => p.point(this.xAt(e), p === this)));
    this.svg.addEventListener("pointerleave", () => group.forEach(p => p.leave()));
    new ResizeObserver(() => {
      if (this.box.clientWidth !== this.drawn) requestAnimationFrame(() => this.draw());
    }).observe(this.box);
  }
  legend() {
    const curves = this.spec.curves;
    const button = (c, ...inside) => {
      const b = el("button", {type: "button", title: c.name + ": show or hide"}, ...inside);
      b.addEventListener("click", () => {
        this.hidden.has(c) ? this.hidden.delete(c) : this.hidden.add(c);
        b.classList.toggle("off"); this.draw();
      });
      return b;
    };
    if (this.spec.unit) {
      return el("div", {}, el("div", {class: "mark"}, el("i"), this.spec.mark_words),
        el("div", {class: "names"},
           ...curves.map(c => button(c, el("i", {style: "background:" + c.color}), c.name))));
    }
    const best = curves.some(c => c.best);
    const grid = el("div", {class: "legend"}, el("span"), el("span"),
                    el("span", {class: "head"}, best ? "best" : ""), el("span", {class: "head"}, "last"));
    for (const c of curves) {
      grid.append(el("i", {style: "background:" + c.color}), button(c, c.name),
                  el("b", {class: "value"}, c.best ? show(c.best[1]) : ""),
                  el("span", {class: "value"}, c.y.length ? show(c.y[c.y.length - 1]) : "–"));
    }
    return grid;
  }
  visible() { return this.spec.curves.filter(c => !this.hidden.has(c)); }
  range() {
    if (this.spec.unit) return {x: [0, 1], y: [0, 1]};
    let xs = [], ys = [];
    for (const p of this.group)
      for (const c of p.spec.curves) if (c.x.length) xs.push(c.x[0], c.x[c.x.length - 1]);
    for (const c of this.visible()) ys = ys.concat(c.y.filter(v => v !== null));
    let x0 = Math.min(...xs), x1 = Math.max(...xs), y0 = Math.min(...ys), y1 = Math.max(...ys);
    if (!(x0 <= x1)) [x0, x1] = [0, 1];
    if (!(y0 <= y1)) [y0, y1] = [0, 1];
    if (x0 === x1) x1 = x0 + 1;
    if (this.spec.log && y0 > 0) return {x: [x0, x1], y: [y0 * 0.95, y1 * 1.05]};
    if (y0 >= 0) y0 = 0;
    if (y0 === y1) y1 = y0 + 1;
    const room = (y1 - y0) * 0.04;
    return {x: [x0, x1], y: [y0 < 0 ? y0 - room : y0, y1 + room]};
  }
  draw() {
    const width = this.box.clientWidth, height = 230, left = 48, right = 12, top = 22, bottom = 40;
    this.drawn = width;
    if (width < 60) return;
    const s = this.svg, r = this.range(), log = this.spec.log && r.y[0] > 0;
    s.replaceChildren(); s.setAttribute("height", height); s.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const w = width - left - right, h = height - top - bottom;
    this.px = x => left + (x - r.x[0]) / (r.x[1] - r.x[0]) * w;
    this.py = log ? y => top + h - Math.log(y / r.y[0]) / Math.log(r.y[1] / r.y[0]) * h
                  : y => top + h - (y - r.y[0]) / (r.y[1] - r.y[0]) * h;
    this.place = {left, top, w, h, x: r.x};
    for (const t of log ? logTicks(...r.y) : ticks(...r.y, 5)) {
      s.append(svg("line", {x1: left, x2: left + w, y1: this.py(t), y2: this.py(t), stroke: "var(--grid)"}),
               svg("text", {x: left - 6, y: this.py(t) + 4, "text-anchor": "end"}, label(t)));
    }
    const whole = r.x[1] - r.x[0] >= 2 && !this.spec.unit;
    for (const t of ticks(...r.x, w > 300 ? 6 : 4)) {
      if (whole && t !== Math.round(t)) continue;
      s.append(svg("line", {x1: this.px(t), x2: this.px(t), y1: top, y2: top + h, stroke: "var(--rule)"}),
               svg("text", {x: this.px(t), y: top + h + 16, "text-anchor": "middle"}, label(t)));
    }
    s.append(svg("path", {d: `M${left} ${top}V${top + h}H${left + w}`, stroke: "var(--axis)", fill: "none"}),
             svg("text", {x: left + w / 2, y: height - 6, "text-anchor": "middle"},
                 this.xName + (log ? " (vertical scale logarithmic)" : "")));
    for (const x of (this.spec.grew || []).map(this.px)) {
      const line = svg("line", {x1: x, x2: x, y1: top, y2: top + h, stroke: "var(--grew)"});
      line.append(svg("title", {}, "the input became larger"));
      s.append(line);
    }
    const marked = this.section.marked;
    if (marked && marked >= r.x[0] && marked <= r.x[1]) {
      const x = this.px(marked), late = x > left + w / 2;
      s.append(svg("line", {x1: x, x2: x, y1: top, y2: top + h, stroke: "var(--best)", "stroke-dasharray": "4 4"}),
               svg("text", {x: late ? x + 4 : x - 4, y: top - 7, "text-anchor": late ? "end" : "start"},
                   "best epoch " + marked));
    }
    for (const c of this.visible()) {
      let d = "", pen = "M";
      c.y.forEach((y, i) => {
        if (y === null) return;
        d += pen + this.px(c.x[i]).toFixed(1) + " " + this.py(y).toFixed(1);
        pen = "L";
      });
      const width = c.wide ? 3 : 1.8;
      if (d) s.append(svg("path", {d, stroke: c.color, fill: "none", "stroke-width": width, "stroke-linejoin": "round"}));
      if (c.x.length * 14 < w) c.x.forEach((x, i) => c.y[i] !== null &&
        s.append(svg("circle", {cx: this.px(x), cy: this.py(c.y[i]), r: 2.4, fill: c.color})));
      if (c.best) this.ring(c.best, c.color, 4);
    }
    if (this.spec.mark) this.ring(this.spec.mark, "#d5283c", 5);
    this.cross = svg("g", {}); s.append(this.cross);
  }
  ring([x, y], color, r) {
    this.svg.append(svg("circle", {cx: this.px(x), cy: this.py(y), r, fill: "var(--paper)", stroke: color, "stroke-width": 2}));
  }
  xAt(e) {
    const b = this.svg.getBoundingClientRect(), {left, w, x} = this.place;
    return x[0] + (e.clientX - b.left - left) / w * (x[1] - x[0]);
  }
  point(x, own) {
    if (!this.place || (this.spec.unit && !own)) return this.leave();
    this.cross.replaceChildren();
    const near = [];
    for (const c of this.visible()) {
      let best = -1;
      c.x.forEach((v, i) => {
        if (c.y[i] !== null && (best < 0 || Math.abs(v - x) < Math.abs(c.x[best] - x))) best = i;
      });
      if (best >= 0) near.push([c, c.x[best], c.y[best]]);
    }
    if (!near.length) return;
    const at = near.reduce((a, b) => Math.abs(b[1] - x) < Math.abs(a[1] - x) ? b : a)[1];
    const px = this.px(at), {top, h, left, w} = this.place;
    this.cross.append(svg("line", {x1: px, x2: px, y1: top, y2: top + h, stroke: "var(--ink)", "stroke-width": 1}));
    for (const [c, cx, cy] of near)
      this.cross.append(svg("circle", {cx: this.px(cx), cy: this.py(cy), r: 3.5, fill: c.color, stroke: "var(--paper)"}));
    if (!own) { this.tip.style.display = "none"; return; }
    const rows = near.length > 12 ? [...near].sort((a, b) => b[2] - a[2]).slice(0, 12) : near;
    this.tip.replaceChildren(el("div", {}, `${this.xName} ${show(at)}`), ...rows.map(([c, cx, cy]) =>
      el("div", {}, el("i", {style: "background:" + c.color}),
         `${c.name}  ${show(cy)}` + (cx !== at ? ` (at ${show(cx)})` : ""))));
    this.tip.style.display = "block";
    const t = this.tip.offsetWidth, room = px + 12 + t <= this.box.clientWidth;
    this.tip.style.left = Math.max(0, room ? px + 12 : px - 12 - t) + "px";
    this.tip.style.top = this.svg.offsetTop + top + "px";
  }
  leave() { if (this.cross) this.cross.replaceChildren(); this.tip.style.display = "none"; }
}

function shade(share, background) {
  const a = Math.sqrt(Math.min(1, share));
  const to = background ? [205, 95, 25] : [33, 100, 170];
  return `rgba(${to.join(",")},${a.toFixed(3)})`;
}
function matrix(s) {
  const n = s.names.length, sum = list => list.reduce((a, b) => a + b, 0);
  const byTruth = [...Array(n + 1).keys()].map(t => sum(s.rows.map(r => r[t])));
  const table = el("table", {class: "matrix"});
  table.append(el("tr", {}, el("th", {}, "detected as ↓   labelled as →"), ...s.names.map(v => el("th", {}, v)),
                  el("th", {class: "apart background"}, "false alarm")));
  s.rows.forEach((row, p) => {
    const missed = p === n;
    const line = el("tr", missed ? {class: "apart"} : {},
                    el("th", missed ? {class: "background"} : {}, missed ? "missed" : s.names[p]));
    row.forEach((count, t) => {
      if (p === n && t === n) return line.append(el("td", {style: "background:var(--page)"}));
      const total = t === n ? sum(row) : byTruth[t], share = total ? count / total : 0, back = p === n || t === n;
      const ink = count === 0 ? "var(--off)" : share > (back ? 0.9 : 0.6) ? "#fff" : "var(--ink)";
      const style = `background:${shade(share, back)};color:${ink}`;
      line.append(el("td", {style, class: t === n ? "apart" : ""}, el("b", {}, String(count)),
                     count ? el("small", {}, Math.round(100 * share) + " %") : null));
    });
    table.append(line);
  });
  return el("div", {class: "scroll"}, table);
}

const panels = [];
const draws = {
  tiles: s => s.items.map(([name, value]) => el("div", {class: "tile"}, el("b", {}, value), el("span", {}, name))),
  sentences: s => s.items.map(t => el("p", {}, t)),
  panels: s => { const group = []; for (const p of s.panels) group.push(new Panel(p, s, group));
                 panels.push(...group);
                 return [el("div", {class: "grid"}, ...group.map(p => p.box))]; },
  confusion: s => [matrix(s)],
  table: s => [el("div", {class: "scroll"}, el("table", {class: "wide"},
    el("tr", {}, ...s.head.map(h => el("th", {}, h))),
    ...s.rows.map(r => el("tr", {}, ...r.map(c => el("td", {title: c}, c))))))],
  facts: s => [el("dl", {class: "facts"}, ...s.items.flatMap(([k, v]) => [el("dt", {}, k), el("dd", {}, v)]))],
  picture: s => { const box = el("div", {class: "picture"}, el("img", {src: s.source, alt: s.title}));
                  box.addEventListener("click", () => box.classList.toggle("whole")); return [box]; },
  text: s => [el("details", {}, el("summary", {}, s.title), el("pre", {}, s.text))],
};
// What is narrow shares a row with what follows it, where that is narrow as well.
const narrow = s => s.kind === "facts" || (s.kind === "table" && s.head.length <= 9 && s.rows.length <= 12 &&
  s.rows.every(r => r.join("").length < 90)) || (s.kind === "confusion" && s.names.length <= 7);
function placeOf(s) {
  const i = content.sections.indexOf(s);
  let run = 0;
  for (let k = i; k >= 0 && narrow(content.sections[k]); --k) ++run;
  const next = content.sections[i + 1];
  return run > 0 && (run % 2 === 0 || (next && narrow(next))) ? "half" : "";
}
page.replaceChildren(el("header", {}, el("h1", {}, content.title), el("p", {class: "subtitle"}, content.subtitle)));
for (const s of content.sections) {
  const section = el("section", {class: s.kind === "tiles" || s.kind === "sentences" ? s.kind : placeOf(s)});
  if (s.title && s.kind !== "text") section.append(el("h2", {}, s.title));
  if (s.note) section.append(el("p", {class: "note"}, s.note));
  section.append(...draws[s.kind](s));
  page.append(section);
}
for (const p of panels) p.draw();
page.append(el("footer", {}, "Made by brightnet. Hover over curves for their values; " +
  "click a name in a legend to hide its curve, and a picture to see it at full size."));
})();
)js";

}  // namespace brightnet
