// What reads from what: the parts of a scope as boxes, with an arrow from what makes a value to what reads it.

const MOST_BOXES = 100, // laid out at a time; further ones are shown when they are asked for
  MOST_OUTSIDE = 4, // neighbours of the scope by name, on each side
  BOX = 46,
  WIDEST = 210,
  CLEAR = 0.6, // letters that are drawn smaller cannot be read
  START = 0.8, // and so only the start is shown, this large
  CLASSES = [0, 1, 5, 20, 50]; // shares from which on a box is coloured more, in percent
const view = { x: 0, y: 0, scale: 1 }; // the corner that is seen, and pixels per unit
let plan = null, // what is drawn, and where
  firstBox = 0,
  followed = null, // the chosen node that the picture was last led to
  isOpening = true; // until one goes somewhere

const prefix = (n, length) => data.nodes[n][2].slice(0, length).join("\u0000");

// What is drawn of a scope: of one that has nothing but a single scope inside, what is in that one.
function drawnScope(root) {
  let here = root;
  while (here.children.length === 1 && !here.children[0].kind) here = here.children[0];
  return here;
}

// What a page opens with: as far inside as one scope has nearly all nodes.
function startScope(root) {
  const most = root.children.find((one) => !one.kind && nodesIn(one) * 10 >= nodesIn(root) * 9);
  return most ? startScope(most) : root;
}

// The scope around it that is drawn in another way, if there is one.
function outer(root) {
  let up = root.parent;
  while (up && drawnScope(up) === root) up = up.parent;
  return up;
}

// Every node of the scope by what it is drawn in: nodes themselves, scopes inside.
function nodesWithin(root) {
  const depth = root.path?.length ?? 0;
  const copies = new Map();
  for (const child of root.children)
    for (const leaf of leaves(child))
      for (const n of leaf.nodes) {
        const copy = prefix(n, depth);
        if (!copies.has(copy)) copies.set(copy, new Map());
        copies.get(copy).set(n, { child, leaf });
      }
  return [...copies.values()];
}

const amountOfNodes = (nodes) =>
  nodes.reduce((sum, [n, leaf]) => {
    const own = sum === null ? null : amountAt({ kind: leaf.kind, nodes: [n] }, state.by);
    return own === null ? null : sum + own;
  }, 0n);

// Of scopes that are alike one is drawn: that which has most of what everything is drawn by.
function shownCopy(copies) {
  let [best, most] = [copies[0], -1n];
  if (copies.length === 1) return best;
  for (const copy of copies) {
    const own = amountOfNodes([...copy].map(([n, { leaf }]) => [n, leaf])) ?? 0n;
    if (own > most) [best, most] = [copy, own];
  }
  return best;
}

function boxesOf(copy) {
  const found = new Map();
  for (const [n, { child, leaf }] of [...copy].sort(([a], [b]) => a - b)) {
    const key = child.kind ? `#${n}` : child.key;
    if (!found.has(key)) found.set(key, { key, item: child, node: child.kind ? n : null, kind: child.kind, nodes: [] });
    found.get(key).nodes.push([n, leaf]);
  }
  for (const box of found.values())
    box.times = box.kind ? 1 : new Set(box.nodes.map(([n]) => prefix(n, box.item.path.length))).size;
  return [...found.values()];
}

// The neighbour of a scope that a node is in.
function neighbour(n, root) {
  const above = new Set();
  for (let up = root; up; up = up.parent) above.add(up);
  let one = plan.leafOf.get(n);
  while (one.parent && !above.has(one.parent)) one = one.parent;
  return one;
}

