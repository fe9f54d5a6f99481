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
const PREFIXES = ["", "k", "M", "G", "T", "P", "E", "Z", "Y", "R", "Q"];

// A quotient rounded to some decimal places, a tie to the even digit; exact, as decimal_text in shorten.py.
function rounded(top, bottom, places) {
  const size = top < 0n ? -top : top,
    tens = 10n ** BigInt(places);
  let whole = (size * tens) / bottom;
  const twice = 2n * (size * tens - whole * bottom);
  if (twice > bottom || (twice === bottom && whole % 2n)) whole += 1n;
  const behind = places ? `.${String(whole % tens).padStart(places, "0")}` : "";
  return `${top < 0n && whole ? "-" : ""}${grouped(whole / tens)}${behind}`;
}

// A number of a script as a quotient of integers: exactly, every double is one.
function quotient(value) {
  let bottom = 1n;
  while (!Number.isInteger(value)) [value, bottom] = [2 * value, 2n * bottom];
  return [BigInt(value), bottom];
}

// Three digits and a prefix, as si in shorten.py: 1.23 G, 1.00 MB; integers below 1000 are whole.
function short(value, unit = "") {
  if (typeof value === "number") value = Number.isInteger(value) ? BigInt(value) : quotient(value);
  const behind = unit && ` ${unit}`;
  const [top, bottom] = typeof value === "bigint" ? [value, 1n] : value;
  const size = top < 0n ? -top : top;
  if (typeof value === "bigint" && size < 1000n) return `${value}${behind}`;
  if (10_000n * size < 9995n * bottom) return `${tiny(top, bottom)}${behind}`;
  let scaled = bottom,
    power = 0;
  while (2n * size >= 1999n * scaled && power < PREFIXES.length - 1) [scaled, power] = [1000n * scaled, power + 1];
  if (2n * size >= 1999n * scaled) return `${scientific(top, bottom)}${behind}`;
  const places = 100n * size >= 9995n * scaled ? 0 : 1000n * size >= 9995n * scaled ? 1 : 2;
  const mark = `${PREFIXES[power]}${unit}`;
  return `${rounded(top, scaled, places)}${mark && ` ${mark}`}`;
}

// Three digits of what is below 1: 0.25, 1.25e-05.
function tiny(top, bottom) {
  if (!top) return "0";
  const size = top < 0n ? -top : top,
    minus = top < 0n ? "-" : "";
  let power = String(size).length - String(bottom).length;
  if (size * 10n ** BigInt(-power) < bottom) power -= 1; // of the first digit that is not 0
  let digits = rounded(size * 10n ** BigInt(2 - power), bottom, 0).replace(",", "");
  if (digits.length > 3) [digits, power] = ["100", power + 1];
  if (power >= -4) return `${minus}0.${digits.padStart(2 - power, "0").replace(/0+$/, "")}`;
  return `${minus}${Number(digits) / 100}e-${String(-power).padStart(2, "0")}`;
}

// For what is beyond all prefixes: 2.41e+462.
function scientific(top, bottom) {
  const size = top < 0n ? -top : top;
  let power = String(size / bottom).length - 1;
  let digits = rounded(size, bottom * 10n ** BigInt(power - 2), 0).replace(",", "");
  if (digits.length > 3) [digits, power] = ["100", power + 1];
  return `${top < 0n ? "-" : ""}${digits[0]}.${digits.slice(1)}e+${power}`;
}

// A quotient to all digits that a number has, however small or large its sides are.
function decimal([top, bottom]) {
  const places = Math.max(String(bottom).length - String(top).length, 0) + 18;
  return Number(`${(top * 10n ** BigInt(places)) / bottom}e-${places}`);
}

const percent = (part, whole) => (whole > 0n ? Number((part * 10n ** 15n) / whole) / 1e13 : 0);
// A share with one decimal place, as percent_text in shorten.py.
const inPercent = (part, whole) => (whole > 0n ? `${rounded(100n * part, whole, 1)} %` : "");

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

// What stands in backquotes is code.
const marked = (text) => text.split(/`([^`]+)`/).map((part, k) => (k % 2 ? element("code", {}, part) : part));

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

// A form in lines: a browser breaks no formula, so each term of its sums is one of its own.
function wrapping(markup) {
  const box = notation(markup);
  box.classList.add("terms");
  const math = box.querySelector("math");
  if (!math) return box;
  const flat = (row) => row.localName === "mrow" && !row.querySelector("mfrac, munderover");
  for (let row; (row = [...math.children].find(flat)); ) row.replaceWith(...row.childNodes);
  const terms = [[]];
  for (const sign of [...math.childNodes]) {
    const last = terms.at(-1);
    if ((/^[+−-]$/.test(sign.textContent) || last.at(-1)?.textContent === ",") && last.length) terms.push([]);
    terms.at(-1).push(sign);
  }
  const whole = terms.map((signs) => {
    const term = document.createElementNS(math.namespaceURI, "math");
    term.append(...signs);
    if (/^[+−-]$/.test(signs[0].textContent)) signs[0].setAttribute("form", "infix");
    return term;
  });
  box.replaceChildren(...whole.flatMap((term) => [term, element("wbr")]));
  return box;
}

// ---- light and dark

function themed(button) {
  button?.addEventListener("click", () => {
    const dark = getComputedStyle(document.documentElement).colorScheme === "dark";
    document.documentElement.dataset.theme = dark ? "light" : "dark";
  });
}
