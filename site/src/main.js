// The page: what is written on the left, what it costs on the right, live.
import { Engine } from "./engine.js";
import { chart } from "./chart.js";
import { marked, short } from "./pages.js"; // what pages share, so that one number has one spelling
import { applyFix, makeEditor, showCosts, showDiagnostics } from "./language.js";
import { acceptModels } from "./models.js";

const $ = (id) => document.getElementById(id);
const state = { compare: false, dims: {}, sweep: null, tab: "derivation", views: {}, answers: {}, examples: [] };

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

function math(form) {
  if (!form) return element("span", { class: "quiet" }, "not known");
  if (!form.math) return element("code", {}, form.text);
  const box = element("span", { title: form.text });
  box.innerHTML = form.math; // MathML that tolcost wrote; names in it are escaped there
  for (const sign of box.querySelectorAll("mo")) {
    if (!sign.parentElement.querySelector("mfrac, munderover")) sign.setAttribute("stretchy", "false");
  }
  return box;
}

// ---- formulas that are never cut

// Makes what an element holds fit its width: smaller first, then broken at sums, at last as text that wraps anywhere.
function fit(box, form, least = 0.55) {
  box.replaceChildren(math(form));
  box.style.fontSize = "";
  const full = parseFloat(getComputedStyle(box).fontSize);
  const fits = () => box.scrollWidth <= box.clientWidth + 1;
  const shrink = () => {
    for (let share = 1; share >= least - 0.01 && !fits(); share -= 0.15) box.style.fontSize = `${full * share}px`;
    return fits();
  };
  if (!box.clientWidth || shrink()) return;
  breakAtSums(box);
  if (shrink()) return;
  box.style.fontSize = "";
  box.replaceChildren(element("code", {}, form.text));
}

// A line of MathML does not break by itself: each term of the outermost sum becomes a piece of its own.
function breakAtSums(box) {
  let row = box.querySelector("math");
  while (row?.children.length === 1 && ["mrow", "mstyle"].includes(row.firstElementChild.localName)) row = row.firstElementChild;
  if (!row) return;
  const pieces = [[]];
  for (const child of [...row.children]) {
    if (child.localName === "mo" && /^[+\u2212-]$/.test(child.textContent.trim()) && pieces.at(-1).length) {
      child.setAttribute("form", "infix"); // it begins a line now
      pieces.push([]);
    }
    pieces.at(-1).push(child);
  }
  const whole = box.querySelector("math");
  whole.replaceWith(...pieces.map((piece) => {
    const part = document.createElementNS("http://www.w3.org/1998/Math/MathML", "math");
    part.append(...piece);
    return part;
  }));
}

const fitted = new Map();
const resized = new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) {
    const kept = fitted.get(target);
    if (!target.isConnected) { fitted.delete(target); resized.unobserve(target); }
    else if (kept && kept.wide !== contentRect.width) { kept.wide = contentRect.width; fit(target, kept.form); }
  }
});

function showFitted(box, form) {
  fit(box, form);
  fitted.set(box, { form, wide: box.clientWidth });
  resized.observe(box);
  return box;
}

const grouped = (value) => {
  if (value === null || value === undefined) return null;
  const text = String(value);
  return /^-?\d+$/.test(text) ? text.replace(/\B(?=(\d{3})+(?!\d))/g, ",") : text;
};

// ---- the engine

const engine = new Engine((what, detail) => {
  if (what === "ready") {
    $("loading").hidden = true;
    // Only once: what was stopped would be asked again, and stopped again, for as long as the page is open.
    if (!document.documentElement.dataset.ready) refresh();
    document.documentElement.dataset.ready = detail.seconds.toFixed(2);
    document.documentElement.dataset.fetched = String(detail.fetched);
  } else if (what === "loading") {
    loading(detail);
  } else if (what === "stopped") {
    $("stopped").textContent = `That took longer than ${detail} seconds and was stopped. Try smaller lengths, or change the program.`;
    $("stopped").hidden = false;
    $("loading").hidden = false;
    hideAnswer(0);
    $("unanswered").hidden = true;
  } else {
    toast(`Python could not be loaded: ${detail}`);
  }
});

