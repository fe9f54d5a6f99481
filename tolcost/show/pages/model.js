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

// The conditions of what is shown: of two models, if there are two.
const required = () =>
  [...data.requires, ...(data.other?.requires ?? [])].filter(
    ({ text }, k, all) => all.findIndex((one) => one.text === text) === k,
  );

// What does not hold at some lengths, in words.
function broken(values) {
  const found = required()
    .filter((one) => holds(one.test, values) === false)
    .map((one) => one.text);
  for (const { name, low, high } of data.symbols) {
    const own = values.get(name),
      [least, most] = [valueAt(low, values), valueAt(high, values)];
    if (own === undefined) found.push(`${name} is a whole number`);
    else if (least !== null && own < least) found.push(`${name} >= ${grouped(least)}`);
    else if (most !== null && own > most) found.push(`${name} <= ${grouped(most)}`);
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
  detail();
}
