"use strict";
// Sorting and filtering of tables, and closed forms evaluated exactly with big integers.
(() => {
  const STEPS = 2000000;   // a sum without a closed form that is longer than this is not worked out

  class Undefined extends Error {}

  function floorDivide(a, b) {
    if (b === 0n) throw new Undefined("a division by 0");
    const quotient = a / b;
    return a % b !== 0n && (a < 0n) !== (b < 0n) ? quotient - 1n : quotient;
  }

  function evaluate(tree, values, budget = { left: STEPS }) {
    if (--budget.left < 0) throw new Undefined("a sum that is too long to work out here");
    if (typeof tree === "number" || typeof tree === "string") return BigInt(tree);
    if (!Array.isArray(tree)) {
      if (!(tree.v in values)) throw new Undefined("no value for " + tree.v);
      return values[tree.v];
    }
    const [kind, ...parts] = tree;
    const at = (part) => evaluate(part, values, budget);
    switch (kind) {
      case "+": return parts.reduce((sum, part) => sum + at(part), 0n);
      case "*": return parts.reduce((product, part) => product * at(part), 1n);
      case "/": {
        const top = at(parts[0]), bottom = at(parts[1]);
        if (bottom === 0n || top % bottom !== 0n) throw new Undefined("not an integer here");
        return top / bottom;
      }
      case "f": return floorDivide(at(parts[0]), at(parts[1]));
      case "m": { const value = at(parts[0]); return value > 0n ? value : 0n; }
      case "s": {
        const [body, name, low, high] = parts;
        const last = at(high);
        let sum = 0n;
        for (let n = at(low); n <= last; n++) sum += evaluate(body, { ...values, [name]: n }, budget);
        return sum;
      }
      default: throw new Undefined("an unknown form");
    }
  }

  const grouped = (value) => value.toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",");

  // ---- tables ----

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
    const rows = document.getElementById(input.dataset.table).tBodies[0].rows;
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    input.nextElementSibling.textContent = `${shown} of ${rows.length} rows`;
  }

  // ---- live closed forms ----

  const forms = JSON.parse(document.getElementById("forms").textContent);
  const chosen = document.getElementById("live-form");
  const sliders = document.getElementById("live-dims");
  const values = {};

  function show(id, tree) {
    const output = document.getElementById(id);
    try {
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
    show("live-eops", form.eops);
    show("live-macs", form.macs);
  }

  function setDimension(name, text, from) {
    if (!/^-?\d+$/.test(text)) return;
    values[name] = BigInt(text);
    for (const input of sliders.querySelectorAll("input"))
      if (input.dataset.name === name && input !== from) input.value = text;
    recompute();
  }

  function choose() {
    const form = forms[chosen.value];
    document.getElementById("live-formula").innerHTML = form.math;
    document.getElementById("live-command").textContent = form.command;
    sliders.textContent = "";
    for (const name of form.symbols) {
      values[name] ??= 8n;
      const row = document.createElement("div");
      row.className = "dim";
      const label = document.createElement("label");
      label.textContent = name;
      row.append(label);
      for (const type of ["range", "number"]) {
        const input = document.createElement("input");
        Object.assign(input, { type, min: "0", step: "1" });
        if (type === "range") input.max = "1024";
        input.value = values[name].toString();
        input.dataset.name = name;
        input.setAttribute("aria-label", `${name} (${type})`);
        input.addEventListener("input", () => setDimension(name, input.value, input));
        row.append(input);
      }
      sliders.append(row);
    }
    recompute();
  }

  for (const header of document.querySelectorAll("thead th"))
    header.addEventListener("click", () => sortBy(header));
  for (const input of document.querySelectorAll("input[data-table]"))
    input.addEventListener("input", () => filterBy(input));
  chosen.addEventListener("change", choose);
  document.getElementById("live-find").addEventListener("input", (event) => {
    const wanted = event.target.value.toLowerCase();
    const found = [...chosen.options].find((option) => option.textContent.toLowerCase().includes(wanted));
    if (wanted && found) { chosen.value = found.value; choose(); }
  });
  // The page opens on a form with something to move.
  chosen.selectedIndex = Math.max(0, forms.findIndex((form) => form.symbols.length >= 3));
  choose();
  window.tolcost = { evaluate, forms };
})();