const mega = (bytes) => (bytes / 1e6).toFixed(1);

function loading({ progress, total, step }) {
  const bar = $("progress");
  if (step || progress >= total) bar.removeAttribute("value"); // what is left takes as long as it takes
  else bar.value = progress / total;
  $("loading-step").textContent = step ?? (progress < total ? `${mega(progress)} of ${mega(total)} MB` : "Starting Python");
}

globalThis.playground = { engine, state };
const ask = (request, lane) => engine.ask(request, lane);
const text = (which) => state.views[which].state.doc.toString();

// ---- analysis

async function refresh(which) {
  const began = performance.now();
  await Promise.all((which ? [which] : state.compare ? ["a", "b"] : ["a"]).map(analyse));
  if (state.compare) await compare();
  document.documentElement.dataset.took = String(Math.round(performance.now() - began));
  performance.mark("answered");
}

async function analyse(which) {
  const written = text(which);
  let found;
  try {
    found = await ask({ do: "analyse", text: written }, `analyse-${which}`);
  } catch (error) {
    return toast(error.message);
  }
  if (!found || written !== text(which)) return;
  $("stopped").hidden = true;
  state.answers[which] = found;
  const view = state.views[which];
  showDiagnostics(view, found.diagnostics ?? []);
  showCosts(view, (found.lines ?? []).map(({ line, eops }) => ({ line, text: eops })));
  problems();
  if (which === "a") {
    show(found);
    if (found.eops) await numbers();
  }
}

function problems() {
  const rows = [];
  for (const which of state.compare ? ["a", "b"] : ["a"]) {
    for (const one of state.answers[which]?.diagnostics ?? []) rows.push(problem(which, one));
  }
  $("problems").replaceChildren(...rows);
}

function go(which, one) {
  const view = state.views[which];
  view.dispatch({ selection: { anchor: Math.min(one.from, view.state.doc.length) }, scrollIntoView: true });
  view.focus();
}

function problem(which, one) {
  const fix = one.fix && element("button", {
    type: "button", class: "fix", onclick: () => applyFix(state.views[which], one.fix),
  }, one.fix.title);
  const where = one.line ? `${state.compare ? which.toUpperCase() + " " : ""}line ${one.line}` : "";
  return element("div", { class: `problem ${one.severity}` },
    element("button", { type: "button", class: "where", onclick: () => go(which, one) }, where || one.code),
    element("p", {}, one.message, one.hint ? element("span", { class: "quiet" }, ` ${one.hint}`) : null),
    fix || element("a", { class: "quiet code", href: `docs/diagnostics/${one.code}.html`, target: "_blank" }, one.code));
}

// ---- what is shown

const PAUSE = 600; // a mistake of one moment, while a word is typed, leaves the old answer, marked as old

function show(found) {
  clearTimeout(show.timer);
  $("unanswered").hidden = Boolean(found.eops);
  if (!found.eops) {
    unanswered(found);
    return hideAnswer(state.shown ? PAUSE : 0);
  }
  $("result").hidden = false;
  $("result").classList.remove("stale");
  state.shown = found;
  showFitted($("eops"), found.eops);
  $("eops").dataset.text = found.eops.text;
  $("status").textContent = found.status;
  $("status").dataset.status = found.status;
  types(found);
  sliders(found);
  derivation(found);
  functions(found);
  atoms(found);
  runner(found);
}

function hideAnswer(pause) {
  state.shown = null;
  $("result").classList.add("stale");
  clearTimeout(show.timer);
  if (pause) show.timer = setTimeout(() => { $("result").hidden = true; }, pause);
  else $("result").hidden = true;
}

