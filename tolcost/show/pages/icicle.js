// Where the cost is: an icicle of scopes down to nodes, each as wide as its part of what is above it.

const LEVEL = 28, // pixels
  LEAST = 3, // narrower parts are drawn as one
  DEEPEST = 9;

// The size of a part; what its values take at the peak and the rest add up, and so do times.
const sizeOf = (one) => one.values[state.by] ?? 0n;

function zoomedItem() {
  let here = state.scopes;
  for (const title of state.zoomed) {
    const below = here.children.find((one) => !one.kind && one.title === title);
    if (!below) break;
    here = below;
  }
  return here;
}

const pathOf = (one) => (one.parent ? [...pathOf(one.parent), one.title] : []);

function zoom(one) {
  const to = one.kind ? one.parent : one;
  state.zoomed = pathOf(to);
  isOpening = false;
  state.at = null;
  icicle();
  graph();
  remember();
}

// What is alive at the peak and no node makes is a part like any other.
function childrenOf(one) {
  const given = one === state.scopes && state.by === "memory" ? (state.alive?.given ?? 0n) : 0n;
  return given ? [...one.children, { ...INPUTS, parent: one, values: { memory: given } }] : one.children;
}
const INPUTS = { title: GIVEN, key: "inputs", children: [], kind: null, nodes: [], times: 1, given: true };

// The whole, with the inputs that are alive at the peak.
const wholeSize = () => childrenOf(state.scopes).reduce((sum, one) => sum + sizeOf(one), 0n);
const totalOf = (one) => (one === state.scopes ? wholeSize() : sizeOf(one));

// The parts that are drawn: [item, level, left, width] in pixels.
function placed(root, wide) {
  const found = [];
  const above = [];
  for (let up = root; up; up = up.parent) above.unshift(up);
  above.forEach((one, level) => found.push([one, level, 0, wide]));
  const visit = (one, level, left, width) => {
    const whole = totalOf(one);
    if (whole <= 0n || level >= above.length + DEEPEST) return;
    let before = 0n,
      hidden = [];
    const close = (to) => {
      const [from] = hidden;
      const gap = to - from;
      if (hidden.length > 1 && gap >= 1) found.push([{ few: hidden.slice(1), parent: one }, level, from, gap]);
      hidden = [];
    };
    for (const child of childrenOf(one)) {
      const from = left + width * (Number((before * 1_000_000n) / whole) / 1_000_000);
      before += sizeOf(child);
      const to = left + width * (Number((before * 1_000_000n) / whole) / 1_000_000);
      if (to - from < LEAST) {
        if (sizeOf(child) > 0n) hidden = hidden.length ? [...hidden, child] : [from, child];
        continue;
      }
      if (hidden.length) close(from);
      found.push([child, level, from, to - from]);
      visit(child, level + 1, from, to - from);
    }
    if (hidden.length) close(left + width);
  };
  visit(root, above.length, 0, wide);
  return found;
}

const nameOf = (one) => (one.few ? `${one.few.length} small parts` : one.parent ? one.title : data.name);
const amountOf = (one) => (one.few ? one.few.reduce((sum, part) => sum + sizeOf(part), 0n) : totalOf(one));

const nodesIn = (one) => leaves(one).reduce((sum, leaf) => sum + leaf.nodes.length, 0);
const timesOf = (one) => (one.times > 1 ? ` ×${one.times}` : "");

// What a part says of itself, all of it written on the part as far as there is room.
const labelOf = (one) => `${one.kind?.op || nameOf(one)}${timesOf(one)}`;

function spoken(one) {
  const amount = amountOf(one),
    all = wholeSize();
  const inside = () => `, ${grouped(nodesIn(one))} ${data.kind === "model" ? "nodes" : "lines"}`;
  const known = one.kind ? one.kind.op && `, ${nameOf(one)}, ${one.kind.type}` : one.few || one.given ? "" : inside();
  const above = one.parent?.parent ? `, ${inPercent(amount, totalOf(one.parent))} of ${nameOf(one.parent)}` : "";
  return `${labelOf(one)} ${brief(state.by, amount)}${known}: ${full(state.by, amount)}, ${inPercent(amount, all)} of all${above}`;
}

function icicle() {
  const box = byId("icicle"),
    root = zoomedItem(),
    wide = box.clientWidth || 900;
  const unknown = state.outside || state.scopes.values[state.by] === null;
  const drawnParts = unknown || wholeSize() <= 0n ? [] : placed(root, wide);
  const levels = Math.max(1, ...drawnParts.map(([, level]) => level + 1));
  state.parts = drawnParts.map(([one]) => one);
  if (!state.parts.includes(state.at)) state.at = root;
  box.style.height = drawnParts.length ? `${levels * LEVEL}px` : "";
  box.replaceChildren(...drawnParts.map(([one, level, left, width], k) => part(one, level, left, width, k, { root, wide })));
  byId("icicle-none").textContent = drawnParts.length
    ? ""
    : state.outside
      ? "—"
      : unknown
        ? "Data decides what some nodes come to."
        : "Nothing is counted.";
  byId("icicle-of").textContent = `${SWITCH[state.by]} by ${data.kind === "model" ? "scope" : "line"}${state.by === "memory" ? ", of what is alive at the peak" : ""}`;
  byId("out").hidden = !root.parent;
  active();
}

