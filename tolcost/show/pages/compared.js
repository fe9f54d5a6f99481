// Another model beside this one.

function comparison() {
  if (!data.other) return;
  const { other } = data;
  const titles = [...new Set([...data.operators, ...other.operators].map((one) => one.title))];
  const find = (list, title) => list.find((one) => one.title === title);
  const at = (form) => (state.outside ? null : form === undefined || form === null ? 0n : valueAt(form));
  const whole = other.figures.find((one) => one.key === "eops");
  const rows = [
    ["all", whole?.old.top[0], whole?.new.top[0]],
    ...titles.map((title) => [title, find(other.operators, title)?.eops, find(data.operators, title)?.eops]),
  ]
    .map(([title, before, after]) => [title, at(before), at(after)])
    .filter(([, before, after]) => before !== 0n || after !== 0n);
  const change = (before, after) =>
    before === null || after === null
      ? ""
      : before === after
        ? "same"
        : before === 0n
          ? "new"
          : `${after > before ? "+" : "-"}${inPercent(after > before ? after - before : before - after, before)}`;
  byId("compared").hidden = false;
  byId("compared").dataset.verdict = other.verdict;
  const shown = (name, list) =>
    element(
      "div",
      { class: "wide" },
      element(
        "table",
        {},
        element(
          "thead",
          {},
          element(
            "tr",
            {},
            ...[name, other.name, other.than, "change"].map((title, k) =>
              element("th", { class: k ? "number" : null }, title),
            ),
          ),
        ),
        element(
          "tbody",
          {},
          ...list.map(([title, before, after]) =>
            element(
              "tr",
              { "data-op": title },
              element("td", {}, title),
              ...[before, after].map((value) =>
                element(
                  "td",
                  { class: "number", "data-value": value ?? "", title: value === null ? "" : grouped(value) },
                  value === null ? "—" : said("eops", value),
                ),
              ),
              element(
                "td",
                { class: `number ${after > before ? "more" : after < before ? "less" : ""}` },
                change(before, after),
              ),
            ),
          ),
        ),
      ),
    );
  const layers = other.layers.map(([title, before, after]) => [title, at(before), at(after)]);
  byId("compared").replaceChildren(
    element("h2", {}, `${other.name} → ${other.than}: ${other.said}`),
    ...other.notes.map((note) => element("p", { class: "quiet" }, ...marked(note))),
    figuresBeside(other),
    element(
      "details",
      { open: layersOpen("operators"), "data-part": "operators" },
      element("summary", {}, data.kind === "model" ? "EOPs by operator" : "EOPs by function"),
      shown(data.kind === "model" ? "operator" : "function", rows),
    ),
    ...(layers.length
      ? [
          element(
            "details",
            { open: layersOpen("layers"), "data-part": "layers" },
            element("summary", {}, `${layers.length} layers that differ`),
            shown("EOPs by layer", layers),
          ),
        ]
      : []),
  );
}

// What was opened stays so when a length changes; operators are open at first.
const layersOpen = (part) => {
  const found = document.querySelector(`#compared [data-part=${part}]`);
  return found ? found.open : part === "operators";
};

// Every figure of both, here.
function figuresBeside(other) {
  const worth = (form) => (state.outside ? null : figureAt(form));
  const cell = (one, form, found) =>
    element(
      "td",
      { class: "number", "data-value": found ? (form.bottom ? decimal(found) : found[0]) : "" },
      found ? (state.exact && !form.bottom ? grouped(found[0]) : figureText({ form, bytes: one.bytes }, found)) : "—",
    );
  const rows = other.figures.map((one) => {
    const [before, after] = [worth(one.old), worth(one.new)];
    const [a, b] = before && after ? [before[0] * after[1], after[0] * before[1]] : [0n, 0n];
    const part = b > a ? b - a : a - b;
    return element(
      "tr",
      { "data-figure": one.key },
      element("td", {}, one.label, one.unit ? element("span", { class: "quiet" }, ` ${one.unit}`) : null),
      cell(one, one.old, before),
      cell(one, one.new, after),
      element(
        "td",
        { class: `number ${b > a ? "more" : b < a ? "less" : ""}` },
        !before || !after ? "" : a === b ? "same" : a === 0n ? "new" : `${b > a ? "+" : "-"}${inPercent(part, a)}`,
      ),
      element("td", {}, one.verdict),
    );
  });
  const titles = [["figure"], [other.name, "number"], [other.than, "number"], ["change", "number"], ["for all lengths"]];
  return element(
    "div",
    { class: "wide" },
    element(
      "table",
      { id: "figures-beside" },
      element("thead", {}, element("tr", {}, ...titles.map(([title, kind]) => element("th", { class: kind }, title)))),
      element("tbody", {}, ...rows),
    ),
  );
}
