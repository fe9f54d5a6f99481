// The page of a plan: it shows numbers that are in the page, for the batch and context that its sliders say.

const data = JSON.parse(document.getElementById("data").textContent);
const byName = (id) => document.getElementById(id);
const PARTS = ["parameters", "cache", "activations", "logits"];
const COLOURS = ["var(--c0)", "var(--c1)", "var(--c2)", "var(--c6)"];
const bytes = (value) => short(BigInt(value), "B");

// A time in microseconds, with three digits.
function time(value) {
  const [scale, unit] = value >= 1e6 ? [1e6, "s"] : value >= 1e3 ? [1e3, "ms"] : [1, "µs"];
  return `${short(quotient(value / scale))} ${unit}`;
}

function picture(tag, attributes, ...inside) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...inside);
  return node;
}

// What is chosen: places in the lists of the page.
const chosen = { batch: data.batch, context: data.context, scheme: 0, device: 0 };
const scheme = () => data.schemes[chosen.scheme];
const device = () => data.devices[chosen.device];

function memoryAt(context, batch) {
  const { weights, cache } = scheme();
  return [weights, cache[context][batch], data.activations[context][batch], data.logits[context][batch]];
}

// What an engine takes of the card, in bytes; null where no device is chosen, or its memory is not known.
function room() {
  const memory = data.devices.length ? device().memory : null;
  return memory === null ? null : Math.floor((memory * data.reserve[0]) / data.reserve[1]);
}

const total = (parts) => parts.reduce((sum, part) => sum + part, 0);
const timeOf = (run) => run[2][chosen.device][1] ?? run[2][chosen.device][0];

// An axis for powers: from the places of values to those of a picture.
function scale(low, high, from, to) {
  const a = Math.log(low),
    b = Math.log(high) - a || 1;
  return (value) => from + ((Math.log(value) - a) / b) * (to - from);
}

// A chart is as wide as its place in pixels, so that letters have one size everywhere.
const LEFT = 66,
  TOP = 12,
  BOTTOM = 235;
const rightOf = (svg) => Math.max(svg.clientWidth || 460, 240) - 16;

function frame(svg, x, y, xs, ys) {
  const right = rightOf(svg);
  svg.setAttribute("viewBox", `0 0 ${right + 16} 270`);
  svg.replaceChildren(
    ...ys.map(([value]) => picture("path", { class: "axis", d: `M${LEFT} ${y(value)}H${right}` })),
    picture("path", { class: "axis", d: `M${LEFT} ${TOP}V${BOTTOM}H${right}` }),
    ...xs.map(([value, text]) => picture("text", { x: x(value), y: BOTTOM + 18, "text-anchor": "middle" }, text)),
    ...ys.map(([value, text]) => picture("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, text)),
  );
}

// Round numbers between two: of 1, 2 and 5 times powers of ten, as many as have room.
function roundTicks(low, high, most) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++)
    found.push(...[1, 2, 5].map((n) => Number(`${n}e${power}`)).filter((tick) => tick >= low && tick <= high));
  const tens = found.filter((tick) => Number.isInteger(Math.log10(tick)));
  const chosen = found.length > most && tens.length > 1 ? tens : found;
  const step = Math.ceil(chosen.length / most);
  return chosen.filter((_, n) => n % step === 0);
}

// The same of equal distance, from 0.
function evenTicks(most) {
  const power = 10 ** Math.floor(Math.log10(most / 4));
  const step = [1, 2, 5, 10].map((n) => n * power).find((one) => most / one <= 5);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, k) => k * step);
}

const plainly = (text) => text.replace(/\.0+(?!\d)/, "");
const rough = (value, unit = "") => plainly(short(BigInt(Math.round(value)), unit));