// What is drawn of a scope: boxes, those of its neighbours, and arrows between them.
function connected(root, boxes, first, alike) {
  const drawnBoxes = boxes.slice(first, first + MOST_BOXES);
  const place = new Map(boxes.flatMap((box, k) => box.nodes.map(([n]) => [n, k])));
  const seen = (k) => k !== undefined && k >= first && k < first + MOST_BOXES;
  const outside = new Map(),
    arrows = new Map(),
    again = new Set();
  const other = (way, n) => {
    const k = place.get(n);
    if (k !== undefined) return beside(way, k < first ? `${grouped(first)} before` : `${grouped(boxes.length - first - MOST_BOXES)} after`);
    return beside(way, alike.has(n) ? `another ${nameOf(root)}` : labelOf(neighbour(n, root)));
  };
  const beside = (way, title) => {
    const key = `${way} ${title}`;
    if (!outside.has(key)) outside.set(key, { key, way, title, outside: true });
    return key;
  };
  const arrow = (from, to) => arrows.set(`${from}\u0000${to}`, [from, to]);
  data.graph.reads.forEach((reads, n) => {
    const to = place.get(n);
    for (const back of reads) {
      if (back <= 0) {
        if (seen(to)) arrow(beside("in", data.graph.inputs[-back]), boxes[to].key);
        continue;
      }
      const from = place.get(n - back);
      if (seen(from) && seen(to)) {
        if (from !== to) arrow(boxes[from].key, boxes[to].key);
        else if (boxes[to].times > 1 && prefix(n, boxes[to].item.path.length) !== prefix(n - back, boxes[to].item.path.length))
          again.add(boxes[to].key);
      } else if (seen(to)) arrow(other("in", n - back), boxes[to].key);
      else if (seen(from)) arrow(boxes[from].key, other("out", n));
    }
  });
  for (const [name, n] of data.graph.outputs) if (seen(place.get(n))) arrow(boxes[place.get(n)].key, beside("out", name));
  return gathered({ boxes: drawnBoxes, outside: [...outside.values()], arrows: [...arrows.values()], again });
}

// Many neighbours on one side are one box.
function gathered({ boxes, outside, arrows, again }) {
  const moved = new Map();
  let kept = outside;
  for (const way of ["in", "out"]) {
    const those = outside.filter((one) => one.way === way);
    if (those.length <= MOST_OUTSIDE) continue;
    const title = `${grouped(those.length)} ${way === "in" ? "sources" : "readers"} outside`;
    for (const one of those) moved.set(one.key, way);
    kept = [...kept.filter((one) => one.way !== way), { key: way, way, title, outside: true }];
  }
  const ends = arrows.map(([from, to]) => [moved.get(from) ?? from, moved.get(to) ?? to]);
  const once = new Map(ends.map((ends) => [ends.join("\u0000"), ends]));
  return { boxes, outside: kept, arrows: [...once.values()], again };
}

// ---- where everything is

