// Charts, drawn as SVG: lines on logarithmic axes, an area over an order, a roof over points.

// A chart is as wide as its place in pixels, so that letters have one size everywhere.
const FRAME = { wide: 560, high: 270, left: 62, right: 108, top: 14, bottom: 36 };
const LETTER = 7.6; // the width of a letter of a label

function scale(low, high, from, to) {
  const span = high - low || 1;
  return (value) => from + ((value - low) / span) * (to - from);
}

// To the right there is room for the longest of some names, up to a third of the chart.
function frame(label, wide, names = []) {
  FRAME.wide = Math.max(wide || 560, 280);
  const longest = 16 + LETTER * Math.max(0, ...names.map((name) => name.length));
  FRAME.right = Math.max(108, Math.min(longest, FRAME.wide / 3));
  return drawn("svg", { viewBox: `0 0 ${FRAME.wide} ${FRAME.high}`, width: FRAME.wide, height: FRAME.high, class: "chart", role: "img", "aria-label": label });
}

const right = () => FRAME.wide - FRAME.right,
  ground = () => FRAME.high - FRAME.bottom;
const told = (text) => drawn("title", {}, text);

// Round numbers are written without a place behind the point.
const tickText = (say, tick) => say(tick).replace(/\.0+(?!\d)/, "");

function axis(svg, ticks, place, name, say = short) {
  for (const tick of ticks) {
    svg.append(drawn("line", { x1: FRAME.left, x2: right(), y1: place(tick), y2: place(tick), class: "grid" }));
    svg.append(
      drawn("text", { x: FRAME.left - 8, y: place(tick) + 4, class: "tick", "text-anchor": "end" }, tickText(say, tick)),
    );
  }
  svg.append(drawn("text", { x: FRAME.left, y: 9, class: "axis" }, name));
}

function below(svg, ticks, place, name, say = short) {
  for (const tick of ticks)
    svg.append(drawn("text", { x: place(tick), y: ground() + 17, class: "tick", "text-anchor": "middle" }, tickText(say, tick)));
  svg.append(
    drawn("text", { x: (FRAME.left + right()) / 2, y: FRAME.high - 3, class: "axis", "text-anchor": "middle" }, name),
  );
}

function powers(low, high, most) {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const step = Math.max(1, Math.ceil((last - first) / most));
  return Array.from({ length: Math.ceil((last - first) / step) + 1 }, (_, k) => 10 ** (first + k * step));
}

// At most five steps of 1, 2 or 5 times a power of ten.
function evenly(most) {
  const power = 10 ** Math.floor(Math.log10(most / 5));
  const step = [1, 2, 5, 10].map((n) => n * power).find((one) => most / one <= 5);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, k) => k * step);
}

// Labels at the ends of lines, moved apart where they would overlap.
function spread(wanted, gap = 13) {
  const order = wanted.map((y, place) => [y, place]).sort((a, b) => a[0] - b[0]);
  order.forEach((one, k) => {
    if (k && one[0] - order[k - 1][0] < gap) one[0] = order[k - 1][0] + gap;
  });
  const over = Math.max(0, (order.at(-1)?.[0] ?? 0) - ground());
  return order
    .map(([y, place]) => [place, y - over])
    .sort((a, b) => a[0] - b[0])
    .map(([, y]) => y);
}

// Powers of two at equal distances, or of few values those that have room.
function lengthTicks(values, x) {
  const [low, high] = [Math.ceil(Math.log2(values[0])), Math.floor(Math.log2(values.at(-1)))];
  const step = Math.max(1, Math.ceil(56 / Math.max(x(2) - x(1), 1)));
  const found = [];
  for (let k = Math.ceil(low / step) * step; k <= high; k += step) found.push(2 ** k);
  if (found.length > 2) return found;
  let last = -Infinity;
  return values.filter((n) => x(n) - last >= 56 && ((last = x(n)), true));
}

