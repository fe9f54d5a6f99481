// The report: tables that sort, filter and fit, and closed forms to try out.

// ---- tables

function key(cell, numeric) {
  const text = cell.dataset.sort ?? cell.textContent.trim();
  if (!numeric) return text.toLowerCase();
  return text === "" ? -Infinity : Number(text);
}

function sortBy(header) {
  const table = header.closest("table");
  const column = [...header.parentNode.children].indexOf(header);
  const ascending = header.getAttribute("aria-sort") !== "ascending";
  for (const other of header.parentNode.children) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", ascending ? "ascending" : "descending");
  const numeric = header.classList.contains("number");
  closeRows(table);
  const body = table.tBodies[0];
  const keyed = [...body.rows].map((row, place) => [key(row.cells[column], numeric), place, row]);
  keyed.sort((a, b) => {
    const order = a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : a[1] - b[1];
    return a[0] === b[0] ? order : ascending ? order : -order;
  });
  body.append(...keyed.map((entry) => entry[2]));
}

function filterBy(input) {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const table = byId(input.dataset.table);
  closeRows(table);
  let shown = 0;
  for (const row of table.tBodies[0].rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
    shown += !row.hidden;
  }
  input.nextElementSibling.textContent = `${shown} of ${table.tBodies[0].rows.length} rows`;
}

function closeRows(table) {
  for (const row of table.querySelectorAll("tr.more")) row.remove();
  for (const row of table.querySelectorAll("tr.open")) row.classList.remove("open");
}

function column(table, place, hidden) {
  for (const row of table.rows) if (row.cells[place]) row.cells[place].hidden = hidden;
}

// Columns that do not fit are left to a row of their own, which a click opens: the widest ones first.
function fit(box) {
  const table = box.querySelector("table"),
    heads = [...table.tHead.rows[0].cells];
  const all = box.previousElementSibling.querySelector(".all");
  closeRows(table);
  heads.forEach((head, place) => {
    if (head.hidden) column(table, place, false);
  });
  const wanted = all.getAttribute("aria-pressed") === "false";
  while (wanted && table.scrollWidth > box.clientWidth + 1) {
    const left = heads.filter((head, place) => place && !head.hidden && !head.classList.contains("held"));
    if (left.length < 2) break;
    const widest = left.reduce((a, b) => (b.offsetWidth > a.offsetWidth ? b : a));
    column(table, heads.indexOf(widest), true);
  }
  const fitted = heads.some((head) => head.hidden);
  table.classList.toggle("fitted", fitted);
  all.hidden = !fitted && wanted;
}

function openRow(row) {
  const table = row.closest("table");
  if (!table.classList.contains("fitted") || row.classList.contains("more")) return;
  if (row.classList.toggle("open")) {
    const heads = [...table.tHead.rows[0].cells];
    const parts = heads.flatMap((head, place) =>
      head.hidden && row.cells[place].textContent.trim()
        ? [
            element("dt", {}, head.textContent),
            element("dd", {}, ...[...row.cells[place].childNodes].map((node) => node.cloneNode(true))),
          ]
        : [],
    );
    row.after(
      element(
        "tr",
        { class: "more" },
        element("td", { colspan: heads.filter((head) => !head.hidden).length }, element("dl", {}, ...parts)),
      ),
    );
  } else row.nextElementSibling.remove();
}

// ---- charts

const READABLE = 560; // pixels: a chart that is drawn narrower has letters too small to read

// The axis of a chart becomes shorter, so that it fits; letters, and what stands beside the axis, keep their size.
function narrow(svg, to) {
  const { width: wide, height: high } = svg.viewBox.baseVal;
  const number = (one, name) => Number(one.getAttribute(name));
  const lines = [...svg.querySelectorAll("line")];
  const left = Math.min(...lines.map((line) => number(line, "x1"))),
    right = Math.max(...lines.map((line) => number(line, "x2")));
  const legend = svg.querySelector(".legend");
  const end = to - (legend ? 20 : wide - right); // a legend goes below, and names of curves stay beside them
  const place = (x) => (x <= left ? x : x >= right ? x - right + end : left + ((x - left) * (end - left)) / (right - left));
  for (const [kind, ...names] of [["line", "x1", "x2"], ["circle", "cx"], ["text", "x"]])
    for (const one of svg.querySelectorAll(kind)) for (const name of names) one.setAttribute(name, place(number(one, name)));
  for (const one of svg.querySelectorAll("polyline"))
    one.setAttribute("points", one.getAttribute("points").replace(/(\S+),/g, (_, x) => `${place(Number(x))},`));
  let last = null;
  for (const text of svg.querySelectorAll("text[text-anchor=middle]")) {
    const own = text.getBBox();
    if (last?.y === own.y && own.x < last.x + last.width + 3) text.remove();
    else if (own.x + own.width > to) text.setAttribute("x", to - own.width / 2);
    else last = own;
  }
  let [x, y] = [left / 2, high + 12];
  for (const dot of svg.querySelectorAll(".legend circle")) {
    const text = dot.nextElementSibling,
      room = text.getComputedTextLength() + 22;
    if (x > left / 2 && x + room > to) [x, y] = [left / 2, y + 15];
    dot.setAttribute("cx", x);
    dot.setAttribute("cy", y - 3.5);
    text.setAttribute("x", x + 7);
    text.setAttribute("y", y);
    x += room;
  }
  svg.setAttribute("viewBox", `0 0 ${to} ${legend ? y + 6 : high}`);
}