function part(one, level, left, width, k, { root, wide }) {
  const here = one === root,
    above = level < pathOf(root).length;
  const amount = amountOf(one);
  const colour = one.kind ? `--own: var(--c${colourOf(one.kind.op)})` : "";
  const siblings = one.few || !one.parent ? [one] : childrenOf(one.parent);
  const share = (pixels) => `${((100 * pixels) / wide).toFixed(4)}%`; // it stays where it is as a window changes
  return element(
    "div",
    {
      id: `part-${k}`,
      role: "treeitem",
      class: `part${one.kind ? " node" : ""}${here ? " here" : ""}${above ? " above" : ""}${one.few ? " few" : ""}`,
      style: `left: ${share(left)}; width: ${share(width)}; top: ${level * LEVEL}px; ${colour}`,
      "aria-level": level + 1,
      "aria-setsize": siblings.length,
      "aria-posinset": Math.max(siblings.findIndex((other) => other.key === one.key), 0) + 1,
      "aria-expanded": one.kind || one.few || one.given ? null : "true",
      "aria-selected": "false",
      "aria-label": spoken(one),
      "data-path": one.few ? null : pathOf(one).join("/"),
      "data-value": amount,
      onclick: () => {
        state.at = one;
        enter(one);
      },
      onpointerenter: (event) => tip(one, event.currentTarget),
      onpointerleave: () => tip(null),
    },
    width > 34
      ? element(
          "span",
          {},
          element("b", {}, labelOf(one)),
          width > 130 ? element("small", {}, ` ${brief(state.by, amount)}`) : null,
        )
      : null,
  );
}

// A scope is zoomed to, or left again; a node is shown among the rows.
function enter(one) {
  if (one.few || one.given) return;
  if (one.kind) reveal(one.node, true);
  else zoom(one === zoomedItem() && one.parent ? one.parent : one);
}

function tip(one, part) {
  const box = byId("tip");
  box.hidden = !one;
  if (!one) return;
  const amounts = one.few
    ? []
    : Object.keys(SWITCH).map((key) => [SWITCH[key], full(key, key === "memory" && one === state.scopes ? state.alive?.most : one.values[key])]);
  box.replaceChildren(
    element("b", {}, one.few ? nameOf(one) : `${pathOf(one).join("/") || data.name}${timesOf(one)}`),
    element("div", { class: "quiet" }, one.kind ? `${one.kind.op} ${one.kind.type}` : ""),
    element(
      "table",
      {},
      ...amounts.map(([title, value]) => element("tr", {}, element("td", {}, title), element("td", { class: "number" }, value))),
    ),
    element("div", {}, `${inPercent(amountOf(one), wholeSize())} of all ${SWITCH[state.by]}`),
  );
  const at = part.getBoundingClientRect(),
    own = box.getBoundingClientRect();
  box.style.left = `${Math.max(8, Math.min(at.left, innerWidth - own.width - 12))}px`;
  box.style.top = `${at.bottom + own.height + 8 > innerHeight ? Math.max(8, at.top - own.height - 6) : at.bottom + 6}px`;
}

// The part that keys go on from.
function active(shown = false) {
  const box = byId("icicle"),
    place = state.parts.indexOf(state.at);
  for (const [k, one] of [...box.children].entries()) {
    one.classList.toggle("at", k === place);
    one.setAttribute("aria-selected", String(k === place));
  }
  if (place < 0) box.removeAttribute("aria-activedescendant");
  else box.setAttribute("aria-activedescendant", `part-${place}`);
  if (shown && place >= 0) tip(state.at, box.children[place]);
  else tip(null);
}

function icicleKey(event) {
  const one = state.at,
    seen = (other) => state.parts.includes(other);
  if (!one || event.ctrlKey || event.metaKey || event.altKey) return;
  const beside = state.parts.filter((other) => other.parent === one.parent);
  const place = beside.indexOf(one);
  const below = state.parts.filter((other) => other.parent === one);
  const goes = {
    ArrowDown: () => below.reduce((best, other) => (best && amountOf(best) >= amountOf(other) ? best : other), null),
    ArrowUp: () => (seen(one.parent) ? one.parent : null),
    ArrowLeft: () => beside[place - 1],
    ArrowRight: () => beside[place + 1],
    Home: () => beside[0],
    End: () => beside.at(-1),
  };
  if (event.key in goes) {
    state.at = goes[event.key]() ?? one;
    active(true);
  } else if (event.key === "Enter" || event.key === " ") enter(one);
  else if (event.key === "Backspace" && zoomedItem().parent) zoom(zoomedItem().parent);
  else if (event.key === "Escape") tip(null);
  else return;
  event.preventDefault();
  event.stopPropagation();
}