// Lines over a length, both axes logarithmic.  series: {name, colour, points: [[x, y]]}, marks: {at, label, text}.
function lineChart(series, { name, unit, now, wide, say = short, marks = [] }) {
  const svg = frame(`${unit} with ${name}`, wide, series.map((one) => one.name));
  const most = Math.floor((FRAME.right - 10) / LETTER);
  const points = series.flatMap((one) => one.points).filter(([, y]) => y > 0);
  if (!points.length) return svg;
  const xs = points.map(([x]) => x),
    ys = points.map(([, y]) => y);
  const ticks = powers(Math.min(...ys), Math.max(...ys, Math.min(...ys) * 10), 5);
  const log = scale(Math.log10(Math.min(...xs)), Math.log10(Math.max(...xs)), FRAME.left, right());
  const height = scale(Math.log10(ticks[0]), Math.log10(ticks.at(-1)), ground(), FRAME.top + 6);
  const x = (value) => log(Math.log10(value)),
    y = (value) => height(Math.log10(value));
  axis(svg, ticks, y, unit, say);
  const distinct = [...new Set(xs)].sort((a, b) => a - b);
  below(svg, lengthTicks(distinct, x), x, name, grouped);
  if (now >= distinct[0] && now <= distinct.at(-1))
    svg.append(
      drawn(
        "line",
        { x1: x(now), x2: x(now), y1: FRAME.top, y2: ground(), class: "now" },
        told(`${name} = ${grouped(now)}`),
      ),
    );
  const shown = series.filter((one) => one.points.some(([, value]) => value > 0));
  const ends = spread(shown.map((one) => y(one.points.filter(([, value]) => value > 0).at(-1)[1])));
  shown.forEach((one, k) => {
    const drawnPoints = one.points.filter(([, value]) => value > 0);
    const hue = one.colour === null ? ["var(--ink)", "var(--c1)"][k % 2] : `var(--c${one.colour})`;
    svg.append(
      drawn("polyline", {
        points: drawnPoints.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(" "),
        class: "series",
        style: `stroke: ${hue}`,
      }),
    );
    for (const [a, b] of drawnPoints)
      svg.append(
        drawn(
          "circle",
          { cx: x(a), cy: y(b), r: 2.4, style: `fill: ${hue}` },
          told(`${one.name} at ${name} = ${grouped(a)}: ${say(b)}`),
        ),
      );
    svg.append(
      drawn(
        "text",
        { x: right() + 8, y: ends[k] + 4, class: "label", style: `fill: ${hue}` },
        one.name.length > most ? `${one.name.slice(0, most - 1)}…` : one.name,
        told(one.name),
      ),
    );
  });
  crossed(svg, marks, x); // last, so that no line hides a name
  return svg;
}

// Where lines cross, with both names beside it as far as there is room.
function crossed(svg, marks, x) {
  let last = -Infinity;
  for (const { at, label, text } of marks) {
    const place = x(at);
    svg.append(drawn("line", { x1: place, x2: place, y1: FRAME.top, y2: ground(), class: "crossing" }, told(text)));
    if (place - last < 13) continue;
    last = place;
    const turned = `translate(${place - 4} ${ground() - 6}) rotate(-90)`;
    svg.append(drawn("text", { transform: turned, class: "crossing-label" }, label.length > 38 ? `${label.slice(0, 37)}…` : label, told(text)));
  }
}

