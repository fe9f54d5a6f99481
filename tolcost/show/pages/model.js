// The page of a model: lengths on the left, and what follows from them everywhere else.

const data = JSON.parse(byId("data").textContent);
const NAMES = data.amounts;
const KEYS = Object.keys(NAMES);
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
