// The page of a model: lengths on the left, and what follows from them everywhere else.

const data = JSON.parse(byId("data").textContent);
const NAMES = { eops: "EOPs", flops: "FLOPs", macs: "MACs", bytes: "bytes", parameters: "parameters" };
const FURTHEST = 2 ** 20;
const state = { values: new Map(), view: "scope", sort: null, with: data.with, exact: false, chosen: null };
const open = new Set();

// ---- values at a point

let known = new Map();
function valueAt(number, values = state.values) {
  if (number === null) return null;
  const kept = values === state.values;
  if (kept && known.has(number)) return known.get(number);
  let found = null;
  try {
    found = evaluate(data.forms[number], values);
  } catch (error) {
    if (!(error instanceof Undefined)) throw error;
  }
  if (kept) known.set(number, found);
  return found;
}

// A figure that is the largest of some forms, perhaps over the largest of others: [top, bottom].
function figureAt(form, values) {
  const most = (numbers) =>
    numbers.map((one) => valueAt(one, values)).reduce((a, b) => (a === null || b === null ? null : a < b ? b : a));
  if (!form) return null;
  const top = most(form.top),
    bottom = form.bottom ? most(form.bottom) : 1n;
  return top === null || !bottom ? null : [top, bottom];
}

// Whether a condition holds: true, false, or null where something in it is open.
function holds(test, values) {
  if (typeof test === "boolean") return test;
  const [kind, ...parts] = test;
  if (kind === "and" || kind === "or") {
    const found = parts.map((part) => holds(part, values));
    const decisive = kind === "or";
    return found.includes(decisive) ? decisive : found.includes(null) ? null : !decisive;
  }
  if (kind === "not") {
    const found = holds(parts[0], values);
    return found === null ? null : !found;
  }
  let found;
  try {
    found = evaluate(data.forms[parts[0]], values);
  } catch {
    return [...values.keys()].length < data.symbols.length ? null : false;
  }
  return kind === ">=" ? found >= 0n : found === 0n;
}

// What does not hold at some lengths, in words.
function broken(values) {
  const found = [...data.requires, ...(data.other?.requires ?? [])]
    .filter((one) => holds(one.test, values) === false)
    .map((one) => one.text)
    .filter((text, k, all) => all.indexOf(text) === k);
  for (const { name, low, high } of data.symbols) {
    const own = values.get(name),
      [least, most] = [valueAt(low, values), valueAt(high, values)];
    if (own === undefined) found.push(`${name} is a whole number`);
    else if (least !== null && own < least) found.push(`${name} >= ${grouped(least)}`);
    else if (most !== null && own > most) found.push(`${name} <= ${grouped(most)}`);
  }
  return found;
}

// ---- lengths

const fine = (values) => !broken(values).length;
const withLength = (name, value) => new Map(state.values).set(name, BigInt(value));

// The places of a slider: powers of two and halves between them, and where conditions begin and end to hold.
function places(name) {
  const found = new Set([1, 2, 3]);
  for (let n = 4; n <= FURTHEST; n *= 2) found.add(n).add(n + n / 2);
  const order = [...found].filter((n) => n <= FURTHEST).sort((a, b) => a - b);
  for (let k = 1; k < order.length; k++) {
    let [low, high] = [order[k - 1], order[k]];
    const first = fine(withLength(name, low));
    if (first === fine(withLength(name, high))) continue;
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (fine(withLength(name, middle)) === first) low = middle;
      else high = middle;
    }
    found.add(low).add(high);
  }
  return [...found].filter((n) => n <= FURTHEST).sort((a, b) => a - b);
}

const lengths = () => [...document.querySelectorAll("#lengths .length")];

function lengthRow(symbol) {
  const number = element("input", {
    type: "number",
    class: "field",
    min: 1,
    step: 1,
    value: symbol.value,
    "data-name": symbol.name,
    "aria-label": `length ${symbol.name}`,
  });
  const range = element("input", {
    type: "range",
    min: 0,
    step: 1,
    "data-name": symbol.name,
    "aria-label": `slider of ${symbol.name}`,
  });
  const row = element(
    "div",
    { class: "length" },
    element("div", { class: "top" }, element("var", {}, symbol.name), number),
    range,
    element("div", { class: "track", title: "where the conditions hold" }),
  );
  Object.assign(row, { symbol, number, range });
  number.addEventListener("input", () => {
    take(symbol.name, number.value);
    soon(row);
  });
  range.addEventListener("input", () => {
    number.value = row.places[range.value];
    take(symbol.name, number.value);
    soon(row);
  });
  return row;
}