// Says why there is no answer, and leads to the first mistake.
function unanswered(found) {
  const first = found.diagnostics.find((one) => one.severity === "error") ?? found.diagnostics[0];
  const blank = !text("a").trim();
  const at = first?.line ? element("button", { type: "button", class: "where", onclick: () => go("a", first) }, `line ${first.line}`) : null;
  $("unanswered").replaceChildren(...(blank
    ? [element("p", {}, "Write a program, or choose an example above.")]
    : [element("p", {}, element("b", {}, "No answer while the program has a mistake."), " ", at, first ? `${at ? ": " : ""}${first.message}` : "")]));
}

function types(found) {
  const row = (word, list) => list.flatMap((one) => [element("span", { class: "quiet" }, `${word} `), element("code", {}, `${one.name}: ${one.type.replaceAll("`", "")}`)]);
  const notes = [...found.guessed.map((one) => `taken to be ${one}`), ...found.conditions.map((one) => `where ${one}`)];
  $("types").replaceChildren(...row("in", found.inputs), ...row("out", found.outputs), ...notes.map((one) => element("span", { class: "note" }, one)));
}

const toSlider = (value) => Math.round(10 * Math.log2(Math.max(1, value)));
const fromSlider = (place) => Math.round(2 ** (place / 10));

function sliders(found) {
  for (const name of found.symbols) state.dims[name] ??= found.example[name] ?? 1;
  if (!found.symbols.includes(state.sweep)) state.sweep = found.symbols[0] ?? null;
  if ($("dims").dataset.names === found.symbols.join()) return;
  $("dims").dataset.names = found.symbols.join();
  $("dims").replaceChildren(...found.symbols.map((name) => {
    const number = element("input", { type: "number", min: 1, max: 2147483646, value: state.dims[name], "data-name": name, "aria-label": `length ${name}` });
    const range = element("input", { type: "range", min: 0, max: 140, value: toSlider(state.dims[name]), "data-name": name, "aria-label": `length ${name}` });
    const set = (value) => {
      state.dims[name] = Math.max(1, Math.trunc(Number(value)) || 1);
      touch();
      numbers();
    };
    range.addEventListener("input", () => { number.value = fromSlider(Number(range.value)); set(number.value); });
    number.addEventListener("input", () => { range.value = toSlider(Number(number.value)); set(number.value); });
    return element("label", { class: "dim" }, element("var", {}, name), range, number);
  }));
}

async function numbers() {
  const found = state.shown;
  if (!found) return;
  const dims = Object.fromEntries(found.symbols.map((name) => [name, state.dims[name]]));
  const request = { do: "numbers", text: text("a"), dims, sweep: state.sweep };
  if (state.compare) compare(); // of the same lengths
  const answer = await ask(request, "numbers");
  if (!answer || found !== state.shown) return;
  const point = found.symbols.map((name) => `${name} = ${grouped(dims[name])}`).join(", ");
  if (answer.failed) {
    $("eops-value").dataset.value = "";
    $("eops-value").replaceChildren(element("span", { class: "bad" }, answer.failed[0].message));
    figures(found, {}); // none hold here
    growth([]);
    return;
  }
  const value = grouped(answer.figures.eops);
  $("eops-value").dataset.value = answer.figures.eops ?? "";
  $("eops-value").replaceChildren(...(value ? [element("b", {}, value), element("span", { class: "quiet" }, point ? ` at ${point}` : "")] : [element("span", { class: "quiet" }, "data decides the number")]));
  figures(found, answer.figures);
  growth(answer.growth);
}

function figures(found, values) {
  const shown = found.measures.filter((one) => one.headed && one.key !== "eops" && one.form);
  $("figures").replaceChildren(...shown.map((one) => element("div", { class: "figure" },
    element("span", { class: "quiet" }, one.unit ? `${one.name} (${one.unit})` : one.name), element("div", { class: "form", "data-key": one.key }),
    element("b", {}, brief(values[one.key], one.key)))));
  for (const one of shown) showFitted($("figures").querySelector(`[data-key="${one.key}"]`), one.form);
}

// A number with three digits, as the terminal and the pages write it: a large one comes as a text, a quotient as "1/3".
function brief(value, key) {
  if (value === null || value === undefined) return "";
  const unit = key === "bytes" ? "B" : "";
  if (typeof value === "number") return short(value, unit);
  const [over, under] = value.split("/").map(BigInt);
  return short(under ? [over, under] : over, unit);
}

// A piece of a formula: mathematics that tolcost wrote, part of a program, or plain text.
function piece([kind, content]) {
  if (kind === "text") return content;
  if (kind === "code") return element("code", {}, content);
  const box = element("span", { class: "form" });
  box.innerHTML = `<math>${content}</math>`;
  return box;
}

function derivation(found) {
  const chains = found.derivation.filter((chain) => chain.steps.length);
  $("tab-derivation").replaceChildren(...chains.map((chain) => element("section", { class: "chain" },
    element("h2", {}, chain.name ? `EOPs(${chain.name})` : "EOPs"),
    element("ol", {}, ...chain.steps.map((step) => element("li", { "data-line": step.file === "program.tol" ? step.line : null },
      step.pieces.length ? element("div", { class: "typeset" }, "= ", ...step.pieces.map(piece)) : element("code", {}, `= ${step.text}`),
      element("span", { class: "reason" }, step.line ? element("button", { type: "button", class: "line", onclick: () => jump(step) }, step.file === "program.tol" ? `line ${step.line}` : `${step.file.split("/").at(-1)}:${step.line}`) : null, step.reason)))))));
  if (!chains.length) $("tab-derivation").replaceChildren(element("p", { class: "quiet" }, "This program applies no function to data."));
  stepsHere();
}

// The steps that come from the line of the cursor are marked, as a step leads to its line.
function stepsHere() {
  const { doc, selection } = state.views.a.state;
  const line = String(doc.lineAt(selection.main.head).number);
  for (const step of document.querySelectorAll("#tab-derivation li")) step.classList.toggle("here", step.dataset.line === line);
}

function jump(step) {
  if (step.file !== "program.tol") return;
  const view = state.views.a;
  const line = view.state.doc.line(Math.min(step.line, view.state.doc.lines));
  view.dispatch({ selection: { anchor: line.from, head: line.to }, scrollIntoView: true });
  view.focus();
}

function functions(found) {
  const rows = found.measures.filter((one) => one.parts.length && one.key !== "atoms").flatMap((one) =>
    [element("tr", { class: "head" }, element("th", { colspan: 2 }, one.name)),
      ...one.parts.map((part) => element("tr", {}, element("td", {}, element("code", {}, part.name)), element("td", {}, math(part.form))))]);
  $("tab-functions").replaceChildren(element("table", {}, element("tbody", {}, ...rows)));
}

function atoms(found) {
  const counts = found.measures.find((one) => one.key === "atoms");
  const rows = counts.parts.map((part) => element("tr", {}, element("td", {}, part.name), element("td", {}, math(part.form))));
  const listing = element("pre", { class: "listing" }, found.atoms);
  const unroll = element("button", { type: "button", onclick: async () => {
    const dims = Object.fromEntries(found.symbols.map((name) => [name, Math.min(state.dims[name], 3)]));
    const answer = await ask({ do: "unroll", text: text("a"), dims }, "unroll");
    if (answer) listing.textContent = answer.failed ? answer.failed[0].message : answer.text;
  } }, "Write out at lengths up to 3");
  $("tab-atoms").replaceChildren(element("table", {}, element("tbody", {}, ...rows)), unroll, listing);
}

function growth(rows) {
  const names = state.shown.symbols;
  const chips = names.map((name) => element("button", { type: "button", class: "pill", "aria-pressed": String(name === state.sweep), onclick: () => { state.sweep = name; numbers(); } }, name));
  $("tab-growth").replaceChildren(
    names.length ? element("div", { class: "pills" }, element("span", { class: "quiet" }, "with "), ...chips) : element("p", { class: "quiet" }, "No length is open."),
    chart(rows, state.sweep ?? ""));
}

// ---- runs

function sample(found) {
  const given = {};
  for (const { name, type } of found.inputs) {
    const lengths = (type.match(/\[(.*?)\]/)?.[1] ?? "").split(", ").filter(Boolean);
    const sizes = lengths.map((one) => (/^\d+$/.test(one) ? Number(one) : Math.min(state.dims[one] ?? 2, 3)));
    let next = 1;
    const fill = ([size, ...rest]) => (size === undefined ? next++ : Array.from({ length: size }, () => fill(rest)));
    given[name] = fill(sizes);
  }
  return given;
}

function runner(found) {
  const box = element("textarea", { rows: 6, "aria-label": "Inputs as JSON", spellcheck: "false" });
  box.value = Object.entries(sample(found)).map(([name, value]) => `${name} = ${JSON.stringify(value)}`).join("\n");
  const out = element("div", { class: "output" });
  const go = element("button", { type: "button", class: "primary", id: "run", onclick: () => run(found, box.value, out) }, "Run");
  $("tab-run").replaceChildren(element("p", { class: "quiet" }, "Small inputs, atom by atom; what it counts is held to the closed form."), box, go, out);
}

async function run(found, written, out) {
  let inputs;
  try {
    inputs = Object.fromEntries(written.split("\n").filter((line) => line.trim()).map((line) => {
      const at = line.indexOf("=");
      return [line.slice(0, at).trim(), JSON.parse(line.slice(at + 1))];
    }));
  } catch {
    return out.replaceChildren(element("p", { class: "bad" }, "An input is a line such as a = [[1, 2], [3, 4]]."));
  }
  const dims = { ...lengths(found, inputs) };
  const answer = await ask({ do: "run", text: text("a"), dims, inputs }, "run");
  if (!answer) return;
  if (answer.failed) return out.replaceChildren(element("p", { class: "bad" }, `${answer.failed[0].message}${answer.failed[0].hint ? `: ${answer.failed[0].hint}` : ""}`));
  const agrees = String(answer.executed) === String(answer.closed);
  out.replaceChildren(
    ...Object.entries(answer.outputs).map(([name, parts]) => element("pre", { class: "listing" }, `${name} = ${parts.map((part) => rows(part)).join(", ")}`)),
    element("p", {}, element("b", {}, `${grouped(answer.executed)} EOPs executed`), agrees ? ", as the closed form says" : `; the closed form says ${grouped(answer.closed) ?? "that data decides"}`));
}

const rows = (value) => JSON.stringify(value, (_, v) => (typeof v === "number" && !Number.isInteger(v) ? Number(v.toPrecision(6)) : v)).replaceAll("],[", "],\n [");

function lengths(found, inputs) {
  const dims = Object.fromEntries(found.symbols.map((name) => [name, state.dims[name]]));
  for (const { name, type } of found.inputs) {
    let value = inputs[name];
    for (const length of (type.match(/\[(.*?)\]/)?.[1] ?? "").split(", ").filter(Boolean)) {
      if (Array.isArray(value) && found.symbols.includes(length)) dims[length] = value.length;
      value = Array.isArray(value) ? value[0] : undefined;
    }
  }
  return dims;
}

// ---- two programs

async function compare() {
  const box = $("verdict");
  box.hidden = !state.compare;
  if (!state.compare) return;
  const names = state.shown?.symbols ?? [];
  const dims = Object.fromEntries(names.map((name) => [name, state.dims[name]]));
  const found = await ask({ do: "compare", old: text("a"), new: text("b"), dims, sweep: state.sweep }, "compare");
  if (!found) return;
  if (found.failed) delete box.dataset.verdict;
  if (found.failed) return box.replaceChildren(element("p", { class: "quiet" }, "Both programs have to be free of errors to be compared."));
  const word = { same: "A and B cost the same", cheaper: "B is cheaper", costlier: "A is cheaper", crosses: "It depends on the lengths" }[found.verdict] ?? "Not decided";
  const differing = found.rows.filter((row) => row.verdict !== "same");
  box.dataset.verdict = found.verdict;
  box.replaceChildren(
    element("h2", {}, word),
    element("p", {}, `From A to B: ${found.said}.`, element("span", { class: "quiet" }, found.verdict === "undecided" ? "" : " Proved for all lengths.")),
    ...(differing.length ? [element("table", {},
      element("thead", {}, element("tr", {}, ...["", "A", "B", "B is"].map((title) => title ? element("th", {}, title) : element("td", {})))),
      element("tbody", {}, ...differing.map((row) => element("tr", {},
        element("td", {}, row.name.replace(":", " ")), side(row.old, row.was, row.metric), side(row.new, row.now, row.metric),
        element("td", { title: [row.less, row.more].filter(Boolean).join("; ") }, row.verdict, row.change ? element("b", { class: "change" }, row.change) : null)))))] : []),
    element("p", { class: "quiet" }, found.point === null ? "One of the two has no figures at these lengths." : found.point ? `Numbers are at ${found.point}.` : ""),
    ...(found.curves.length ? [chart(found.curves, state.sweep, [["A", "old"], ["B", "new"]], "EOPs")] : []),
    ...found.turns.map((turn) => element("p", { class: "turn" }, `At ${state.sweep} = ${grouped(turn.at)}, ${turn.costlier === "new" ? "B" : "A"} becomes the costlier one, other lengths as they are.`)),
    ...found.notes.map((note) => element("p", { class: "quiet" }, ...marked(note))));
}

function side(form, value, key) {
  return element("td", {}, math(form), value === null ? null : element("b", { class: "number", title: grouped(value) }, brief(value, key)));
}

function setCompare(on) {
  state.compare = on;
  $("compare").setAttribute("aria-pressed", String(on));
  document.body.classList.toggle("comparing", on);
  document.querySelector('[data-which="b"]').hidden = !on;
  $("verdict").hidden = !on;
  if (on && !state.views.b) state.views.b = editor("b", text("a"));
  problems();
  refresh();
}

// ---- links, examples, theme

const encode = (written) => btoa(String.fromCharCode(...new TextEncoder().encode(written))).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
const decode = (packed) => new TextDecoder().decode(Uint8Array.from(atob(packed.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0)));

function linked() {
  const given = new URLSearchParams(location.hash.slice(1));
  try {
    return {
      a: given.has("p") ? decode(given.get("p")) : null,
      b: given.has("q") ? decode(given.get("q")) : null,
      example: given.get("example"),
    };
  } catch {
    return {};
  }
}

// ---- drafts: what is written stays over a reload, Back, and closing the page

const MOST_DRAFTS = 30;
const embedded = window !== window.top; // a page of the documentation shows its own program

function drafts() {
  try {
    return JSON.parse(localStorage.getItem("drafts")) ?? [];
  } catch {
    return [];
  }
}

function keepDraft() {
  if (embedded || !(state.touched || history.state?.draft)) return;
  const id = history.state?.draft ?? crypto.randomUUID?.() ?? String(Date.now());
  if (history.state?.draft !== id) history.replaceState({ draft: id }, "");
  const now = { id, a: text("a"), b: state.views.b ? text("b") : null, compare: state.compare, dims: state.dims };
  try {
    localStorage.setItem("drafts", JSON.stringify([now, ...drafts().filter((one) => one.id !== id)].slice(0, MOST_DRAFTS)));
  } catch {
    // Storage is full or forbidden: the page works without.
  }
}

// What this place in the history shows: its draft, what its address holds, the last draft, or the first example.
function wanted() {
  const kept = drafts();
  const own = embedded ? null : kept.find((one) => one.id === history.state?.draft);
  if (own) return own;
  const given = linked();
  if (given.a) return given;
  const all = state.examples.flatMap((group) => group.programs);
  const example = all.find((one) => one.name === given.example);
  if (example) return { a: example.text, example: example.name };
  const last = embedded ? null : kept.find((one) => one.a.trim());
  return last ?? { a: all[0].text, example: all[0].name };
}

function open(found) {
  state.dims = { ...found.dims };
  delete $("dims").dataset.names;
  $("examples").value = found.example ?? "";
  if (state.views.a) put("a", found.a);
  else state.views.a = editor("a", found.a);
  if (found.b && state.views.b) put("b", found.b);
  else if (found.b) state.views.b = editor("b", found.b);
  const comparing = Boolean(found.compare ?? found.b);
  if (comparing !== state.compare) setCompare(comparing);
  state.touched = false;
}

// A new place in the history, so that Back leads to what was written before.
function turnTo(found, address) {
  state.touched = true;
  keepDraft();
  history.pushState(null, "", `${location.pathname}${location.search}${address}`);
  open(found);
}

function link() {
  const given = new URLSearchParams({ p: encode(text("a")), ...(state.compare ? { q: encode(text("b")) } : {}) });
  return `${location.origin}${location.pathname}#${given}`;
}

async function share() {
  const url = link();
  history.replaceState(history.state, "", url);
  try {
    await navigator.clipboard.writeText(url);
    toast("The link is on the clipboard.");
  } catch {
    toast("The link is in the address bar.");
  }
}

function toast(words) {
  $("toast").textContent = words;
  $("toast").hidden = false;
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => { $("toast").hidden = true; }, 3500);
}

function touch() {
  state.touched = true;
  clearTimeout(touch.timer);
  touch.timer = setTimeout(keepDraft, 150);
}

function changed(which) {
  touch();
  const chosen = state.examples.flatMap((group) => group.programs).find((one) => one.name === $("examples").value);
  if (which === "a" && chosen?.text !== text("a")) $("examples").value = "";
  refresh(which === "b" ? "b" : undefined);
}

addEventListener("pagehide", () => { if (state.views.a) keepDraft(); });

function editor(which, written) {
  return makeEditor($(`editor-${which}`), written, { ask, changed: () => changed(which), moved: () => which === "a" && stepsHere() });
}

function put(which, written) {
  const view = state.views[which];
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: written } });
}

