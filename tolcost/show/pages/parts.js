// What the pages share: exact values of closed forms, numbers for people, and making elements.

const STEPS = 2_000_000; // a sum without a closed form that is longer than this is not worked out

class Undefined extends Error {}
class Unbound extends Undefined {} // something in it has no value here

function floorDivide(a, b) {
  if (b === 0n) throw new Undefined("a division by 0");
  const quotient = a / b;
  return a % b !== 0n && a < 0n !== b < 0n ? quotient - 1n : quotient;
}

// The value of a form, as a big integer; `values` has one for each name.
function evaluate(tree, values, budget = { left: STEPS }) {
  if (--budget.left < 0) throw new Undefined("a sum that is too long to work out here");
  if (typeof tree === "number" || typeof tree === "string") return BigInt(tree);
  if (!Array.isArray(tree)) {
    if (!values.has(tree.v)) throw new Unbound(`no value for ${tree.v}`);
    return values.get(tree.v);
  }
  const [kind, ...parts] = tree;
  const at = (part) => evaluate(part, values, budget);
  switch (kind) {
    case "+":
      return parts.reduce((sum, part) => sum + at(part), 0n);
    case "*":
      return parts.reduce((product, part) => product * at(part), 1n);
    case "/": {
      const top = at(parts[0]),
        bottom = at(parts[1]);
      if (bottom === 0n || top % bottom !== 0n) throw new Undefined("not an integer here");
      return top / bottom;
    }
    case "f":
      return floorDivide(at(parts[0]), at(parts[1]));
    case "m": {
      const value = at(parts[0]);
      return value > 0n ? value : 0n;
    }
    case "l": {
      const value = at(parts[0]);
      if (value < 1n) throw new Undefined("a logarithm of nothing");
      return BigInt((value - 1n).toString(2).length) - (value === 1n ? 1n : 0n);
    }
    case "p": {
      const power = at(parts[1]);
      if (power < 0n || power > 100_000n) throw new Undefined("a power that is too large to work out here");
      return BigInt(parts[0]) ** power;
    }
    case "s": {
      const [body, name, low, high] = parts;
      const last = at(high);
      let sum = 0n;
      for (let n = at(low); n <= last; n++) sum += evaluate(body, new Map(values).set(name, n), budget);
      return sum;
    }
    default:
      throw new Undefined("an unknown form");
  }
}

// Whether a condition holds: true, false, or null where something in it is open; `formOf` finds its forms.
function holds(test, values, formOf = (form) => form) {
  if (typeof test === "boolean") return test;
  const [kind, ...parts] = test;
  if (kind === "and" || kind === "or") {
    const found = parts.map((part) => holds(part, values, formOf));
    const decisive = kind === "or";
    return found.includes(decisive) ? decisive : found.includes(null) ? null : !decisive;
  }
  if (kind === "not") {
    const found = holds(parts[0], values, formOf);
    return found === null ? null : !found;
  }
  try {
    const found = evaluate(formOf(parts[0]), values);
    return kind === ">=" ? found >= 0n : found === 0n;
  } catch (error) {
    if (!(error instanceof Undefined)) throw error;
    return error instanceof Unbound ? null : false;
  }
}

// ---- numbers for people

const grouped = (value) => value.toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",");
const UNITS = ["", "k", "M", "G", "T", "P", "E", "Z", "Y", "R", "Q"];

// Three digits and a unit: 1.23 G; small numbers as they are, and those beyond all units by their power of ten.
function short(value) {
  const n = Number(value);
  const digits = String(value);
  if (!Number.isFinite(n)) return `${digits[0]}.${digits.slice(1, 3)}e+${digits.length - 1}`;
  if (Math.abs(n) >= 1e33) return n.toExponential(2);
  if (Math.abs(n) < 10_000) return Number.isInteger(n) ? grouped(n) : String(Number(n.toPrecision(3)));
  const scaled = (power) => Number((n / 10 ** (3 * power)).toPrecision(3));
  const least = Math.min(Math.floor(Math.log10(Math.abs(n)) / 3), UNITS.length - 1);
  const power = Math.abs(scaled(least)) >= 1000 && least < UNITS.length - 1 ? least + 1 : least; // 999,999 is 1 M
  return `${scaled(power)} ${UNITS[power]}`;
}

// A quotient to all digits that a number has, however small or large its sides are.
function decimal([top, bottom]) {
  const places = Math.max(String(bottom).length - String(top).length, 0) + 18;
  return Number(`${(top * 10n ** BigInt(places)) / bottom}e-${places}`);
}

const percent = (part, whole) => (whole > 0n ? Number((part * 10n ** 15n) / whole) / 1e13 : 0);
const inPercent = (share) =>
  `${share >= 10 ? share.toFixed(0) : share >= 0.95 ? share.toFixed(1) : share >= 0.01 ? share.toFixed(2) : share > 0 ? "<0.01" : 0} %`;

// A name from outside: what does not show, or acts on the text around it, is written as an escape.
const visible = (name) => name.replace(/\p{C}/gu, (sign) => `\\u{${sign.codePointAt(0).toString(16)}}`);

// ---- elements

function set(made, attributes) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false)
      made.setAttribute(key, value === true ? "" : value);
  }
  return made;
}

function element(name, attributes = {}, ...children) {
  const made = set(document.createElement(name), attributes);
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

function drawn(name, attributes = {}, ...children) {
  const made = set(document.createElementNS("http://www.w3.org/2000/svg", name), attributes);
  made.append(...children.filter((child) => child !== null));
  return made;
}

const byId = (id) => document.getElementById(id);

// A form in the notation of mathematics: markup that tolcost wrote, names in it escaped there.
function notation(markup) {
  const box = element("span", { class: "form" });
  box.innerHTML = markup;
  for (const sign of box.querySelectorAll("mo")) {
    if (
      sign.textContent === "\u2062" &&
      [sign.previousElementSibling, sign.nextElementSibling].every((one) => /[\p{L}\d]/u.test(one?.textContent ?? ""))
    )
      sign.setAttribute("lspace", ".17em");
    if (!sign.parentElement.querySelector("mfrac, munderover")) sign.setAttribute("stretchy", "false");
  }
  return box;
}

// ---- light and dark

function themed(button) {
  button?.addEventListener("click", () => {
    const dark = getComputedStyle(document.documentElement).colorScheme === "dark";
    document.documentElement.dataset.theme = dark ? "light" : "dark";
  });
}
