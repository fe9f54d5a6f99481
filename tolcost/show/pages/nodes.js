// The nodes: columns, views, order and filter, and which row is chosen.

const said = (value) => (value === null || value === undefined ? "" : state.exact ? grouped(value) : short(value));
// Of what is not costed nothing but its parameters is known: 0 is what the rest comes to.
const unknown = (one, key) => one.partly && !one.values[key] && key !== "parameters";
const number = (key, rank, seldom = false) => ({
  key,
  title: NAMES[key],
  rank,
  seldom,
  least: 105,
  wide: "minmax(105px, .6fr)",
  cell: (one) =>
    element(
      "span",
      {
        class: "number",
        "data-value": one.values[key] ?? "",
        title: one.values[key] === null ? "" : grouped(one.values[key]),
      },
      unknown(one, key) ? "?" : said(one.values[key]),
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
    sorts: "eops",
    cell: (one) => {
      const share = one.values.eops === null ? 0 : percent(one.values.eops, state.root.values.eops ?? 0n);
      return one.values.eops === null || unknown(one, "eops")
        ? ""
        : [
            element("span", { class: "meter" }, element("i", { style: `width: ${share}%` })),
            element("b", {}, share ? inPercent(share) : ""),
          ];
    },
  },
  number("macs", 4),
  number("flops", 8, true),
  number("bytes", 6),
  number("parameters", 7),
  {
    key: "intensity",
    title: "FLOPs/byte",
    rank: 9,
    seldom: true,
    least: 95,
    wide: "95px",
    cell: (one) => {
      const found = intensity(one);
      return found === null ? "" : String(Number(found.toPrecision(3)));
    },
  },
];
// What else nodes have is shown when it is asked for.
COLUMNS.push(...KEYS.filter((key) => !COLUMNS.some((one) => one.key === key)).map((key) => number(key, 10, true)));
const VIEWS = { scope: "by scope", op: "by operator", node: "in order" };
const toggle = (one) => {
  if (!open.delete(one.key)) open.add(one.key);
  nodes();
};
toggle.open = open;
const table = new Table(byId("rows"), COLUMNS, choose, toggle);
new ResizeObserver(() => state.root && nodes()).observe(byId("rows"));

function setView(view) {
  state.view = view;
  state.root =
    view === "scope" ? scopeTree(data, byId("fold").checked) : view === "op" ? operatorTree(data) : nodeList(data);
  state.sort = view === "op" ? { column: "eops", down: true } : null;
  added(state.root, (form) => (state.outside ? null : valueAt(form)));
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
      return element(
        "button",
        {
          type: "button",
          role: "columnheader",
          class: numeric ? "number" : "",
          "data-column": column.key,
          "aria-sort": sorted ? (state.sort.down ? "descending" : "ascending") : null,
          onclick: () => {
            const down = state.sort?.column === by ? !state.sort.down : numeric;
            state.sort = state.sort?.column === by && down === numeric ? null : { column: by, down, from: column.key };
            nodes();
          },
        },
        column.title,
      );
    }),
  );
  byId("count").textContent = `${grouped(rows.length)} rows, ${grouped(data.nodes.length)} nodes`;
  table.show(rows);
}

function reveal(node) {
  const one = leaves(state.root).find((other) => other.node === node);
  for (let up = one?.parent; up?.parent; up = up.parent) open.add(up.key);
  byId("filter").value = "";
  nodes();
  choose(one);
}

function choose(one) {
  if (!one) return;
  state.chosen = one;
  detail();
  table.select(one);
}
