// The page of a model: lengths on the left, and what follows from them everywhere else.

const data = JSON.parse(byId("data").textContent);
// What every part has, by key: its amounts, and of models its time on the device and its values that are alive at the peak.
const NAMES = {
  ...data.amounts,
  ...(data.device ? { time: "time" } : {}),
  ...(data.kind === "model" ? { memory: "memory at the peak" } : {}),
};
const KEYS = Object.keys(NAMES);
// What parts of the model are drawn by, one at a time.
const SWITCH = Object.fromEntries(
  ["eops", "macs", "bytes", "time", "memory", "parameters"]
    .filter((key) => key in NAMES)
    .map((key) => [key, { time: "time", memory: "memory" }[key] ?? NAMES[key]]),
);
// What is alive from the start to the end, and no node makes.
const GIVEN = data.step ? "held throughout" : "inputs";
const FURTHEST = 2 ** 20;
const state = {
  values: new Map(),
  by: "eops",
  view: "scope",
  sort: null,
  with: data.with,
  exact: false,
  chosen: null,
  zoomed: [],
};
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

const formOf = (number) => data.forms[number];

// A figure that is the largest of some forms, perhaps over the largest of others: [top, bottom].
function figureAt(form, values) {
  const most = (numbers) =>
    numbers.map((one) => valueAt(one, values)).reduce((a, b) => (a === null || b === null ? null : a < b ? b : a));
  if (!form) return null;
  const top = most(form.top),
    bottom = form.bottom ? most(form.bottom) : 1n;
  return top === null || !bottom ? null : [top, bottom];
}

// ---- amounts of a part as text

const PARTS = BigInt(data.device?.parts ?? 1),
  WAIT = BigInt(data.device?.wait ?? 0);

// Parts of a microsecond as picoseconds, rounded down; any part of the work waits for its first kernel.
const picoseconds = (parts) => (parts > 0n ? ((parts + WAIT) * 1_000_000n) / PARTS : 0n);

function brief(key, value) {
  if (value === null || value === undefined) return "—";
  if (key === "time") return durationText(picoseconds(value));
  return short(value, key === "bytes" || key === "memory" ? "B" : "");
}

// With every digit.
function full(key, value) {
  if (value === null || value === undefined) return "—";
  if (key === "time") return `${rounded(picoseconds(value), 1_000_000n, 6).replace(/\.?0+$/, "") || "0"} µs`;
  return `${grouped(value)}${key === "bytes" || key === "memory" ? " B" : ""}`;
}

// The conditions of what is shown: of two models, if there are two.
const required = () =>
  [...data.requires, ...(data.other?.requires ?? [])].filter(
    ({ text }, k, all) => all.findIndex((one) => one.text === text) === k,
  );

// What does not hold at some lengths, in words.
function broken(values) {
  const found = required()
    .filter((one) => holds(one.test, values, formOf) === false)
    .map((one) => one.text);
  for (const { name, low, high, data: decided } of data.symbols) {
    const own = values.get(name),
      [least, most] = [valueAt(low, values), valueAt(high, values)];
    if (own === undefined && decided) continue;
    if (own === undefined) found.push(`${visible(name)} is a whole number`);
    else if (least !== null && own < least) found.push(`${visible(name)} >= ${grouped(least)}`);
    else if (most !== null && own > most) found.push(`${visible(name)} <= ${grouped(most)}`);
  }
  return found;
}

// ---- what is shown

// At most once for every picture, however fast a slider moves.
function soon(row) {
  if (!state.waiting)
    requestAnimationFrame(() => {
      const moved = state.waiting;
      state.waiting = null;
      refresh(moved);
      rememberSoon();
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
  valued();
  pictures();
  comparison();
  nodes();
  detail();
}

// What every node and scope comes to here.
function valued() {
  state.alive = state.outside ? null : alive();
  for (const root of [state.root, state.scopes]) added(root, amountAt);
}

function amountAt(one, key) {
  if (state.outside) return null;
  const { alive } = state;
  if (key === "memory") return alive && one.nodes.reduce((sum, node) => sum + (alive.made.get(node) ?? 0n), 0n);
  const value = key === "time" && one.kind.problem ? 0n : valueAt(one.kind[key]); // what is known of it
  return value === null ? null : value * BigInt(one.nodes.length);
}

function pictures() {
  switches();
  icicle();
  graph();
  shares();
  growth();
  memory();
  roofline();
}

// What everything is drawn by; rows that are sorted by it stay so.
function drawBy(key) {
  if (state.sort?.column === state.by) state.sort = { ...state.sort, column: key };
  state.by = key;
  pictures();
  nodes();
  remember();
}

function switches() {
  byId("by").hidden = Object.keys(SWITCH).length < 2;
  byId("by").replaceChildren(
    ...Object.entries(SWITCH).map(([key, title]) =>
      element(
        "button",
        {
          type: "button",
          class: "plain",
          "data-by": key,
          "aria-pressed": String(key === state.by),
          onclick: () => drawBy(key),
        },
        title,
      ),
    ),
  );
}