function take(name, text) {
  if (/^\d{1,10}$/.test(text)) state.values.set(name, BigInt(text));
  else state.values.delete(name);
}

// Where on a slider the conditions hold is painted below it.
function painted(row, moved) {
  const { name } = row.symbol;
  if (row !== moved || !row.places) row.places = places(name);
  row.range.max = row.places.length - 1;
  const own = Number(state.values.get(name) ?? 1n);
  if (row !== moved || document.activeElement !== row.range)
    row.range.value = row.places.reduce(
      (best, n, k) => (Math.abs(Math.log(n / own)) < Math.abs(Math.log(row.places[best] / own)) ? k : best),
      0,
    );
  const stops = row.places.map((n, k) => [k / (row.places.length - 1), fine(withLength(name, n))]);
  const colour = (good) => (good ? "var(--accent)" : "var(--line)");
  row.querySelector(".track").style.background =
    `linear-gradient(90deg, ${stops.map(([at, good]) => `${colour(good)} ${(100 * at).toFixed(1)}%`).join(", ")})`;
}

// ---- what is shown

// At most once for every picture, however fast a slider moves.
function soon(row) {
  if (!state.waiting)
    requestAnimationFrame(() => {
      const moved = state.waiting;
      state.waiting = null;
      refresh(moved);
    });
  state.waiting = row;
}

function refresh(moved) {
  known = new Map();
  const outside = broken(state.values);
  state.outside = outside.length > 0;
  document.body.classList.toggle("outside", state.outside);
  byId("outside").hidden = !state.outside;
  byId("outside").textContent = state.outside
    ? `No figures at these lengths: the model holds where ${outside.join(", ")}.`
    : "";
  for (const row of lengths()) painted(row, moved);
  conditions();
  figures();
  shares();
  growth();
  memory();
  roofline();
  comparison();
  added(state.root, (number) => (state.outside ? null : valueAt(number)));
  nodes();
}

function conditions() {
  byId("conditions-card").hidden = !data.requires.length;
  byId("conditions").replaceChildren(
    ...data.requires.map((one) => {
      const found = holds(one.test, state.values);
      return element(
        "li",
        { class: found === null ? "open" : found ? "holds" : "fails" },
        element("code", { title: one.text }, one.text),
        element("div", { class: "quiet", title: one.reason }, one.node ? `${one.reason} (${one.node})` : one.reason),
      );
    }),
  );
}

const decimal = ([top, bottom]) => Number((top * 1000n) / bottom) / 1000;

function figures() {
  const shown = data.figures.filter((one) => one.form);
  byId("figures").replaceChildren(
    ...shown.map((one) => {
      const found = state.outside ? null : figureAt(one.form);
      const whole = found && found[1] === 1n;
      const open = one.form.bottom ? [] : one.form.top.filter((number) => typeof data.forms[number] === "object");
      const forms = open.map((number) => data.shown[number]);
      const written = forms.length > 1 ? `the largest of ${forms.length} forms` : null;
      const widen = (event) => event.currentTarget.classList.toggle("wide");
      return element(
        "div",
        {
          class: "card figure",
          "data-more": forms.length === 1,
          onclick: forms.length === 1 ? widen : () => {},
          "data-key": one.key,
          "data-value": found ? (whole ? found[0] : decimal(found)) : "",
        },
        element("div", { class: "label" }, one.label, one.unit ? ` (${one.unit})` : ""),
        element("div", { class: "value" }, found ? short(whole ? found[0] : decimal(found)) : "—"),
        element("div", { class: "exactly" }, whole && found[0] >= 10_000n ? grouped(found[0]) : ""),
        written
          ? element("details", {}, element("summary", { class: "quiet" }, written), ...forms.map(notation))
          : forms.length
            ? notation(forms[0])
            : null,
      );
    }),
  );
}

