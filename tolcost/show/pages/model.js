"use strict";
// Evaluates the text form of expressions exactly, as fractions of big integers.
const data = JSON.parse(document.getElementById("data").textContent);
const gcd = (a, b) => { a = a < 0n ? -a : a; while (b) [a, b] = [b, a % b]; return a; };
const make = (n, d) => { if (d < 0n) { n = -n; d = -d; } const g = gcd(n, d) || 1n; return { n: n / g, d: d / g }; };
const whole = (x) => { const q = x.n / x.d; return x.n < 0n && q * x.d !== x.n ? q - 1n : q; };
const less = (a, b) => a.n * b.d < b.n * a.d;

function tokens(text) {
  const found = text.match(/`[^`]*`|[A-Za-z_][A-Za-z0-9_]*|[0-9]+(?:\.[0-9]+)?|\*\*|<=|>=|==|!=|[-+*/(),<>]/g);
  return found || [];
}

function evaluate(text, names) {
  const list = tokens(text);
  let at = 0;
  const peek = () => list[at];
  const take = (expected) => {
    if (expected && list[at] !== expected) throw new Error("unexpected " + list[at]);
    return list[at++];
  };
  function sum() {
    let left = product();
    while (peek() === "+" || peek() === "-") {
      const sign = take() === "+" ? 1n : -1n;
      const right = product();
      left = make(left.n * right.d + sign * right.n * left.d, left.d * right.d);
    }
    return left;
  }
  function product() {
    let left = unary();
    while (peek() === "*" || peek() === "/") {
      const times = take() === "*";
      const right = unary();
      left = times ? make(left.n * right.n, left.d * right.d) : make(left.n * right.d, left.d * right.n);
    }
    return left;
  }
  function unary() {
    if (peek() === "-") { take(); const x = unary(); return make(-x.n, x.d); }
    const base = single();
    if (peek() !== "**") return base;
    take();
    const power = unary();
    return make(base.n ** power.n, base.d ** power.n);
  }
  function several() {
    take("(");
    const found = [sum()];
    while (peek() === ",") { take(); found.push(sum()); }
    take(")");
    return found;
  }
  function single() {
    const word = take();
    if (word === "(") { const inside = sum(); take(")"); return inside; }
    if (/^[0-9]/.test(word)) {
      const [units, places = ""] = word.split(".");
      return make(BigInt(units + places), 10n ** BigInt(places.length));
    }
    if (word === "floor") return make(whole(several()[0]), 1n);
    if (word === "ceiling") {
      if (peek() === "(" && list[at + 1] === "log") return logarithm();
      const x = several()[0];
      return make(-whole(make(-x.n, x.d)), 1n);
    }
    if (word === "Max") return several().reduce((a, b) => (less(a, b) ? b : a));
    if (word === "Min") return several().reduce((a, b) => (less(b, a) ? b : a));
    const name = word.replace(/^`|`$/g, "");
    if (names.has(name)) return make(names.get(name), 1n);
    throw new Error("open");
  }
  function logarithm() {
    take("("); take("log"); take("(");
    const x = sum();
    take(","); sum(); take(")"); take(")");
    let e = 0n;
    while (make(2n ** e, 1n).n * x.d < x.n) e += 1n;
    return make(e, 1n);
  }
  const result = sum();
  if (at < list.length) throw new Error("unexpected " + list[at]);
  return result;
}

const show = (x) => {
  if (x.d === 1n) return x.n.toLocaleString("en");
  return (Number((x.n * 10000n) / x.d) / 10000).toLocaleString("en");
};

function value(text, names) {
  if (text === null) return null;
  try { return evaluate(text, names); } catch { return null; }
}

function cell(row, text, kind) {
  const made = row.insertCell();
  if (kind === "code") { const code = document.createElement("code"); code.textContent = text; made.append(code); }
  else made.textContent = text;
  if (kind === "number") made.className = "number";
  return made;
}

function lengths() {
  const found = new Map();
  for (const input of document.querySelectorAll("#lengths input")) {
    if (/^[0-9]{1,10}$/.test(input.value)) found.set(input.dataset.name, BigInt(input.value));
  }
  return found;
}

function fill(table, head, rows) {
  table.textContent = "";
  const titles = table.createTHead().insertRow();
  for (const title of head) { const made = document.createElement("th"); made.textContent = title; titles.append(made); }
  const body = table.createTBody();
  for (const row of rows) row(body.insertRow());
}

// Whether a condition holds: true, false, or null where something in it is open.
function holds(test, names) {
  if (typeof test === "boolean") return test;
  const [kind, ...parts] = test;
  if (kind === "and" || kind === "or") {
    const found = parts.map((part) => holds(part, names));
    const decisive = kind === "or";
    return found.includes(decisive) ? decisive : found.includes(null) ? null : !decisive;
  }
  if (kind === "not") { const found = holds(parts[0], names); return found === null ? null : !found; }
  const found = value(parts[0], names);
  if (found === null) return null;
  return kind === ">=" ? found.n >= 0n : found.n === 0n;
}

// What does not hold at these lengths, in words; figures are shown where nothing is in the way.
function broken(names) {
  const found = data.requires.filter((one) => holds(one.test, names) === false).map((one) => one.text);
  for (const symbol of data.symbols) {
    const own = names.get(symbol.name);
    const low = value(symbol.low, names), high = value(symbol.high, names);
    if (own !== undefined && low && own < whole(low)) found.push(symbol.name + " >= " + show(low));
    if (own !== undefined && high && own > whole(high)) found.push(symbol.name + " <= " + show(high));
  }
  return found;
}

function draw() {
  const given = lengths();
  const outside = broken(given);
  const names = outside.length ? new Map() : given;
  const told = document.getElementById("outside");
  told.hidden = !outside.length;
  told.textContent = outside.length ? "no figures at these lengths: the model holds where " + outside.join(", ") : "";
  fill(document.getElementById("figures"), ["figure", "closed form", "value"], data.figures.map((figure) => (row) => {
    const found = value(figure.form, names);
    cell(row, figure.unit ? figure.label + " (" + figure.unit + ")" : figure.label);
    cell(row, figure.form === null ? "not known" : figure.form, "code");
    cell(row, found ? show(found) : "", "number");
  }));
  const sized = data.groups.map((group) => ({ group, eops: value(group.eops, names), macs: value(group.macs, names) }));
  const all = sized.reduce((sum, item) => sum + (item.eops ? item.eops.n : 0n), 0n);
  fill(document.getElementById("groups"), [data.by, "nodes", "EOPs", "MACs", "closed form", "share"], sized.map((item) => (row) => {
    cell(row, item.group.title);
    cell(row, String(item.group.nodes), "number");
    cell(row, item.eops ? show(item.eops) : "", "number");
    cell(row, item.macs ? show(item.macs) : "", "number");
    cell(row, item.group.eops, "code");
    const part = item.eops && all ? Number((item.eops.n * 1000n) / all) / 10 : 0;
    const last = cell(row, part ? part + " % " : "");
    const bar = document.createElement("span");
    bar.className = "bar";
    bar.style.width = part / 2 + "%";
    last.append(bar);
  }));
}

const form = document.getElementById("lengths");
for (const symbol of data.symbols) {
  const label = document.createElement("label");
  label.textContent = symbol.name + " ";
  const input = document.createElement("input");
  input.type = "number";
  input.min = "1";
  input.value = String(symbol.value);
  input.dataset.name = symbol.name;
  input.addEventListener("input", draw);
  label.append(input);
  form.append(label);
}
form.addEventListener("submit", (event) => event.preventDefault());
draw();