async function start() {
  const theme = localStorage.getItem("theme");
  if (theme) document.documentElement.dataset.theme = theme;
  state.examples = await (await fetch("examples.json")).json();
  $("examples").append(element("option", { value: "", hidden: true }, "your program"), ...state.examples.map((group) => element("optgroup", { label: group.title }, ...group.programs.map((one) => element("option", { value: one.name }, one.title)))));
  const all = state.examples.flatMap((group) => group.programs);
  open(wanted());
  $("examples").addEventListener("change", () => {
    const chosen = all.find((one) => one.name === $("examples").value);
    turnTo({ a: chosen.text, example: chosen.name, compare: state.compare }, `#example=${encodeURIComponent(chosen.name)}`);
  });
  $("new").addEventListener("click", () => {
    turnTo({ a: "", compare: false }, "");
    touch();
    state.views.a.focus();
  });
  addEventListener("popstate", () => open(wanted()));
  acceptModels();
  $("compare").addEventListener("click", () => setCompare(!state.compare));
  $("share").addEventListener("click", share);
  $("format").addEventListener("click", async () => {
    const found = await ask({ do: "format", text: text("a") }, "format");
    if (found?.text) put("a", found.text);
    else toast("A program with a syntax error cannot be formatted.");
  });
  $("theme").addEventListener("click", () => {
    const dark = getComputedStyle(document.documentElement).colorScheme === "dark";
    document.documentElement.dataset.theme = dark ? "light" : "dark";
    localStorage.setItem("theme", document.documentElement.dataset.theme);
  });
  $("tabs").addEventListener("click", ({ target }) => {
    if (!target.dataset.tab) return;
    for (const tab of $("tabs").children) {
      tab.setAttribute("aria-selected", String(tab === target));
      $(`tab-${tab.dataset.tab}`).hidden = tab !== target;
    }
  });
}

start();
