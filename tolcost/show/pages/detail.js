// One node or scope in full, down to the line of a definition.

function detail() {
  const one = state.chosen;
  byId("detail").hidden = !one;
  document.querySelector(".split").classList.toggle("open", Boolean(one));
  if (!one) return;
  const forms = one.kind ?? one.sum;
  const line = (key) => {
    const form = data.shown[forms?.[key] ?? -1];
    return element(
      "tr",
      {},
      element("td", {}, NAMES[key]),
      element("td", {}, form ? [one.times > 1 ? `${one.times} × ` : null, wrapping(form)] : ""),
      element(
        "td",
        { class: "number", "data-key": key, "data-value": one.values[key] ?? "" },
        full(key, one.values[key]).replace(" B", ""),
      ),
    );
  };
  byId("detail").replaceChildren(
    ...[
      element(
        "button",
        {
          type: "button",
          class: "plain close",
          "aria-label": "close",
          onclick: () => choose(null),
        },
        "✕",
      ),
      element("h3", {}, one.title),
      element(
        "div",
        { class: "quiet" },
        one.kind ? (one.kind.op ? [one.kind.op, " · ", element("code", {}, one.kind.type)] : "") : `${grouped(leaves(one).length)} nodes`,
      ),
      one.kind?.problem ? element("p", { class: "bad" }, `Not costed: ${one.kind.problem}`) : null,
      element("table", {}, ...KEYS.map(line)),
      ...(one.kind ? one.kind.derived.flatMap(derivation) : [inside(one)]),
    ].filter((child) => child !== null),
  );
}

function inside(one) {
  const counts = new Map();
  for (const leaf of leaves(one)) {
    const [nodes, eops] = counts.get(leaf.kind.op) ?? [0, 0n];
    counts.set(leaf.kind.op, [nodes + 1, eops === null || leaf.values.eops === null ? null : eops + leaf.values.eops]);
  }
  const rows = [...counts].sort((a, b) => ((a[1][1] ?? 0n) > (b[1][1] ?? 0n) ? -1 : 1)).slice(0, 14);
  return element(
    "div",
    {},
    element("h4", {}, "Operators in it"),
    element(
      "table",
      {},
      ...rows.map(([op, [nodes, eops]]) =>
        element(
          "tr",
          {},
          element("td", {}, op),
          element("td", { class: "number" }, `${nodes}`),
          element("td", { class: "number" }, said("eops", eops)),
        ),
      ),
    ),
  );
}

function derivation([place, times]) {
  const found = data.derived[place];
  const source = element("div", { class: "source", hidden: true });
  const show = (file, line, step) => {
    source.hidden = false;
    step.after(source);
    source.replaceChildren(
      ...data.sources[file]
        .replace(/\n$/, "")
        .split("\n")
        .map((text, k) => element("div", { "data-line": k + 1, class: k + 1 === line ? "here" : null }, text || " ")),
    );
    source.setAttribute("aria-label", file);
    source.scrollTop +=
      source.querySelector(".here").getBoundingClientRect().top - source.getBoundingClientRect().top - 60;
  };
  const piece = ([kind, content]) =>
    kind === "math" ? wrapping(`<math>${content}</math>`) : kind === "code" ? element("code", {}, content) : content;
  const step = ([text, reason, file, line, pieces]) =>
    element(
      "li",
      {},
      pieces ? element("div", { class: "typeset" }, ...pieces.map(piece)) : element("code", {}, `= ${text}`),
      file
        ? element(
            "button",
            { type: "button", class: "line", onclick: (event) => show(file, line, event.target.closest("li")) },
            `${file.split("/").at(-1)}:${line}`,
          )
        : null,
      element("span", { class: "quiet" }, reason),
    );
  return [
    element("h4", {}, `Why: ${found.op}${times > 1 ? `, applied ${times} times` : ""}`),
    ...found.chains.map((chain) =>
      element(
        "ol",
        { class: "steps" },
        chain.name ? element("li", {}, element("code", {}, `EOPs(${chain.name})`)) : null,
        ...chain.steps.map(step),
      ),
    ),
    source,
  ];
}