function drawMemory() {
  const { contexts } = data,
    limit = room();
  const stacks = contexts.map((_, n) => memoryAt(n, chosen.batch));
  const most = 1.08 * Math.max(...stacks.map(total), limit ?? 0);
  const svg = byName("memory"),
    right = rightOf(svg);
  const x = scale(contexts[0], contexts.at(-1), LEFT, right - 8);
  const y = (value) => BOTTOM - (value / most) * (BOTTOM - TOP);
  const powers = contexts.filter((one) => Number.isInteger(Math.log2(one)));
  const every = Math.ceil((52 * powers.length) / (right - LEFT));
  const few = powers.filter((_, n) => (powers.length - 1 - n) % every === 0);
  frame(svg, x, y, few.map((one) => [one, one >= 1024 ? `${one / 1024} Ki` : one]), evenTicks(most).map((one) => [one, rough(one, "B")]));
  const under = contexts.map(() => 0);
  PARTS.forEach((_, part) => {
    const low = contexts.map((one, n) => `${x(one)} ${y(under[n])}`);
    stacks.forEach((stack, n) => (under[n] += stack[part]));
    const high = contexts.map((one, n) => `${x(one)} ${y(under[n])}`);
    svg.append(picture("path", { fill: COLOURS[part], d: `M${high.join("L")}L${low.reverse().join("L")}Z` }));
  });
  if (limit !== null) svg.append(picture("path", { class: "limit", d: `M${LEFT} ${y(limit)}H${right}` }, picture("title", {}, `an engine reserves ${bytes(limit)}`)));
  const now = x(contexts[chosen.context]);
  svg.append(picture("path", { class: "here", d: `M${now} ${TOP}V${BOTTOM}` }));
}

function drawSpeed() {
  const runs = scheme().made[chosen.context];
  const points = runs.map((run, n) => [timeOf(run), (data.batches[n] * 1e6) / timeOf(run)]);
  const [times, rates] = [0, 1].map((k) => points.map((point) => point[k]));
  const svg = byName("speed"),
    right = rightOf(svg);
  const [soonest, latest] = [Math.min(...times) * 0.8, Math.max(...times) * 1.25];
  const [least, most] = [Math.min(...rates) * 0.7, Math.max(...rates) * 1.4];
  const x = scale(soonest, latest, LEFT, right);
  const y = scale(least, most, BOTTOM, TOP);
  frame(
    svg,
    x,
    y,
    roundTicks(soonest, latest, Math.floor((right - LEFT) / 60)).map((one) => [one, plainly(time(one))]),
    roundTicks(least, most, 5).map((one) => [one, rough(one)]),
  );
  svg.append(picture("path", { class: "line", d: `M${points.map(([a, b]) => `${x(a)} ${y(b)}`).join("L")}` }));
  points.forEach(([a, b], n) => {
    const text = `batch ${data.batches[n]}: ${time(a)} for each token, ${Math.round(b)} tokens a second`;
    const dot = picture("circle", { cx: x(a), cy: y(b), r: 4, class: n === chosen.batch ? "now" : "" });
    dot.append(picture("title", {}, text));
    svg.append(dot);
  });
}

function drawRoof() {
  const card = device(),
    roof = (intensity) => Math.min(card.macs * 2, intensity * card.bytes);
  const ridge = (card.macs * 2) / card.bytes;
  const phases = [["prompt", scheme().read], ...(data.answers ? [["token", scheme().made]] : [])];
  const points = phases.map(([name, runs]) => {
    const run = runs[chosen.context][chosen.batch];
    return [name, (2 * run[0]) / Math.max(run[1], 1), (2 * run[0]) / timeOf(run)];
  });
  const found = points.map((point) => point[1]);
  const svg = byName("roof"),
    right = rightOf(svg);
  const [low, high] = [Math.min(ridge / 50, ...found) / 2, Math.max(ridge * 20, ...found) * 2];
  const x = scale(low, high, LEFT, right);
  const least = Math.min(...points.map((point) => point[2]), roof(low)) / 2;
  const y = scale(least, card.macs * 3, BOTTOM, TOP);
  const rate = (value) => `${short(BigInt(Math.round(value * 1e6)), "FLOP")}/s`;
  frame(
    svg,
    x,
    y,
    roundTicks(low, high, Math.floor((right - LEFT) / 60)).map((one) => [one, one < 1 ? String(one) : rough(one)]),
    roundTicks(least, card.macs * 3, 4).map((one) => [one, rough(one * 1e6)]),
  );
  svg.append(picture("path", { class: "line", d: `M${x(low)} ${y(roof(low))}L${x(ridge)} ${y(roof(ridge))}H${right}` }));
  for (const [name, a, b] of points)
    svg.append(
      picture("circle", { cx: x(a), cy: y(b), r: 4, class: "now" }, picture("title", {}, `${a.toPrecision(3)} FLOP a byte, ${rate(b)}`)),
      picture("text", { x: x(a) + 8, y: y(b) + 18, class: "name" }, name),
    );
}

function row(name, value, remark = "") {
  const line = document.createElement("tr");
  for (const text of [name, value, remark]) line.append(Object.assign(document.createElement("td"), { textContent: text }));
  line.dataset.name = name;
  return line;
}