function shares() {
  const sized = data.operators
    .map((one) => ({ one, eops: state.outside ? null : valueAt(one.eops) }))
    .filter(({ eops }) => eops === null || eops > 0n);
  const all = sized.reduce((sum, { eops }) => sum + (eops ?? 0n), 0n);
  sized.sort((a, b) => ((a.eops ?? 0n) > (b.eops ?? 0n) ? -1 : 1));
  const rest = sized.splice(12);
  const row = (title, eops, choose) => {
    const share = eops === null ? 0 : percent(eops, all);
    return element(
      "button",
      { type: "button", class: "share", "data-op": title, "data-value": eops ?? "", onclick: choose },
      element("span", { title }, title),
      element("span", { class: "meter" }, element("i", { style: `width: ${share}%` })),
      element("span", { class: "number" }, eops === null ? "—" : inPercent(share)),
      element("span", { class: "number count quiet" }, eops === null ? "" : short(eops)),
    );
  };
  byId("share").replaceChildren(
    ...sized.map(({ one, eops }) =>
      row(one.title, eops, () => {
        byId("filter").value = one.title;
        setView("op");
      }),
    ),
    ...(rest.length
      ? [
          row(
            `${rest.length} more`,
            rest.reduce((sum, { eops }) => (sum === null || eops === null ? null : sum + eops), 0n),
            () => setView("op"),
          ),
        ]
      : []),
  );
}

// ---- growth: everything but one length stays as it is

function grown() {
  const parts = data.operators.map((one) => [one.title, one.eops]);
  const largest = parts
    .map((one) => [one, valueAt(one[1]) ?? 0n])
    .sort((a, b) => (a[1] > b[1] ? -1 : 1))
    .slice(0, 5)
    .map(([one]) => one);
  return [
    ["all", data.scopes.find((one) => !one.path.length)?.eops ?? null],
    ...largest,
    ...(data.other ? [[data.other.name, data.other.eops]] : []),
  ];
}

function growth() {
  const names = data.symbols.map((one) => one.name);
  state.with ??= names.at(-1) ?? null;
  byId("growth-with").replaceChildren(
    ...names.map((name) =>
      element(
        "button",
        {
          type: "button",
          class: "plain",
          "aria-pressed": String(name === state.with),
          onclick: () => {
            state.with = name;
            growth();
          },
        },
        name,
      ),
    ),
  );
  if (!state.with)
    return byId("growth").replaceChildren(
      element("p", { class: "quiet" }, "No length is open: there is one size, and these are its figures."),
    );
  const row = lengths().find((one) => one.symbol.name === state.with);
  const points = row.places.filter((n) => fine(withLength(state.with, n)));
  const parts = grown();
  const series = parts.map(([name, form]) => ({
    name,
    form,
    points: points.map((n) => [n, Number(valueAt(form, withLength(state.with, n)) ?? 0n)]),
  }));
  const marks = points.length > 1 ? crossings(parts.slice(1), points) : [];
  byId("growth").replaceChildren(
    points.length
      ? lineChart(series, { name: state.with, unit: "EOPs", now: Number(state.values.get(state.with) ?? 0n), marks })
      : element("p", { class: "quiet" }, "At no such length do the conditions hold."),
  );
  byId("crossings").replaceChildren(...marks.map(({ text }) => element("li", {}, text)));
}

// The first length from one on at which the conditions hold; the last one if that is far.
function allowed(low, last) {
  for (let n = low; n < Math.min(last, low + 1000); n++) if (fine(withLength(state.with, n))) return n;
  return last;
}

// The least length from which on one part costs more than another, exactly.
function crossings(parts, points) {
  const found = [];
  const gap = (f, g, n) => {
    const at = withLength(state.with, n),
      [a, b] = [valueAt(f, at), valueAt(g, at)];
    return a === null || b === null ? 0n : b - a;
  };
  for (const [a, f] of parts)
    for (const [b, g] of parts) {
      for (let k = 1; k < points.length; k++) {
        let [low, high] = [points[k - 1], points[k]];
        if (!(gap(f, g, low) <= 0n && gap(f, g, high) > 0n && (k > 1 || gap(f, g, low) < 0n))) continue;
        while (high - low > 1) {
          const middle = Math.floor((low + high) / 2);
          if (gap(f, g, middle) > 0n) high = middle;
          else low = middle;
        }
        const from = allowed(high, points[k]);
        found.push({ at: from, text: `from ${state.with} = ${grouped(from)} on, ${b} costs more than ${a}` });
      }
    }
  return found.sort((a, b) => a.at - b.at);
}

