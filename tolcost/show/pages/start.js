// Keys, and how the page begins.

function about() {
  byId("name").textContent = data.name;
  byId("chips").replaceChildren(
    ...(data.coverage ? [element("span", { class: `chip${data.missing.length ? " bad" : ""}` }, data.coverage)] : []),
    element("span", { class: `chip${data.status === "exact" ? "" : " bad"}` }, data.status),
  );
  byId("types").replaceChildren(
    ...data.types.map(([way, name, type]) =>
      element("li", {}, element("span", { class: "quiet" }, `${way} `), element("code", {}, `${name}: ${type}`)),
    ),
  );
  byId("head").replaceChildren(...data.head.flatMap(([label, value]) => [`${label}: ${value}`, element("br")]));
  if (data.step) document.querySelector("#memory-card figcaption .quiet").textContent = "of a step of training, node by node";
  for (const id of ["memory-card", "fold-label", "unfold", "views"]) byId(id).hidden = data.kind === "program";
  byId("missing-card").hidden = !data.missing.length;
  byId("missing").replaceChildren(
    ...data.missing.map(([op, name, why]) =>
      element("li", {}, element("code", {}, op), ` ${name}: `, element("span", { class: "quiet" }, why)),
    ),
  );
}

function pressed(event) {
  if (
    event.target.matches("input, select, textarea")
      ? event.key !== "Escape"
      : event.ctrlKey || event.metaKey || event.altKey
  )
    return;
  const does = {
    "/": () => byId("filter").focus(),
    t: () => byId("theme").click(),
    "?": () => byId("help").click(),
    e: () => byId("exact").click(),
    Escape: () => {
      byId("keys").hidden = true;
      byId("columns").open = false;
      if (document.activeElement === byId("filter")) {
        byId("filter").value = "";
        nodes();
        byId("rows").focus();
      } else if (state.chosen) choose(null);
    },
  }[event.key];
  if (does) {
    event.preventDefault();
    does();
  }
}

function start() {
  about();
  for (const { name, value } of data.symbols) if (value !== null) state.values.set(name, BigInt(value));
  byId("lengths").append(...data.symbols.map((one) => (one.data ? dataRow(one) : lengthRow(one))));
  byId("lengths").addEventListener("submit", (event) => event.preventDefault());
  for (const { name } of data.symbols) OWN.set(name, state.values.get(name));
  if (!data.symbols.length) byId("lengths").append(element("p", { class: "quiet" }, "All are given."));
  byId("columns")
    .querySelector(".card")
    .append(
      ...COLUMNS.slice(1).map((column) => {
        const box = element("input", {
          type: "checkbox",
          "data-column": column.key,
          onchange: () => {
            table.asked.set(column.key, box.checked);
            nodes();
          },
        });
        return element("label", {}, box, ` ${column.title}`);
      }),
    );
  state.scopes = merged(scopeTree(data, false), data);
  state.root = state.scopes;
  graphStart();
  firstWith(); // by the lengths that no address has changed yet
  follow();
  state.started = true;
  addEventListener("hashchange", led);
  themed(byId("theme"));
  byId("filter").addEventListener("input", () => {
    nodes();
    rememberSoon();
  });
  byId("fold").addEventListener("change", () => {
    state.scopes = scopeTree(data, false);
    if (byId("fold").checked) merged(state.scopes, data);
    valued();
    icicle();
    graph();
    setView(state.view);
  });
  byId("exact").addEventListener("change", (event) => {
    state.exact = event.target.checked;
    comparison();
    nodes();
    detail();
    remember();
  });
  byId("icicle").addEventListener("keydown", icicleKey);
  byId("icicle").addEventListener("blur", () => tip(null));
  byId("out").addEventListener("click", () => zoom(zoomedItem().parent ?? state.scopes));
  for (const link of document.querySelectorAll(".bar nav a"))
    link.addEventListener("click", (event) => {
      event.preventDefault(); // the address says what is shown
      const part = document.querySelector(link.hash);
      part.scrollIntoView();
      part.focus({ preventScroll: true });
    });
  let wide = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== wide) requestAnimationFrame(pictures);
    wide = innerWidth;
  });
  byId("help").addEventListener("click", () => {
    byId("keys").hidden = !byId("keys").hidden;
    byId("help").setAttribute("aria-expanded", String(!byId("keys").hidden));
  });
  byId("unfold").addEventListener("click", () => {
    const every = (one) => one.children.flatMap((child) => (child.children.length ? [child, ...every(child)] : []));
    const all = every(state.root),
      closing = all.every((one) => open.has(one.key));
    for (const one of all)
      if (closing) open.delete(one.key);
      else open.add(one.key);
    byId("unfold").textContent = closing ? "Open all" : "Close all";
    nodes();
  });
  addEventListener("keydown", pressed);
  addEventListener("beforeprint", () => {
    table.draw(true);
    graphWhole();
  });
  addEventListener("afterprint", () => {
    nodes();
    graphFit();
  });
}

start();