const ruler = new OffscreenCanvas(1, 1).getContext("2d");
function widthOf(text, font) {
  ruler.font = `${font} ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width;
}

// A name that fits; its middle is left out, because names often differ at their ends.
function fitting(text, width, font) {
  if (widthOf(text, font) <= width) return text;
  let [least, most] = [0, text.length];
  const cut = (length) => `${text.slice(0, Math.ceil(length / 2))}…${text.slice(text.length - Math.floor(length / 2))}`;
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    if (widthOf(cut(middle), font) <= width) least = middle;
    else most = middle - 1;
  }
  return cut(least);
}

const FIRST = "600 12.5px",
  SECOND = "11px";
const firstLine = (box) => (box.outside ? box.title : box.kind ? box.kind.op : `${nameOf(box.item)}${timesOf(box)}`);
const secondLine = (box) => (box.kind ? data.nodes[box.node][0] : `${grouped(box.nodes.length)} nodes`);

function laidOut(found, direction) {
  const all = new dagre.graphlib.Graph();
  all.setGraph({ rankdir: direction, nodesep: 14, ranksep: 30, edgesep: 10, marginx: 10, marginy: 10 });
  all.setDefaultEdgeLabel(() => ({}));
  for (const box of [...found.outside.filter((one) => one.way === "in"), ...found.boxes, ...found.outside.filter((one) => one.way === "out")]) {
    const wide = box.outside ? widthOf(box.title, SECOND) + 24 : Math.max(widthOf(firstLine(box), FIRST) + 86, widthOf(secondLine(box), SECOND) + 84);
    all.setNode(box.key, { width: Math.min(Math.max(wide, box.outside ? 40 : 128), WIDEST), height: box.outside ? 24 : BOX });
  }
  for (const [from, to] of found.arrows) all.setEdge(from, to);
  dagre.layout(all);
  const { width, height } = all.graph();
  return {
    direction,
    width,
    height,
    at: new Map(all.nodes().map((key) => [key, all.node(key)])),
    lines: all.edges().map((edge) => [edge.v, edge.w, all.edge(edge).points]),
  };
}

// The direction in which more of it can be read at once.
function placedWell(found, wide, high) {
  const scale = (one) => Math.min(wide / one.width, high / one.height);
  const [down, across] = ["TB", "LR"].map((direction) => laidOut(found, direction));
  return scale(down) >= scale(across) || wide < 600 ? down : across;
}

// ---- drawing

function smooth(points) {
  const [first, ...rest] = points;
  const middle = (a, b) => `${((a.x + b.x) / 2).toFixed(1)},${((a.y + b.y) / 2).toFixed(1)}`;
  const turns = rest.slice(0, -1).map((point, k) => `Q${point.x.toFixed(1)},${point.y.toFixed(1)} ${middle(point, rest[k + 1])}`);
  const last = rest.at(-1);
  return `M${first.x.toFixed(1)},${first.y.toFixed(1)} L${middle(first, rest[0])} ${turns.join(" ")} L${last.x.toFixed(1)},${last.y.toFixed(1)}`;
}

const classOf = (share) => CLASSES.findLastIndex((least) => share >= least);

// What is not costed is not known to be nothing.
const inPart = (box) => state.by !== "parameters" && box.nodes.some(([, leaf]) => leaf.kind.problem);
const shareOf = (box, amount, whole) =>
  amount === null || whole === null ? "—" : inPart(box) && !amount ? "?" : inPercent(amount, whole) || "—";

const idOf = (box) => (box.outside ? `${box.way} ${box.title}` : box.kind ? `#${box.node}` : pathOf(box.item).join("/"));

function drawnBox(box, amount, whole) {
  const at = plan.at.get(box.key),
    [left, top] = [at.x - at.width / 2, at.y - at.height / 2];
  if (box.outside)
    return drawn(
      "g",
      { class: "outside-box", "data-outside": box.title },
      drawn("rect", { x: left, y: top, width: at.width, height: at.height, rx: 12 }),
      drawn("text", { x: at.x, y: at.y + 4, "text-anchor": "middle" }, fitting(box.title, at.width - 20, SECOND)),
      drawn("title", {}, box.title),
    );
  const known = amount !== null && whole !== null;
  const share = shareOf(box, amount, whole),
    size = !known || share === "?" ? "" : `${inPart(box) ? "≥ " : ""}${brief(state.by, amount)}`;
  const beside = widthOf(share, FIRST);
  const loop = plan.again.has(box.key)
    ? drawn("path", { class: "arrow", "marker-end": "url(#arrow)", d: `M${left + at.width - 22},${top} c0,-15 18,-15 18,-1` })
    : null;
  return drawn(
    "g",
    {
      class: `box s${known ? Math.max(classOf(percent(amount, whole)), 0) : 0}${box.kind ? "" : " into"}`,
      "data-box": idOf(box),
      "data-value": amount,
      onclick: () => enterBox(box),
    },
    drawn("title", {}, spokenBox(box, amount, whole)),
    box.times > 1 || !box.kind ? drawn("rect", { class: "behind", x: left + 4, y: top + 4, width: at.width, height: at.height, rx: 7 }) : null,
    drawn("rect", { x: left, y: top, width: at.width, height: at.height, rx: 7 }),
    drawn("text", { class: "first", x: left + 10, y: top + 19 }, fitting(firstLine(box), at.width - 28 - beside, FIRST)),
    drawn("text", { x: left + 10, y: top + 35 }, fitting(secondLine(box), at.width - 28 - widthOf(size, SECOND), SECOND)),
    drawn("text", { class: "first", x: left + at.width - 9, y: top + 19, "text-anchor": "end" }, share),
    drawn("text", { x: left + at.width - 9, y: top + 35, "text-anchor": "end" }, size),
    loop,
  );
}

function spokenBox(box, amount, whole) {
  const name = box.kind ? `${box.kind.op}, ${data.nodes[box.node][0]}, ${box.kind.type}` : `${firstLine(box)}, ${secondLine(box)}`;
  if (["?", "—"].includes(shareOf(box, amount, whole))) return `${name}: not known`;
  return `${name}: ${inPart(box) ? "at least " : ""}${full(state.by, amount)}, ${inPercent(amount, whole)} of what is shown`;
}

function enterBox(box) {
  if (box.kind) reveal(box.node, true);
  else zoom(box.item);
}

// What is laid out stays as it is while lengths change.
function planned(root) {
  const copies = nodesWithin(root),
    copy = shownCopy(copies);
  const [start] = copy.keys();
  const same = plan?.root === root && plan.scopes === state.scopes && plan.start === start && plan.first === firstBox;
  if (same && plan.wide === byId("graph").clientWidth) return plan.copies;
  const leafOf = plan?.scopes === state.scopes ? plan.leafOf : new Map(leaves(state.scopes).flatMap((leaf) => leaf.nodes.map((n) => [n, leaf])));
  if (plan?.root !== root) firstBox = 0;
  plan = { root, scopes: state.scopes, start, leafOf };
  const boxes = boxesOf(copy),
    first = firstBox;
  const box = byId("graph");
  const found = connected(root, boxes, first, new Set(copies.flatMap((one) => [...one.keys()])));
  const wide = box.clientWidth;
  Object.assign(plan, found, placedWell(found, wide || 900, 440), { every: boxes, first, wide, copies: copies.length });
  const scale = Math.min(1, (wide || 900) / plan.width);
  box.style.height = `${Math.round(Math.min(Math.max(plan.height * (scale < CLEAR ? START : scale), 120), wide < 600 ? 560 : 440))}px`;
  graphFit();
  return plan.copies;
}

function graph() {
  if (!data.graph || !state.scopes) return;
  isOpening &&= !state.zoomed.length;
  const root = drawnScope(isOpening ? startScope(state.scopes) : zoomedItem()),
    copies = planned(root);
  const amounts = new Map(plan.every.map((box) => [box, amountOfNodes(box.nodes)]));
  const whole = [...amounts.values()].reduce((sum, own) => (sum === null || own === null ? null : sum + own), 0n);
  const named = new Map([...plan.outside, ...plan.boxes].map((box) => [box.key, idOf(box)]));
  const lines = plan.lines.map(([from, to, points]) =>
    drawn("path", { class: "arrow", "marker-end": "url(#arrow)", d: smooth(points), "data-from": named.get(from), "data-to": named.get(to) }),
  );
  const head = drawn(
    "marker",
    { id: "arrow", viewBox: "0 0 8 8", refX: 7.5, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" },
    drawn("path", { d: "M0,0 L8,4 L0,8 z" }),
  );
  byId("graph").replaceChildren(
    drawn(
      "svg",
      { role: "img", "aria-label": `${plan.boxes.length} parts and what they read, as in the list below` },
      drawn("defs", {}, head),
      ...lines,
      ...[...plan.outside, ...plan.boxes].map((box) => drawnBox(box, amounts.get(box) ?? null, whole)),
    ),
  );
  graphSeen();
  graphPath(root, copies);
  graphList(amounts, whole);
  graphChosen();
}

function graphPath(root, copies) {
  const above = [];
  for (let up = root; up; up = up.parent) above.unshift(up);
  byId("graph-path").replaceChildren(
    ...above.flatMap((one, k) => [
      k ? " / " : "",
      one === root
        ? element("b", { "aria-current": "true" }, nameOf(one), timesOf(one))
        : element("button", { type: "button", class: "link", onclick: () => zoom(one) }, nameOf(one), timesOf(one)),
    ]),
  );
  const last = Math.min(plan.first + MOST_BOXES, plan.every.length);
  const part = plan.every.length > MOST_BOXES ? `Parts ${grouped(plan.first + 1)} to ${grouped(last)} of ${grouped(plan.every.length)}. ` : "";
  const alike = copies > 1 ? `One of ${grouped(copies)} that are alike. ` : "";
  byId("graph-of").textContent = `${part}${alike}A click goes into a scope, or to the row of a node. Drag to move; the wheel zooms once the graph has the focus.`;
  byId("graph-legend").replaceChildren(
    `Share of ${SWITCH[state.by]}: `,
    ...CLASSES.map((least, k) =>
      element("span", { class: "step" }, element("i", { class: `s${k}` }), k ? `from ${least} %` : `less than ${CLASSES[1]} %`),
    ),
  );
  const tool = (text, label, does, off = false) =>
    element("button", { type: "button", class: "plain", "aria-label": label, title: label, disabled: off, onclick: does }, text);
  const pages = (by) => () => {
    firstBox = plan.first + by;
    graph();
  };
  byId("graph-tools").replaceChildren(
    ...(part
      ? [
          tool("◀", "parts before", pages(-MOST_BOXES), plan.first === 0),
          tool("▶", "parts after", pages(MOST_BOXES), last === plan.every.length),
        ]
      : []),
    tool("−", "smaller", () => graphZoom(1 / 1.4)),
    tool("+", "larger", () => graphZoom(1.4)),
    tool("all", "all of the graph", graphWhole),
    ...(outer(root) ? [tool("↑ out", "↑ out", () => zoom(outer(root)))] : []),
  );
}

// The same in words: each part, and what reads what it makes.
function graphList(amounts, whole) {
  const titles = new Map([...plan.outside, ...plan.boxes].map((box) => [box.key, firstLine(box)]));
  byId("graph-list").querySelector("ul").replaceChildren(
    ...plan.boxes.map((box) => {
      const to = plan.arrows.filter(([from]) => from === box.key).map(([, key]) => titles.get(key));
      if (plan.again.has(box.key)) to.unshift("the next of them");
      const amount = amounts.get(box);
      return element(
        "li",
        {},
        element("button", { type: "button", class: "link", onclick: () => enterBox(box) }, firstLine(box)),
        ` ${secondLine(box)}, ${shareOf(box, amount, whole)}`,
        to.length ? ` → ${to.join(", ")}` : "",
      );
    }),
  );
}

function graphChosen() {
  if (!plan) return;
  const node = state.chosen?.kind ? state.chosen.node : null;
  const has = (box) => box.nodes.some(([n]) => n === node);
  const place = plan.every.findIndex(has);
  if (node !== null && place >= 0 && (place < plan.first || place >= plan.first + MOST_BOXES) && followed !== node) {
    followed = node;
    firstBox = place - (place % MOST_BOXES);
    return graph();
  }
  followed = node;
  const drawnBoxes = byId("graph").querySelectorAll(".box");
  plan.boxes.forEach((box, k) => drawnBoxes[k]?.classList.toggle("chosen", node !== null && has(box)));
}

// ---- what is seen of it

function graphSeen() {
  const box = byId("graph"),
    svg = box.querySelector("svg");
  svg?.setAttribute("viewBox", `${view.x} ${view.y} ${(box.clientWidth || 900) / view.scale} ${(parseFloat(box.style.height) || 440) / view.scale}`);
}

// All of it, or if that is too small to read, its start.
function graphFit() {
  if (!plan) return;
  if (wholeScale() >= CLEAR) return graphWhole();
  const { wide, high } = graphRoom();
  view.scale = START;
  view.x = plan.direction === "LR" ? 0 : (plan.width - wide / START) / 2;
  view.y = plan.direction === "TB" ? 0 : (plan.height - high / START) / 2;
  graphSeen();
}

const graphRoom = () => ({ wide: byId("graph").clientWidth || 900, high: parseFloat(byId("graph").style.height) || 440 });
const wholeScale = () => {
  const { wide, high } = graphRoom();
  return Math.min(wide / plan.width, high / plan.height);
};

function graphWhole() {
  if (!plan) return;
  const { wide, high } = graphRoom();
  view.scale = Math.min(1, wholeScale());
  view.x = (plan.width - wide / view.scale) / 2;
  view.y = (plan.height - high / view.scale) / 2;
  graphSeen();
}

// Around a place of the picture, in pixels from its corner: its middle, or the pointer.
function graphZoom(by, at = null) {
  const { wide, high } = graphRoom();
  const [x, y] = at ?? [wide / 2, high / 2];
  const scale = Math.min(3, Math.max(Math.min(wholeScale(), 0.5), view.scale * by));
  view.x += x / view.scale - x / scale;
  view.y += y / view.scale - y / scale;
  view.scale = scale;
  graphSeen();
}

function graphMove(x, y) {
  view.x += x / view.scale;
  view.y += y / view.scale;
  graphSeen();
}

function graphKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const does = {
    "+": () => graphZoom(1.4),
    "=": () => graphZoom(1.4),
    "-": () => graphZoom(1 / 1.4),
    0: graphWhole,
    ArrowLeft: () => graphMove(-60, 0),
    ArrowRight: () => graphMove(60, 0),
    ArrowUp: () => graphMove(0, -60),
    ArrowDown: () => graphMove(0, 60),
    Backspace: () => outer(plan.root) && zoom(outer(plan.root)),
  }[event.key];
  if (!does) return;
  does();
  event.preventDefault();
  event.stopPropagation();
}

function graphStart() {
  byId("graph-card").hidden = byId("to-graph").hidden = !data.graph;
  if (!data.graph) return;
  const box = byId("graph");
  let from = null,
    dragged = false;
  box.addEventListener("keydown", graphKey);
  // A page that is scrolled is not stopped by a picture in it.
  box.addEventListener(
    "wheel",
    (event) => {
      if (document.activeElement !== box && !event.ctrlKey) return;
      event.preventDefault();
      const corner = box.getBoundingClientRect();
      graphZoom(2 ** (-event.deltaY / 300), [event.clientX - corner.left, event.clientY - corner.top]);
    },
    { passive: false },
  );
  box.addEventListener("pointerdown", (event) => {
    from = event.button === 0 ? { x: event.clientX, y: event.clientY } : null;
    dragged = false;
  });
  box.addEventListener("pointermove", (event) => {
    if (!from || !event.buttons) return;
    const [x, y] = [from.x - event.clientX, from.y - event.clientY];
    if (!dragged && Math.hypot(x, y) < 5) return;
    box.setPointerCapture(event.pointerId); // so that the box below it is not clicked
    dragged = true;
    graphMove(x, y);
    from = { x: event.clientX, y: event.clientY };
  });
  for (const end of ["pointerup", "pointercancel"]) box.addEventListener(end, () => (from = null));
}
