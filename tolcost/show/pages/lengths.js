// Lengths: a field and a slider for each, and the conditions that they are held to.

const fine = (values) => !broken(values).length;
const withLength = (name, value) => new Map(state.values).set(name, BigInt(value));

// The places of a slider: powers of two and halves between them, the example, and where conditions begin and end to
// hold.  Places where they do not are left out, unless they hold at none.
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
  const all = [...found].filter((n) => n <= FURTHEST).sort((a, b) => a - b),
    allowed = all.filter((n) => fine(withLength(name, n)));
  return allowed.length ? allowed : all;
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

// Where on a slider the conditions hold is painted below it.
function painted(row, moved) {
  const { name } = row.symbol;
  if (row !== moved || !row.places) row.places = places(row.symbol);
  row.range.max = row.places.length - 1;
  const own = Number(state.values.get(name) ?? 1n);
  if (row !== moved || document.activeElement !== row.range)
    row.range.value = row.places.reduce(
      (best, n, k) => (Math.abs(Math.log(n / own)) < Math.abs(Math.log(row.places[best] / own)) ? k : best),
      0,
    );
  const stops = row.places.map((n, k) => [k / Math.max(row.places.length - 1, 1), fine(withLength(name, n))]);
  const colour = (good) => (good ? "var(--accent)" : "var(--line)");
  row.querySelector(".track").style.background =
    `linear-gradient(90deg, ${stops.map(([at, good]) => `${colour(good)} ${(100 * at).toFixed(1)}%`).join(", ")})`;
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
        element("code", { title: one.text }, one.text),
        element("div", { class: "quiet", title: one.reason }, one.node ? `${one.reason} (${one.node})` : one.reason),
      );
    }),
  );
}