// ---- memory, roof

function alive() {
  const changes = new Array(data.nodes.length + 2).fill(0n);
  for (const [form, first, last] of data.memory) {
    const size = valueAt(form);
    if (size === null) return null;
    changes[first] += size;
    changes[last + 1] -= size;
  }
  let sum = 0n;
  return changes.slice(0, data.nodes.length).map((change) => (sum += change));
}

function memory() {
  const sizes = state.outside ? null : alive();
  const most = sizes?.reduce((a, b) => (a < b ? b : a), 0n);
  byId("peak").dataset.value = most ?? "";
  byId("peak").textContent = sizes
    ? `At most ${grouped(most)} bytes, at ${data.nodes[sizes.indexOf(most)]?.[0] ?? "the start"}.`
    : "";
  byId("memory").replaceChildren(
    sizes
      ? areaChart(sizes.map(Number), {
          name: "nodes",
          unit: "bytes",
          titles: data.nodes.map(([title]) => title),
          chosen: reveal,
        })
      : element("p", { class: "quiet" }, state.outside ? "—" : "Data decides how large some values are."),
  );
}

function roofline() {
  if (!data.device) return;
  byId("roof-card").hidden = false;
  byId("roof-of").textContent = `${data.device.name}: ${data.device.description}`;
  const timed = state.outside
    ? []
    : data.operators
        .filter((one) => one.time)
        .map((one) => ({ one, time: figureAt(one.time), flops: valueAt(one.flops), bytes: valueAt(one.bytes) }));
  const seconds = (time) => decimal([time[0] * 1000n, time[1]]) * 1e-9;
  const all = timed.reduce((sum, { time }) => sum + (time ? seconds(time) : 0), 0);
  const points = timed
    .filter(({ time, flops, bytes }) => time && time[0] > 0n && flops > 0n && bytes > 0n)
    .map(({ one, time, flops, bytes }) => ({
      name: one.title,
      x: Number(flops) / Number(bytes),
      y: Number(flops) / seconds(time),
      share: (100 * seconds(time)) / all,
    }))
    .sort((a, b) => b.share - a.share);
  const peaks = Object.entries(data.device.macs)
    .map(([space, rate]) => [space, 2e6 * rate])
    .sort((a, b) => b[1] - a[1])
    .slice(0, 4);
  byId("roof").replaceChildren(
    points.length
      ? roofChart(points, { peaks, bandwidth: 1e6 * data.device.bytes, name: data.device.name })
      : element("p", { class: "quiet" }, "—"),
  );
}

// ---- nodes

