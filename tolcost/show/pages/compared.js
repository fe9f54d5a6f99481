// Another model beside this one.

function comparison() {
  if (!data.other) return;
  const { other } = data;
  const titles = [...new Set([...data.operators, ...other.operators].map((one) => one.title))];
  const find = (list, title) => list.find((one) => one.title === title);
  const at = (form) => (state.outside ? null : form === undefined || form === null ? 0n : valueAt(form));
  const rows = [
    ["all", other.eops, data.scopes.find((one) => !one.path.length).eops],
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
          : `${after > before ? "+" : "−"}${inPercent(Math.abs(percent(after > before ? after - before : before - after, before)))}`;
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
                  value === null ? "—" : said(value),
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
    ...other.notes.map((note) => element("p", { class: "quiet" }, note)),
    shown("EOPs by operator", rows),
    ...(layers.length
      ? [
          element(
            "details",
            {},
            element("summary", { class: "quiet" }, `${layers.length} layers that differ`),
            shown("EOPs by layer", layers),
          ),
        ]
      : []),
  );
}
