// The address: what is chosen stands behind its #, so that a link shows the same, and Back goes one step back.

const OWN = new Map(); // what a length is where no address says it

function written() {
  const said = [];
  const say = (name, value) => said.push(`${name}=${encodeURIComponent(value)}`);
  for (const { name } of data.symbols)
    if (state.values.get(name) !== OWN.get(name)) say(encodeURIComponent(name), state.values.get(name) ?? "");
  const sort = sortText(state.sort);
  if (state.by !== "eops") say("@by", state.by);
  if (state.view !== firstView()) say("@view", state.view);
  if (sort !== sortText(firstSort(state.view))) say("@sort", sort);
  if (state.with !== firstWith()) say("@with", state.with ?? "");
  if (state.zoomed.length) said.push(`@scope=${state.zoomed.map(encodeURIComponent).join("/")}`);
  if (state.chosen?.kind) say("@node", state.chosen.node);
  if (byId("filter").value) say("@find", byId("filter").value);
  if (state.exact) say("@exact", 1);
  return said.join("&");
}

const sortText = (sort) => (sort ? `${sort.column}${sort.down ? "-" : "+"}` : "none");
// Growth is shown with the first length at which two costs turn; else with the one that tells most: two costs differ most
// from its least to its greatest value, or one grows fastest with it.
let first;
function firstWith() {
  const open = data.symbols.filter((one) => !one.data);
  first ??= data.with ?? open.find(turns)?.name ?? telling(open)?.name ?? null;
  return first;
}

const leading = () => data.other?.figures.find((one) => one.key === "eops");

function turns(symbol) {
  const eops = leading();
  if (!eops) return false;
  const gaps = places(symbol).map((n) => {
    const [a, b] = [eops.old, eops.new].map((form) => figureAt(form, withLength(symbol.name, n)));
    return a && b ? b[0] * a[1] - a[0] * b[1] : 0n;
  });
  return gaps.some((gap) => gap > 0n) && gaps.some((gap) => gap < 0n);
}

function telling(open) {
  const eops = leading(),
    whole = data.figures.find((one) => one.key === "eops")?.form;
  const worth = (form, symbol, n) => Math.log(decimal(figureAt(form, withLength(symbol.name, n)) ?? [0n, 1n]));
  const change = (symbol) => {
    const reached = places(symbol);
    const [low, high] = eops ? [reached[0], reached.at(-1)] : [Number(symbol.value), 2 * Number(symbol.value)];
    if (!low) return 0;
    const [from, to] = [low, high].map((n) => worth(eops ? eops.new : whole, symbol, n) - (eops ? worth(eops.old, symbol, n) : 0));
    return Math.abs(to - from) || 0;
  };
  const sized = open.map((symbol) => [symbol, change(symbol)]);
  const most = Math.max(...sized.map(([, size]) => size));
  return sized.findLast(([, size]) => size > most - 1e-9)?.[0];
}

let waiting = 0;
function remember() {
  clearTimeout(waiting);
  if (!state.started) return;
  const said = written();
  if (said === (location.hash.includes("=") ? location.hash.slice(1) : "")) return;
  state.linked = `#${said || "@"}`; // an empty one would scroll to the top
  location.hash = state.linked;
}

// A slider that moves is one step.
function rememberSoon() {
  clearTimeout(waiting);
  waiting = setTimeout(remember, 350);
}

function readLink() {
  const said = new Map();
  if (!location.hash.includes("=")) return said;
  for (const one of location.hash.slice(1).split("&")) {
    const [name, value = ""] = one.split("=");
    said.set(name[0] === "@" ? name : decoded(name), name === "@scope" ? value : decoded(value));
  }
  return said;
}

// Somebody may have written an address by hand.
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// The page was led to another address, unless it has just written it or goes to one of its parts.
function led() {
  if (location.hash === state.linked) return;
  state.linked = location.hash;
  if (["", "#@"].includes(location.hash) || location.hash.includes("=")) follow();
}

// Show what the address says; what it does not mention is as it was at first.
function follow() {
  const said = readLink();
  clearTimeout(waiting);
  for (const { name } of data.symbols) {
    const own = OWN.get(name);
    take(name, said.has(name) ? said.get(name) : own === undefined ? "" : String(own));
    const field = [...document.querySelectorAll("#lengths input[type=number]")].find((one) => one.dataset.name === name);
    field.value = state.values.get(name) ?? "";
  }
  const by = said.get("@by") ?? "";
  state.by = Object.hasOwn(SWITCH, by) ? by : "eops";
  state.with = said.get("@with") ?? firstWith();
  state.exact = said.has("@exact");
  byId("exact").checked = state.exact;
  byId("filter").value = said.get("@find") ?? "";
  state.zoomed = (said.get("@scope")?.split("/") ?? []).map(decoded);
  state.chosen = null;
  const view = said.get("@view") ?? "";
  state.view = Object.hasOwn(VIEWS, view) ? view : firstView();
  refresh();
  arrange(state.view);
  const sort = /^(.+)([-+])$/.exec(said.get("@sort") ?? "");
  if (sort && COLUMNS.some((one) => one.key === sort[1])) state.sort = { column: sort[1], down: sort[2] === "-" };
  else if (said.get("@sort") === "none") state.sort = null;
  nodes();
  const node = Number(said.get("@node") ?? NaN);
  if (node in data.nodes) reveal(node, false, false);
  else choose(null);
}
