// The nodes of a model as a tree, and its rows as a table of which only what is seen is drawn.

const ROW = 30;

// An item: a node (`kind`), or a scope, an operator or a fold with items below it.
function item(title, more = {}) {
  return { title, key: title, children: [], parent: null, kind: null, nodes: [], times: 1, values: {}, ...more };
}

function adopt(parent, child) {
  child.parent = parent;
  child.key = `${parent.key}\u0000${child.key}`;
  parent.children.push(child);
  return child;
}

// What is not costed is not known to be free.
const free = (kind, data) => !kind.problem && ["eops", "macs"].every((key) => data.forms[kind[key]] === 0);

function nodeItems(data) {
  return data.nodes.map(([title, kind], n) => item(title, { key: `#${n}`, kind: data.kinds[kind], node: n, nodes: [n] }));
}

// By scope; with `fold`, scopes that are alike are one, and so are nodes that cost nothing.
function scopeTree(data, fold) {
  const root = item("", { sum: null }),
    scopes = new Map([["", root]]);
  const sums = new Map(data.scopes.map((one) => [one.path.join("\u0000"), one]));
  const scope = (path) => {
    const key = path.join("\u0000");
    if (!scopes.has(key)) {
      const made = item(path.at(-1), { sum: sums.get(key) ?? null, path });
      scopes.set(key, made);
      adopt(scope(path.slice(0, -1)), made);
    }
    return scopes.get(key);
  };
  nodeItems(data).forEach((one, n) => adopt(scope(data.nodes[n][2]), one));
  if (fold) folded(root, data);
  return shortened(root);
}

function operatorTree(data) {
  const root = item(""),
    operators = new Map();
  for (const one of nodeItems(data)) {
    if (!operators.has(one.kind.op))
      operators.set(one.kind.op, adopt(root, item(one.kind.op, { operator: one.kind.op })));
    adopt(operators.get(one.kind.op), one);
  }
  return root;
}

function nodeList(data) {
  const root = item("");
  for (const one of nodeItems(data)) adopt(root, one);
  return root;
}

function leaves(one, found = []) {
  if (one.kind) found.push(one);
  for (const child of one.children) leaves(child, found);
  return found;
}

function signature(one, data) {
  const counts = new Map();
  for (const { kind } of leaves(one))
    if (!free(kind, data)) counts.set(`${kind.eops},${kind.macs}`, (counts.get(`${kind.eops},${kind.macs}`) ?? 0) + 1);
  return JSON.stringify([...counts].sort());
}

function folded(root, data) {
  for (const child of root.children) folded(child, data);
  const groups = new Map();
  for (const child of root.children) {
    const nothing = child.kind && free(child.kind, data);
    const key = nothing
      ? "without cost"
      : child.kind
        ? `#${child.node}`
        : `${starred(child.title)} ${signature(child, data)}`;
    groups.set(key, [...(groups.get(key) ?? []), child]);
  }
  const before = root.children;
  root.children = [];
  const added = new Set();
  for (const child of before) {
    const [key, alike] = [...groups].find(([, one]) => one.includes(child));
    if (alike.length === 1) {
      root.children.push(child);
      continue;
    }
    if (added.has(key)) continue;
    added.add(key);
    const nothing = key === "without cost";
    const fold = item(nothing ? `${alike.length} nodes without cost` : starred(child.title), {
      key: `*${key}`,
      times: nothing ? 1 : alike.length,
      fold: true,
      nothing,
      sum: nothing ? null : child.sum,
    });
    adopt(root, fold);
    for (const one of alike) {
      one.parent = fold;
      fold.children.push(one);
    }
  }
  const last = root.children.findIndex((one) => one.nothing);
  if (last >= 0) root.children.push(...root.children.splice(last, 1));
}

const starred = (title) => title.replace(/\d+/g, "*");