const charts = [...document.querySelectorAll("figure svg")].map((svg) => [svg, svg.cloneNode(true)]);
function fitCharts() {
  for (const [svg, drawn] of charts) {
    const to = Math.floor(svg.clientWidth);
    svg.replaceChildren(...drawn.cloneNode(true).childNodes);
    svg.setAttribute("viewBox", drawn.getAttribute("viewBox"));
    if (to < READABLE) narrow(svg, to);
  }
}

// ---- live closed forms

const forms = JSON.parse(byId("forms").textContent);
const chosen = byId("live-form"),
  sliders = byId("live-dims");
const values = new Map(),
  asked = new Set();

function show(id, tree, needed) {
  const output = byId(id);
  try {
    if (needed.length) throw new Undefined(`it needs ${needed.join(", ")}`);
    const value = evaluate(tree, values);
    output.textContent = grouped(value);
    output.dataset.value = value.toString();
  } catch (error) {
    if (!(error instanceof Undefined)) throw error;
    output.textContent = error.message;
    output.dataset.value = "";
  }
}

function recompute() {
  const form = forms[chosen.value];
  const needed = form.requires.filter((one) => holds(one.test, values) === false).map((one) => one.text);
  show("live-eops", form.eops, needed);
  show("live-macs", form.macs, needed);
}

function setDimension(name, text, from) {
  asked.add(name);
  if (/^-?\d+$/.test(text)) values.set(name, BigInt(text));
  else values.delete(name);
  for (const input of sliders.querySelectorAll("input"))
    if (input.dataset.name === name && input !== from) input.value = text;
  recompute();
}

function choose() {
  const form = forms[chosen.value];
  byId("live-formula").replaceChildren(notation(form.math));
  byId("live-command").textContent = form.command;
  sliders.replaceChildren(
    ...form.symbols.map(([name, start]) => {
      if (!asked.has(name)) values.set(name, BigInt(start));
      const inputs = ["range", "number"].map((type) => {
        const input = element("input", {
          type,
          class: type === "number" ? "field" : null,
          min: 0,
          step: 1,
          max: type === "range" ? Math.max(1024, start) : null,
          "data-name": name,
          "aria-label": `${name} (${type})`,
          oninput: () => setDimension(name, input.value, input),
        });
        input.value = values.get(name).toString();
        return input;
      });
      return element("div", { class: "dim" }, element("label", {}, name), ...inputs);
    }),
  );
  recompute();
}

for (const header of document.querySelectorAll("thead th")) header.addEventListener("click", () => sortBy(header));
for (const input of document.querySelectorAll("input[data-table]"))
  input.addEventListener("input", () => filterBy(input));
for (const body of document.querySelectorAll("tbody"))
  body.addEventListener("click", (event) => {
    if (!event.target.closest("a, button")) openRow(event.target.closest("tr"));
  });
for (const all of document.querySelectorAll(".all"))
  all.addEventListener("click", () => {
    all.setAttribute("aria-pressed", String(all.getAttribute("aria-pressed") === "false"));
    fit(all.parentNode.nextElementSibling);
  });
const seen = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries)
      if (isIntersecting && target.dataset.wide !== String(innerWidth)) {
        target.dataset.wide = innerWidth;
        fit(target);
      }
  },
  { rootMargin: "600px" },
);
for (const box of document.querySelectorAll(".wide")) seen.observe(box);
addEventListener("resize", () => {
  fitCharts();
  for (const box of document.querySelectorAll(".wide")) {
    seen.unobserve(box);
    seen.observe(box);
  }
});
const reading = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries)
      if (isIntersecting)
        for (const link of document.querySelectorAll("nav a"))
          link.classList.toggle("here", link.hash === `#${target.id}`);
  },
  { rootMargin: "0px 0px -70% 0px" },
);
for (const title of document.querySelectorAll("h2[id]")) reading.observe(title);
chosen.addEventListener("change", choose);
byId("live-find").addEventListener("input", (event) => {
  const wanted = event.target.value.toLowerCase();
  const found = [...chosen.options].find((option) => option.textContent.toLowerCase().includes(wanted));
  if (wanted && found) {
    chosen.value = found.value;
    choose();
  }
});
// The page opens on a form with something to move; on a phone the list of sections is closed.
chosen.selectedIndex = Math.max(
  0,
  forms.findIndex((form) => form.symbols.length >= 3),
);
choose();
fitCharts();
themed(byId("theme"));
if (innerWidth <= 960) document.querySelector("nav details").open = false;