// Links to lines of the program, which open it.
function linked(lines) {
  const found = [lines.length > 1 ? "lines " : "line "];
  lines.forEach((line, n) => {
    const link = Object.assign(document.createElement("a"), { href: `#line-${line}`, textContent: line });
    link.addEventListener("click", () => (byName("program").open = true));
    found.push(n ? ", " : "", link);
  });
  return found;
}

// The largest parts of the times of both phases: as predicted, or at least.
function parts(runs) {
  const rows = runs.flatMap(([phase, run]) =>
    run[2][chosen.device][2].map(([kind, value]) => {
      const [name, lines] = data.calls[kind];
      const line = row(`${phase}: ${name}`, time(value));
      line.lastChild.append(...linked(lines));
      return line;
    }),
  );
  byName("parts").replaceChildren(...rows);
  byName("parts-box").hidden = !rows.length;
  byName("parts-box").querySelectorAll("th")[1].textContent = device().measured ? "one graph" : "at least";
}

function facts() {
  const sizes = memoryAt(chosen.context, chosen.batch),
    needed = total(sizes);
  const rows = PARTS.map((name, n) => row(name, bytes(sizes[n])));
  const places = { ...data.declared, activations: [data.lines[chosen.context][chosen.batch]] };
  PARTS.forEach((name, n) => {
    if (!places[name].length) return;
    rows[n].lastChild.append(...(name === "activations" ? ["most at once: "] : []), ...linked(places[name]));
  });
  rows.push(row("needed", bytes(needed)));
  let verdict = "";
  if (data.devices.length) {
    const card = device(),
      how = card.measured ? "as one graph, predicted" : "at least";
    const read = scheme().read[chosen.context][chosen.batch],
      made = scheme().made[chosen.context][chosen.batch];
    parts([["first token", read], ...(made ? [["next token", made]] : [])]);
    rows.push(row(data.answers ? "first token" : "all tokens", time(timeOf(read)), how));
    if (made) {
      rows.push(row("next token", time(timeOf(made)), how));
      const rate = Math.round((data.batches[chosen.batch] * 1e6) / timeOf(made));
      rows.push(row("tokens a second", grouped(BigInt(rate)), card.measured ? "predicted" : "at most"));
    }
    const taken = room();
    if (taken !== null) {
      const fits = needed <= taken;
      verdict = fits
        ? `It fits on ${card.name}: it needs ${bytes(needed)} of the ${bytes(taken)} that an engine reserves`
        : `It does not fit on ${card.name}: it needs ${bytes(needed)}, and an engine reserves ${bytes(taken)}`;
      byName("verdict").className = fits ? "good" : "bad";
    }
  }
  byName("facts").replaceChildren(...rows);
  byName("verdict").textContent = verdict;
}

function show() {
  byName("batch-now").textContent = data.batches[chosen.batch];
  const [whole, prompt] = [data.contexts, data.prompts].map((list) => BigInt(list[chosen.context]));
  const made = prompt < whole ? `, ${grouped(whole - prompt)} of them made` : "";
  byName("context-now").textContent = `${grouped(whole)} tokens${made}`;
  facts();
  drawMemory();
  if (data.devices.length && data.answers) drawSpeed();
  if (data.devices.length && device().macs !== null) drawRoof();
  byName("speed-box").hidden = !data.devices.length || !data.answers;
  byName("roof-box").hidden = !data.devices.length || device().macs === null;
}

for (const [name, list] of [["batch", data.batches], ["context", data.contexts]]) {
  const slider = byName(name);
  slider.max = list.length - 1;
  slider.value = chosen[name];
  slider.addEventListener("input", () => {
    chosen[name] = Number(slider.value);
    show();
  });
}
for (const [name, list] of [["scheme", data.schemes], ["device", data.devices]]) {
  const choice = byName(name);
  choice.append(...list.map((one, n) => new Option(one.name, n)));
  choice.addEventListener("change", () => {
    chosen[name] = Number(choice.value);
    show();
  });
}
byName("device-label").hidden = !data.devices.length;
byName("parts-box").hidden = !data.devices.length;
byName("program").querySelector("summary").textContent = data.program[0];
byName("program").querySelector("ol").append(
  ...data.program.slice(1).map((text, n) => {
    const line = Object.assign(document.createElement("li"), { id: `line-${n + 1}` });
    line.append(Object.assign(document.createElement("code"), { textContent: text }));
    return line;
  }),
);
PARTS.forEach((part, n) => {
  const mark = document.createElement("i");
  mark.style.background = COLOURS[n];
  const label = document.createElement("span");
  label.append(mark, part);
  byName("memory-key").append(label);
});
show();
themed(byName("theme"));
addEventListener("resize", show);