// What is alike is one, down to the nodes: scopes of one kind, and in those that are several, nodes of one kind.
function merged(root, data) {
  const several = (one) => one.times > 1 || (one.parent !== null && several(one.parent));
  const groups = new Map();
  for (const child of root.children) {
    const own = child.kind ? (several(root) ? JSON.stringify(child.kind) : `#${child.node}`) : signature(child, data);
    const key = `${starred(child.title)} ${own}`;
    groups.set(key, [...(groups.get(key) ?? []), child]);
  }
  root.children = [...groups.values()].map((alike) => {
    if (alike.length === 1) return alike[0];
    const titles = new Set(alike.map((one) => one.title));
    const [first] = alike;
    return item(titles.size > 1 ? starred(first.title) : first.title, {
      key: first.key,
      kind: first.kind,
      node: first.node,
      nodes: alike.flatMap((one) => one.nodes),
      times: alike.length,
      path: first.path,
      parent: root,
      children: alike.flatMap((one) => one.children),
    });
  });
  for (const child of root.children) {
    for (const below of child.children) below.parent = child;
    merged(child, data);
  }
  return root;
}

// A scope that holds nothing but one other is written as one.
function shortened(root) {
  for (const child of root.children) shortened(child);
  root.children = root.children.map((child) => {
    const only = child.children.length === 1 && !child.fold && !child.kind ? child.children[0] : null;
    if (!only || only.kind || only.fold) return child;
    only.title = `${child.title}/${only.title}`;
    only.parent = root;
    return only;
  });
  return root;
}

// The values of everything at a point, from below; null where something has none.
function added(one, at) {
  for (const key of KEYS) {
    let sum = one.kind ? at(one, key) : 0n;
    for (const child of one.children) {
      if (key === KEYS[0]) added(child, at);
      sum = sum === null || child.values[key] === null ? null : sum + child.values[key];
    }
    one.values[key] = sum;
  }
  one.partly = Boolean(one.kind?.problem) || one.children.some((child) => child.partly);
}

// ---- which rows there are

function compared(sort) {
  const { column, down } = sort;
  const size = (one) => (column === "intensity" ? (intensity(one) ?? -1) : (one.values[column] ?? -1n));
  const text = (one) => (column === "title" ? one.title : (one.kind?.[column] ?? ""));
  return (a, b) => {
    const [x, y] = column === "title" || column === "op" || column === "type" ? [text(a), text(b)] : [size(a), size(b)];
    return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
  };
}

// Not known where something is not costed, whatever the rest comes to.
const intensity = ({ values, partly }) =>
  partly || values.flops === null || !values.bytes
    ? null
    : decimal([values.flops, values.bytes]);

function rowsOf(root, { open, sort, words }) {
  const found = [];
  const fits = (one) =>
    words.every((word) => `${one.title} ${one.kind?.op ?? ""} ${one.kind?.type ?? ""}`.toLowerCase().includes(word));
  const keep = (one, inside) => inside || fits(one) || one.children.some((child) => keep(child, false));
  const visit = (one, level, inside) => {
    const order = sort ? [...one.children].sort(compared(sort)) : one.children;
    for (const child of order) {
      const here = inside || (words.length > 0 && fits(child));
      if (words.length && !keep(child, here)) continue;
      const opened = open.has(child.key) || (words.length > 0 && !here);
      found.push([child, level, opened]);
      if (opened) visit(child, level + 1, here);
    }
  };
  visit(root, 0, false);
  return found;
}

// ---- the table

class Table {
  constructor(box, columns, choose, toggle) {
    Object.assign(this, {
      box,
      columns,
      choose,
      toggle,
      rows: [],
      shown: [],
      asked: new Map(),
      drawn: new Map(),
      chosen: null,
    });
    this.inside = element("div", { class: "inside", role: "rowgroup" });
    box.append(this.inside);
    box.addEventListener("scroll", () => requestAnimationFrame(() => this.draw(false, true)));
    box.addEventListener("keydown", (event) => this.pressed(event));
  }