// Something over the order of nodes, from 0; `chosen` is called with the place that is pointed at.
function areaChart(values, { name, unit, titles, wide: given, chosen }) {
  const svg = frame(`${unit} over ${name}`, given);
  const { wide } = FRAME;
  const most = Math.max(...values, 1),
    buckets = Math.min(values.length, 400);
  const x = scale(0, Math.max(values.length - 1, 1), FRAME.left, right());
  const y = scale(0, most, ground(), FRAME.top + 8);
  axis(
    svg,
    evenly(most),
    y,
    unit,
    (tick) => short(tick, "B"),
  );
  below(svg, [0, Math.floor((values.length - 1) / 2), values.length - 1], x, name, (tick) =>
    grouped(Math.round(tick) + 1),
  );
  const tops = Array.from({ length: buckets }, (_, k) => {
    const from = Math.floor((k * values.length) / buckets),
      to = Math.max(from + 1, Math.floor(((k + 1) * values.length) / buckets));
    let at = from;
    for (let n = from; n < to; n++) if (values[n] > values[at]) at = n;
    return at;
  });
  const outline = tops.map((at) => `${x(at).toFixed(1)},${y(values[at]).toFixed(1)}`).join(" ");
  svg.append(
    drawn("polygon", {
      points: `${FRAME.left},${ground()} ${outline} ${x(tops.at(-1) ?? 0)},${ground()}`,
      class: "area",
    }),
  );
  svg.append(drawn("polyline", { points: outline, class: "series", style: "stroke: var(--c0)" }));
  const peak = values.indexOf(most);
  if (peak >= 0) {
    svg.append(drawn("circle", { cx: x(peak), cy: y(most), r: 4, class: "peak" }, told(`the peak: ${titles[peak]}`)));
    svg.append(drawn("text", { x: right() + 8, y: y(most) + 4, class: "label" }, "peak"));
  }
  svg.addEventListener("click", (event) => {
    const box = svg.getBoundingClientRect();
    const place = ((event.clientX - box.left) / box.width) * wide;
    const at = Math.round(((place - FRAME.left) / (wide - FRAME.right - FRAME.left)) * (values.length - 1));
    if (at >= 0 && at < values.length) chosen(at);
  });
  return svg;
}

const NAMED = 4; // so many points of a roofline have their name beside them

// Points under the roof of a device: FLOPs per second over FLOPs per byte.
function roofChart(points, { peaks, bandwidth, name, wide }) {
  const svg = frame(`roofline of ${name}`, wide);
  const top = Math.max(...peaks.map(([, rate]) => rate)),
    ridge = top / bandwidth;
  const xs = [...points.map((one) => one.x), ridge];
  const low = Math.max(Math.min(...xs) / 3, 1e-3),
    high = Math.max(...xs) * 4;
  const lowest = Math.max(Math.min(...points.map((one) => one.y), low * bandwidth), top / 1e9);
  const ticks = powers(lowest, top, 5),
    across = powers(low, high, 6).filter((tick) => tick >= low && tick <= high);
  const log = scale(Math.log10(low), Math.log10(high), FRAME.left, right());
  const height = scale(Math.log10(ticks[0]), Math.log10(Math.max(ticks.at(-1), top)), ground(), FRAME.top + 8);
  const x = (value) => log(Math.log10(value)),
    y = (value) => Math.min(ground(), height(Math.log10(value)));
  axis(svg, ticks, y, "FLOPs per second");
  below(svg, across, x, "FLOPs per byte");
  const sides = spread(peaks.map(([, rate]) => y(rate)));
  peaks.forEach(([space, rate], k) => {
    const from = Math.max(low, ticks[0] / bandwidth);
    svg.append(
      drawn(
        "polyline",
        {
          points: `${x(from)},${y(from * bandwidth)} ${x(rate / bandwidth)},${y(rate)} ${x(high)},${y(rate)}`,
          class: "roof",
        },
        told(`${space}: ${short(rate)} FLOPs per second`),
      ),
    );
    svg.append(drawn("text", { x: right() + 8, y: sides[k] + 4, class: "label" }, space));
  });
  const lines = spread(points.slice(0, NAMED).map((one) => y(one.y)));
  points.forEach((one, k) => {
    const size = 3 + 7 * Math.sqrt(one.share / 100),
      style = `fill: var(--c${one.colour})`,
      side = x(one.x) < FRAME.wide / 2 ? 1 : -1;
    svg.append(
      drawn(
        "circle",
        { cx: x(one.x), cy: y(one.y), r: size, class: "dot", style },
        told(`${one.name}: ${one.told}`),
      ),
    );
    if (k < NAMED)
      svg.append(
        drawn(
          "text",
          {
            x: x(one.x) + side * (size + 4),
            y: lines[k] + 4,
            class: "label",
            "text-anchor": side < 0 ? "end" : "start",
            style,
          },
          one.name,
        ),
      );
  });
  return svg;
}