const said = (value) => (value === null || value === undefined ? "" : state.exact ? grouped(value) : short(value));
const number = (key, rank, seldom = false) => ({
  key,
  title: NAMES[key],
  rank,
  seldom,
  least: 105,
  wide: "minmax(105px, .6fr)",
  cell: (one) =>
    element(
      "span",
      {
        class: "number",
        "data-value": one.values[key] ?? "",
        title: one.values[key] === null ? "" : grouped(one.values[key]),
      },
      said(one.values[key]),
    ),
});
const COLUMNS = [
  {
    key: "title",
    title: "name",
    rank: 0,
    least: 170,
    wide: "minmax(170px, 2.2fr)",
    cell: (one, level) => [
      element(
        "button",
        {
          class: "twig",
          tabindex: -1,
          "aria-hidden": "true",
          style: `margin-left: ${level * 16}px; visibility: ${one.children.length ? "visible" : "hidden"}`,
        },
        open.has(one.key) ? "▾" : "▸",
      ),
      element("span", { title: one.title }, one.title),
      one.times > 1 ? element("i", { class: "chip" }, `×${one.times}`) : null,
    ],
  },
  { key: "op", title: "operator", rank: 3, least: 130, wide: "minmax(125px, .8fr)", cell: (one) => one.kind?.op ?? "" },
  {
    key: "type",
    title: "gives",
    rank: 5,
    least: 190,
    wide: "minmax(185px, 1.2fr)",
    cell: (one) => (one.kind ? element("span", { title: one.kind.type }, one.kind.type) : ""),
  },
  number("eops", 1),
  {
    key: "share-of",
    title: "share",
    rank: 2,
    least: 85,
    wide: "minmax(85px, 1fr)",
    sorts: "eops",
    cell: (one) => {
      const share = one.values.eops === null ? 0 : percent(one.values.eops, state.root.values.eops ?? 0n);
      return one.values.eops === null
        ? ""
        : [
            element("span", { class: "meter" }, element("i", { style: `width: ${share}%` })),
            element("b", {}, share ? inPercent(share) : ""),
          ];
    },
  },
  number("macs", 4),
  number("flops", 8, true),
  number("bytes", 6),
  number("parameters", 7),
  {
    key: "intensity",
    title: "FLOPs/byte",
    rank: 9,
    seldom: true,
    least: 95,
    wide: "95px",
    cell: (one) => {
      const found = intensity(one.values);
      return found === null ? "" : String(Number(found.toPrecision(3)));
    },
  },
];
const VIEWS = { scope: "by scope", op: "by operator", node: "in order" };
const toggle = (one) => {
  if (!open.delete(one.key)) open.add(one.key);
  nodes();
};
toggle.open = open;
const table = new Table(byId("rows"), COLUMNS, choose, toggle);
new ResizeObserver(() => state.root && nodes()).observe(byId("rows"));

function setView(view) {
  state.view = view;
  state.root =
    view === "scope" ? scopeTree(data, byId("fold").checked) : view === "op" ? operatorTree(data) : nodeList(data);
  state.sort = view === "op" ? { column: "eops", down: true } : null;
  added(state.root, (form) => (state.outside ? null : valueAt(form)));
  if (view === "scope") opened(state.root);
  nodes();
}

// Scopes that hold much of the cost are open from the start.
function opened(root) {
  for (const one of root.children) {
    if (one.kind || one.fold || percent(one.values.eops ?? 0n, state.root.values.eops ?? 0n) < 25) continue;
    open.add(one.key);
    opened(one);
  }
}

