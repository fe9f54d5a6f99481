// Lengths: a field and a slider for each, and the conditions that they are held to.

const fine = (values) => !broken(values).length;
const withLength = (name, value) => new Map(state.values).set(name, BigInt(value));

// The places of a slider: powers of two and halves between them, the example, and where conditions begin and end to
// hold.  Nothing else can be reached with it: a field takes any number.
function places({ name, value }) {
  const found = new Set([1, 2, 3, Number(value)]);
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
  return [...found].filter((n) => n <= FURTHEST && fine(withLength(name, n))).sort((a, b) => a - b);
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
    element("div", { class: "top" }, element("var", {}, visible(symbol.name)), number),
    range,
    element("div", { class: "ends quiet" }),
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

// What only data decides is not known until somebody says it.
function dataRow(symbol) {
  const number = element("input", {
    type: "number",
    class: "field",
    min: 0,
    step: 1,
    value: symbol.value ?? "",
    placeholder: "by data",
    "data-name": symbol.name,
    "aria-label": `${symbol.name}, which data decides`,
  });
  number.addEventListener("input", () => {
    take(symbol.name, number.value);
    soon(number);
  });
  return element("div", { class: "by-data" }, element("var", {}, visible(symbol.name)), number);
}

function take(name, text) {
  if (/^\d{1,40}$/.test(text)) state.values.set(name, BigInt(text));
  else state.values.delete(name);
}

// A slider goes from the first to the last length at which the conditions hold, with the others as they are.
function painted(row, moved) {
  const { name } = row.symbol;
  if (row !== moved || !row.places) row.places = places(row.symbol);
  row.range.disabled = !row.places.length;
  row.range.max = Math.max(row.places.length - 1, 0);
  const own = Number(state.values.get(name) ?? 1n);
  if (row.places.length && (row !== moved || document.activeElement !== row.range))
    row.range.value = row.places.reduce(
      (best, n, k) => (Math.abs(Math.log(n / own)) < Math.abs(Math.log(row.places[best] / own)) ? k : best),
      0,
    );
  row.range.setAttribute("aria-valuetext", `${name} = ${grouped(own)}`);
  const ends = row.places.length ? [row.places[0], row.places.at(-1)].map(grouped) : [];
  row.querySelector(".ends").replaceChildren(...ends.map((end) => element("span", {}, end)));
}

function conditions() {
  const requires = required();
  byId("conditions-card").hidden = !requires.length;
  byId("conditions").replaceChildren(
    ...requires.map((one) => {
      const found = holds(one.test, state.values, formOf);
      return element(
        "li",
        { class: found === null ? "open" : found ? "holds" : "fails" },
        element("code", {}, one.text),
        element("div", { class: "quiet" }, one.node ? `${one.reason} (${one.node})` : one.reason),
      );
    }),
  );
}
