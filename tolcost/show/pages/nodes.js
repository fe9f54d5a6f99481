// The nodes: columns, views, order and filter, and which row is chosen.

const said = (key, value) =>
  value === null || value === undefined ? "" : state.exact && key !== "time" ? grouped(value) : brief(key, value);
// Of what is not costed nothing but its parameters is known: 0 is what the rest comes to.
const unknown = (one, key) => one.partly && !one.values[key] && key !== "parameters";
const number = (key, rank, seldom = false) => ({
  key,
  title: NAMES[key],
  rank,
  seldom,
  // As wide as the largest number in it, which is that of the whole.
  get least() {
    return Math.max(105, 24 + 8 * Math.max(said(key, state.root?.values[key]).length, (NAMES[key] ?? "").length));
  },
  get wide() {
    return `minmax(${this.least}px, .6fr)`;
  },
  cell: (one) =>
    element(
      "span",
      {
        class: "number",
        "data-value": one.values[key] ?? "",
        title: one.values[key] === null ? "" : full(key, one.values[key]),
      },
      unknown(one, key) ? "?" : said(key, one.values[key]),
    ),
});
const COLUMNS = [
  {
    key: "title",
    title: "name",
    rank: 0,
    least: 170,
    wide: "minmax(170px, 2.2fr)",
    cell: (one, level, opened) => [
      element(
        "button",
        {
          class: "twig",
          tabindex: -1,
          "aria-hidden": "true",
          style: `margin-left: ${level * 16}px; visibility: ${one.children.length ? "visible" : "hidden"}`,
        },
        opened ? "▾" : "▸",
      ),
      element("span", { title: one.title }, one.title),
      one.times > 1 ? element("i", { class: "chip" }, `×${one.times}`) : null,
    ],
  },
  { key: "op", title: "operator", rank: 3, least: 130, wide: "minmax(125px, .8fr)", cell: (one) => one.kind?.op ?? "" },
  {
    key: "type",
    title: "gives",
    rank: 5,
    least: 190,
    wide: "minmax(185px, 1.2fr)",
    cell: (one) => (one.kind ? element("span", { title: one.kind.type }, one.kind.type) : ""),
  },
  number("eops", 1),
  {
    key: "share-of",
    title: "share",
    rank: 2,
    least: 85,
    wide: "minmax(85px, 1fr)",
    get sorts() {
      return state.by;
    },
    cell: (one) => {
      const own = one.values[state.by],
        all = state.root.values[state.by] ?? 0n;
      return own === null || unknown(one, state.by)
        ? ""
        : [
            element("span", { class: "meter" }, element("i", { style: `width: ${percent(own, all)}%` })),
            element("b", {}, own ? inPercent(own, all) : ""),
          ];
    },
  },
  number("macs", 4),
  number("flops", 8, true),
  number("bytes", 3.5),
  number("parameters", 7),
  {
    key: "intensity",
    title: "FLOPs/byte",
    rank: 9,
    seldom: true,
    least: 95,
    wide: "95px",
    cell: (one) => {
      return intensity(one) === null ? "" : short([one.values.flops, one.values.bytes]);
    },
  },
];
if (data.device) COLUMNS.splice(5, 0, number("time", 2.5));
// What else nodes have is shown when it is asked for; lines of a program have less.
COLUMNS.push(...KEYS.filter((key) => !COLUMNS.some((one) => one.key === key)).map((key) => number(key, 10, true)));
const OF_MODELS = ["op", "type", "intensity", "macs", "bytes", "parameters"];
if (data.kind === "program") {
  for (const key of OF_MODELS) COLUMNS.splice(COLUMNS.findIndex((one) => one.key === key), 1);
  COLUMNS.find((one) => one.key === "flops").seldom = false;
}
const VIEWS =
  data.kind === "model" ? { scope: "by scope", op: "by operator", node: "in order" } : { node: "in order" };
const toggle = (one) => {
  if (!open.delete(one.key)) open.add(one.key);
  nodes();
};
toggle.open = open;
const table = new Table(byId("rows"), COLUMNS, choose, toggle);
new ResizeObserver(() => state.root && nodes()).observe(byId("rows"));

const firstView = () =>
  data.kind === "program" ? "node" : data.nodes.some(([, , path]) => path.length) ? "scope" : "op";
// The largest first, but for the order of the file.
const firstSort = (view) => (view === "node" ? null : { column: state.by, down: true });

function setView(view) {
  arrange(view);
  remember();
}

function arrange(view) {
  state.view = view;
  state.root =
    view === "scope" ? scopeTree(data, byId("fold").checked) : view === "op" ? operatorTree(data) : nodeList(data);
  state.sort = firstSort(view);
  added(state.root, amountAt);
  if (view === "scope") opened(state.root);
  const { kind, node } = state.chosen ?? {};
  state.chosen = kind ? leaves(state.root).find((one) => one.node === node) : null;
  nodes();
  detail();
  table.select(state.chosen);
}

// Scopes that hold much of the cost are open from the start.
function opened(root) {
  for (const one of root.children) {
    if (one.kind || one.fold || percent(one.values.eops ?? 0n, state.root.values.eops ?? 0n) < 25) continue;
    open.add(one.key);
    opened(one);
  }
}

function nodes() {
  const words = byId("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = rowsOf(state.root, { open, sort: state.sort, words });
  const shown = table.fitting();
  for (const box of document.querySelectorAll("#columns input"))
    box.checked = shown.some((one) => one.key === box.dataset.column);
  byId("nodes").style.setProperty("--template", shown.map((one) => one.wide).join(" "));
  byId("nodes").style.setProperty("--least", `${shown.reduce((sum, one) => sum + one.least, 0)}px`);
  byId("views").replaceChildren(
    ...Object.entries(VIEWS).map(([view, title]) =>
      element(
        "button",
        {
          type: "button",
          class: "plain",
          "data-view": view,
          "aria-pressed": String(view === state.view),
          onclick: () => setView(view),
        },
        title,
      ),
    ),
  );
  byId("titles").replaceChildren(
    ...shown.map((column) => {
      const by = column.sorts ?? column.key,
        sorted = state.sort?.column === by && (state.sort.from ?? by) === (column.sorts ? column.key : by);
      const numeric = !["title", "op", "type"].includes(by);
      const turn = () => {
        const down = state.sort?.column === by ? !state.sort.down : numeric;
        state.sort = state.sort?.column === by && down === numeric ? null : { column: by, down, from: column.key };
        nodes();
        remember();
        byId("titles").querySelector(`[data-column="${column.key}"]`)?.focus();
      };
      return element(
        "div",
        {
          role: "columnheader",
          class: numeric ? "number" : "",
          "aria-sort": sorted ? (state.sort.down ? "descending" : "ascending") : null,
        },
        element("button", { type: "button", "data-column": column.key, onclick: turn }, column.title),
      );
    }),
  );
  byId("count").textContent = data.kind === "model" ? `${grouped(rows.length)} rows, ${grouped(data.nodes.length)} nodes` : "";
  table.show(rows);
}

function reveal(node, seen = false, kept = true) {
  const one = leaves(state.root).find((other) => other.node === node);
  for (let up = one?.parent; up?.parent; up = up.parent) open.add(up.key);
  byId("filter").value = "";
  nodes();
  choose(one, kept);
  if (seen) {
    byId("rows").focus({ preventScroll: true });
    byId("nodes").scrollIntoView({ block: "start" });
  }
}

function choose(one, kept = true) {
  state.chosen = one;
  detail();
  table.select(one);
  graphChosen();
  if (kept) remember();
}