function nodes() {
  const words = byId("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = rowsOf(state.root, { open, sort: state.sort, words });
  const shown = table.fitting();
  byId("nodes").style.setProperty("--template", shown.map((one) => one.wide).join(" "));
  byId("nodes").style.setProperty("--least", `${shown.reduce((sum, one) => sum + one.least, 0)}px`);
  byId("views").replaceChildren(
    ...Object.entries(VIEWS).map(([view, title]) =>
      element(
        "button",
        {
          type: "button",
          class: "plain",
          "data-view": view,
          "aria-pressed": String(view === state.view),
          onclick: () => setView(view),
        },
        title,
      ),
    ),
  );
  byId("titles").replaceChildren(
    ...shown.map((column) => {
      const by = column.sorts ?? column.key,
        sorted = state.sort?.column === by && (state.sort.from ?? by) === (column.sorts ? column.key : by);
      const numeric = !["title", "op", "type"].includes(by);
      return element(
        "button",
        {
          type: "button",
          role: "columnheader",
          class: numeric ? "number" : "",
          "data-column": column.key,
          "aria-sort": sorted ? (state.sort.down ? "descending" : "ascending") : null,
          onclick: () => {
            const down = state.sort?.column === by ? !state.sort.down : numeric;
            state.sort = state.sort?.column === by && down === numeric ? null : { column: by, down, from: column.key };
            nodes();
          },
        },
        column.title,
      );
    }),
  );
  byId("count").textContent = `${grouped(rows.length)} rows, ${grouped(data.nodes.length)} nodes`;
  table.show(rows);
}

function reveal(node) {
  const one = leaves(state.root).find((other) => other.node === node);
  for (let up = one?.parent; up?.parent; up = up.parent) open.add(up.key);
  byId("filter").value = "";
  nodes();
  choose(one);
}

function choose(one) {
  if (!one) return;
  state.chosen = one;
  detail();
  table.select(one);
}

// ---- one node or scope, down to the line of a definition

function detail() {
  const one = state.chosen;
  byId("detail").hidden = !one;
  document.querySelector(".split").classList.toggle("open", Boolean(one));
  if (!one) return;
  const forms = one.kind ?? one.sum;
  const line = (key) =>
    element(
      "tr",
      {},
      element("td", {}, NAMES[key]),
      element(
        "td",
        {},
        forms && forms[key] !== null
          ? [one.times > 1 ? `${one.times} × ` : null, notation(data.shown[forms[key]])]
          : "",
      ),
      element(
        "td",
        { class: "number", "data-key": key, "data-value": one.values[key] ?? "" },
        one.values[key] === null ? "—" : grouped(one.values[key]),
      ),
    );
  byId("detail").replaceChildren(
    ...[
      element(
        "button",
        {
          type: "button",
          class: "plain close",
          "aria-label": "close",
          onclick: () => {
            state.chosen = null;
            detail();
            table.select(null);
          },
        },
        "✕",
      ),
      element("h3", {}, one.title),
      element(
        "div",
        { class: "quiet" },
        one.kind ? [one.kind.op, " · ", element("code", {}, one.kind.type)] : `${grouped(leaves(one).length)} nodes`,
      ),
      one.kind?.problem ? element("p", { class: "bad" }, `Not costed: ${one.kind.problem}`) : null,
      element("table", {}, ...KEYS.map(line)),
      ...(one.kind ? one.kind.derived.flatMap(derivation) : [inside(one)]),
    ].filter((child) => child !== null),
  );
}

function inside(one) {
  const counts = new Map();
  for (const leaf of leaves(one)) {
    const [nodes, eops] = counts.get(leaf.kind.op) ?? [0, 0n];
    counts.set(leaf.kind.op, [nodes + 1, eops === null || leaf.values.eops === null ? null : eops + leaf.values.eops]);
  }
  const rows = [...counts].sort((a, b) => ((a[1][1] ?? 0n) > (b[1][1] ?? 0n) ? -1 : 1)).slice(0, 14);
  return element(
    "div",
    {},
    element("h4", {}, "Operators in it"),
    element(
      "table",
      {},
      ...rows.map(([op, [nodes, eops]]) =>
        element(
          "tr",
          {},
          element("td", {}, op),
          element("td", { class: "number" }, `${nodes}`),
          element("td", { class: "number" }, said(eops)),
        ),
      ),
    ),
  );
}

function derivation([place, times]) {
  const found = data.derived[place];
  const source = element("div", { class: "source", hidden: true });
  const show = (file, line, step) => {
    source.hidden = false;
    step.after(source);
    source.replaceChildren(
      ...data.sources[file]
        .replace(/\n$/, "")
        .split("\n")
        .map((text, k) => element("div", { "data-line": k + 1, class: k + 1 === line ? "here" : null }, text || " ")),
    );
    source.setAttribute("aria-label", file);
    source.scrollTop +=
      source.querySelector(".here").getBoundingClientRect().top - source.getBoundingClientRect().top - 60;
  };
  const step = ([text, reason, file, line]) =>
    element(
      "li",
      {},
      element("code", {}, `= ${text}`),
      file
        ? element(
            "button",
            { type: "button", class: "line", onclick: (event) => show(file, line, event.target.closest("li")) },
            `${file.split("/").at(-1)}:${line}`,
          )
        : null,
      element("span", { class: "quiet" }, reason),
    );
  return [
    element("h4", {}, `Why: ${found.op}${times > 1 ? `, applied ${times} times` : ""}`),
    found.where.length
      ? element("p", { class: "quiet" }, `with ${found.where.map(([name, value]) => `${name} = ${value}`).join(", ")}`)
      : null,
    ...found.chains.map((chain) =>
      element(
        "ol",
        { class: "steps" },
        chain.name ? element("li", {}, element("code", {}, `EOPs(${chain.name})`)) : null,
        ...chain.steps.map(step),
      ),
    ),
    source,
  ].filter((one) => one !== null);
}