  // The columns that fit, most wanted first; those asked for, and what is drawn, are shown in any case.
  fitting() {
    let left = this.box.clientWidth || 1000;
    const kept = new Set();
    for (const column of [...this.columns].sort((a, b) => a.rank - b.rank)) {
      const asked = this.asked.get(column.key) ?? (column.key === state.by ? true : undefined);
      left -= column.least;
      if (asked ?? (left >= 0 && !column.seldom)) kept.add(column);
      else left += column.least;
    }
    return this.columns.filter((column) => kept.has(column));
  }

  show(rows) {
    this.rows = rows;
    this.shown = this.fitting();
    this.inside.style.height = `${rows.length * ROW}px`;
    this.box.style.height = `min(640px, 72vh, ${rows.length * ROW + 34}px)`;
    this.box.setAttribute("aria-rowcount", rows.length);
    this.draw();
  }

  // What is seen; while scrolling, rows that stay are left as they are.
  draw(all = false, scrolling = false) {
    if (scrolling && this.whole) return; // paper has every row, and may scroll while it is laid out
    this.whole = all;
    const first = all ? 0 : Math.max(0, Math.floor(this.box.scrollTop / ROW) - 4);
    const last = all
      ? this.rows.length
      : Math.min(this.rows.length, first + Math.ceil(this.box.clientHeight / ROW) + 8);
    const before = scrolling ? this.drawn : new Map();
    this.drawn = new Map();
    for (let place = first; place < last; place++)
      this.drawn.set(place, before.get(place) ?? this.row(...this.rows[place], place));
    this.inside.replaceChildren(...this.drawn.values());
  }

  row(one, level, opened, place) {
    const chosen = one === this.chosen;
    const more = one.children.length > 0;
    const made = element("div", {
      class: `row${chosen ? " chosen" : ""}${one.kind ? "" : " scope"}`,
      role: "row",
      id: `row-${place}`,
      "aria-level": level + 1,
      "aria-expanded": more ? String(opened) : null,
      "aria-selected": String(chosen),
      "aria-rowindex": place + 1,
      style: `top: ${place * ROW}px`,
      "data-key": one.key,
      onclick: (event) => {
        if (more && (event.target.closest(".twig") || chosen || !one.sum)) this.toggle(one);
        this.choose(one);
      },
    });
    for (const column of this.shown)
      made.append(element("div", { class: `cell ${column.key}`, role: "gridcell" }, column.cell(one, level, opened)));
    return made;
  }

  select(one) {
    this.chosen = one;
    const place = this.rows.findIndex(([other]) => other === one);
    if (place >= 0) {
      const top = place * ROW;
      if (top < this.box.scrollTop) this.box.scrollTop = top;
      else if (top + 2 * ROW > this.box.scrollTop + this.box.clientHeight)
        this.box.scrollTop = top + 2 * ROW - this.box.clientHeight;
    }
    if (place >= 0) this.box.setAttribute("aria-activedescendant", `row-${place}`);
    else this.box.removeAttribute("aria-activedescendant");
    this.draw();
  }

  pressed(event) {
    if (event.target.closest("#titles")) return;
    const place = this.rows.findIndex(([one]) => one === this.chosen);
    const one = this.rows[place]?.[0];
    const moves = {
      ArrowDown: place + 1,
      ArrowUp: Math.max(place - 1, 0),
      Home: 0,
      End: this.rows.length - 1,
      PageDown: place + 15,
      PageUp: place - 15,
    };
    if (event.key in moves) {
      const to = this.rows[Math.max(0, Math.min(moves[event.key], this.rows.length - 1))];
      if (to) this.choose(to[0]);
    } else if (event.key === "ArrowRight" && one?.children.length && !this.toggle.open.has(one.key)) this.toggle(one);
    else if (event.key === "ArrowLeft" && one && this.toggle.open.has(one.key)) this.toggle(one);
    else if (event.key === "ArrowLeft" && one?.parent?.parent) this.choose(one.parent);
    else if ((event.key === "Enter" || event.key === " ") && one?.children.length) this.toggle(one);
    else return;
    event.preventDefault();
  }
}
