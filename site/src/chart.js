// How EOPs and bytes grow with one length: both axes logarithmic, drawn as SVG.

const NS = "http://www.w3.org/2000/svg";
const HIGH = 260, LEFT = 56, RIGHT = 64, TOP = 14, BOTTOM = 34;

function node(name, attributes, ...children) {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function short(value) {
  const n = Number(value);
  if (!Number.isFinite(n)) return String(value);
  if (n < 10_000) return n.toLocaleString("en");
  const scaled = (power) => Number((n / 10 ** (3 * power)).toPrecision(3));
  const least = Math.floor(Math.log10(n) / 3);
  const power = scaled(least) >= 1000 ? least + 1 : least; // 999,999 is 1 M
  const unit = ["", "k", "M", "G", "T", "P", "E"][power];
  return unit === undefined ? n.toExponential(1) : `${scaled(power)} ${unit}`;
}

const MOST_TICKS = 6;

// Powers of ten around the values, each so many apart that there are few; 1, 2 and 5 of each where values lie close.
function roundTicks(least, most) {
  const power = (value) => Number(`1e${value}`);
  const [low, high] = [Math.floor(Math.log10(least) + 1e-9), Math.max(Math.ceil(Math.log10(most) - 1e-9), Math.floor(Math.log10(least) + 1e-9) + 1)];
  if (high - low <= 1) {
    const near = [1, 2, 5, 10].map((part) => part * power(low));
    const first = near.findLastIndex((tick) => tick <= least), last = near.findIndex((tick) => tick >= most);
    return near.slice(Math.max(0, first), Math.max(last, first + 1) + 1);
  }
  const step = Math.ceil((high - low) / (MOST_TICKS - 1));
  const count = Math.ceil((high - low) / step);
  return Array.from({ length: count + 1 }, (_, k) => power(low + k * step));
}

const FIGURES = [["EOPs", "eops"], ["bytes", "bytes"]];

export function chart(rows, name, shown = FIGURES, unit = "") {
  const series = shown
    .map(([title, key]) => [title, key, rows.filter((row) => Number(row[key]) > 0).map((row) => [row.at, Number(row[key])])])
    .filter(([, , points]) => points.length);
  const all = series.flatMap(([, , points]) => points);
  // As wide as its place, so that letters keep their size on a phone.
  const WIDE = Math.min(Math.max((document.getElementById("result")?.clientWidth ?? 600) - 40, 260), 560);
  const svg = node("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "chart", role: "img", "aria-label": `growth with ${name}: ${series.map(([title]) => title).join(" and ")}` });
  if (!all.length) return svg;
  const xs = rows.map((row) => Math.log2(row.at));
  const ticks = roundTicks(Math.min(...all.map(([, y]) => y)), Math.max(...all.map(([, y]) => y)));
  const [x0, x1] = [Math.min(...xs), Math.max(...xs, 1)];
  const [y0, y1] = [Math.log2(ticks[0]), Math.log2(ticks.at(-1))];
  const x = (v) => LEFT + ((Math.log2(v) - x0) / (x1 - x0)) * (WIDE - LEFT - RIGHT);
  const y = (v) => HIGH - BOTTOM - ((Math.log2(v) - y0) / (y1 - y0 || 1)) * (HIGH - TOP - BOTTOM);
  for (const tick of ticks) {
    svg.append(node("line", { x1: LEFT, x2: WIDE - RIGHT, y1: y(tick), y2: y(tick), class: "grid" }));
    svg.append(node("text", { x: LEFT - 8, y: y(tick) + 4, class: "tick", "text-anchor": "end" }, short(tick)));
  }
  for (const { at } of rows.filter((_, k) => k % 2 === 0)) {
    svg.append(node("text", { x: x(at), y: HIGH - BOTTOM + 18, class: "tick", "text-anchor": "middle" }, at.toLocaleString("en")));
  }
  svg.append(node("text", { x: (LEFT + WIDE - RIGHT) / 2, y: HIGH - 2, class: "axis", "text-anchor": "middle" }, name));
  let last = -Infinity;
  for (const [title, key, points] of series.toSorted((one, other) => other[2].at(-1)[1] - one[2].at(-1)[1])) {
    svg.append(node("polyline", { points: points.map(([a, b]) => `${x(a)},${y(b)}`).join(" "), class: `series ${key}` }));
    for (const [a, b] of points) {
      svg.append(node("circle", { cx: x(a), cy: y(b), r: 2.6, class: `series ${key}` }, node("title", {}, `${name} = ${a}: ${b.toLocaleString("en")} ${unit || title}`)));
    }
    const [a, b] = points.at(-1);
    const at = Math.max(y(b), last + 14); // labels from the highest down, none on another
    last = at;
    svg.append(node("text", { x: x(a) + 8, y: at + 4, class: `label ${key}` }, title));
  }
  return svg;
}
