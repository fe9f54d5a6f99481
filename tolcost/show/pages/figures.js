// The figures, and what is drawn of them: shares, growth, memory, the roofline.

function figures() {
  const shown = data.figures.filter((one) => one.form);
  byId("figures").replaceChildren(
    ...shown.map((one) => {
      const found = state.outside ? null : figureAt(one.form);
      const whole = found && found[1] === 1n;
      const value = found && (whole ? found[0] : decimal(found));
      const open = one.form.bottom ? [] : one.form.top.filter((number) => typeof data.forms[number] === "object");
      const forms = open.map((number) => data.shown[number]);
      const written = forms.length > 1 ? `the largest of ${forms.length} forms` : null;
      const widen = (event) => event.currentTarget.classList.toggle("wide");
      return element(
        "div",
        {
          class: "card figure",
          "data-more": forms.length === 1,
          onclick: forms.length === 1 ? widen : () => {},
          "data-key": one.key,
          "data-value": found ? value : "",
        },
        element("div", { class: "label" }, one.label, one.unit ? ` (${one.unit})` : ""),
        element("div", { class: "value" }, found ? short(value) : "—"),
        element("div", { class: "exactly" }, whole && found[0] >= 10_000n ? grouped(found[0]) : ""),
        written
          ? element("details", {}, element("summary", { class: "quiet" }, written), ...forms.map(notation))
          : forms.length
            ? notation(forms[0])
            : null,
      );
    }),
  );
}

function shares() {
  const sized = data.operators
    .map((one) => ({ one, eops: state.outside ? null : valueAt(one.eops) }))
    .filter(({ eops }) => eops === null || eops > 0n);
  const all = sized.reduce((sum, { eops }) => (sum === null || eops === null ? null : sum + eops), 0n);
  sized.sort((a, b) => ((a.eops ?? 0n) > (b.eops ?? 0n) ? -1 : 1));
  const rest = sized.splice(12);
  const row = (title, eops, choose) => {
    const share = eops === null || all === null ? null : percent(eops, all);
    return element(
      "button",
      { type: "button", class: "share", "data-op": title, "data-value": eops ?? "", onclick: choose },
      element("span", { title }, title),
      element("span", { class: "meter" }, element("i", { style: `width: ${share ?? 0}%` })),
      element("span", { class: "number" }, share === null ? "—" : inPercent(share)),
      element("span", { class: "number count quiet" }, eops === null ? "" : short(eops)),
    );
  };
  byId("share").replaceChildren(
    ...sized.map(({ one, eops }) =>
      row(one.title, eops, () => {
        byId("filter").value = one.title;
        setView("op");
      }),
    ),
    ...(rest.length
      ? [
          row(
            `${rest.length} more`,
            rest.reduce((sum, { eops }) => (sum === null || eops === null ? null : sum + eops), 0n),
            () => setView("op"),
          ),
        ]
      : []),
  );
}

// ---- growth: everything but one length stays as it is

function grown() {
  const parts = data.operators.map((one) => [one.title, one.eops]);
  const largest = parts
    .map((one) => [one, valueAt(one[1]) ?? 0n])
    .sort((a, b) => (a[1] > b[1] ? -1 : 1))
    .slice(0, 5)
    .map(([one]) => one);
  return [
    ["all", data.scopes.find((one) => !one.path.length)?.eops ?? null],
    ...largest,
    ...(data.other ? [[data.other.name, data.other.eops]] : []),
  ];
}

function growth() {
  const names = data.symbols.filter((one) => !one.data).map((one) => one.name);
  state.with ??= names.at(-1) ?? null;
  byId("growth-with").replaceChildren(
    ...names.map((name) =>
      element(
        "button",
        {
          type: "button",
          class: "plain",
          "aria-pressed": String(name === state.with),
          onclick: () => {
            state.with = name;
            growth();
          },
        },
        visible(name),
      ),
    ),
  );
  if (!state.with)
    return byId("growth").replaceChildren(
      element("p", { class: "quiet" }, "No length is open: there is one size, and these are its figures."),
    );
  const row = lengths().find((one) => one.symbol.name === state.with);
  const points = row.places.filter((n) => fine(withLength(state.with, n)));
  const parts = grown();
  const series = parts.map(([name, form]) => ({
    name,
    form,
    points: points
      .map((n) => [n, valueAt(form, withLength(state.with, n))])
      .filter(([, value]) => value !== null)
      .map(([n, value]) => [n, Number(value)]),
  }));
  const drawn = series.filter((one) => one.points.some(([, value]) => value > 0));
  const nothing = series.some((one) => !one.points.length) ? "Data decides what it costs." : "Nothing is counted.";
  const marks = points.length > 1 ? crossings(parts.slice(1), points) : [];
  byId("growth").replaceChildren(
    drawn.length
      ? lineChart(drawn, { name: visible(state.with), unit: "EOPs", now: Number(state.values.get(state.with) ?? 0n), marks })
      : element("p", { class: "quiet" }, points.length ? nothing : "At no such length do the conditions hold."),
  );
  byId("crossings").replaceChildren(...marks.map(({ text }) => element("li", {}, text)));
}

// The first length from one on at which the conditions hold; the last one if that is far.
function allowed(low, last) {
  for (let n = low; n < Math.min(last, low + 1000); n++) if (fine(withLength(state.with, n))) return n;
  return last;
}

// Lengths at which one part comes to cost more than another, exactly; it may cost less again later on.
function crossings(parts, points) {
  const found = [];
  const gap = (f, g, n) => {
    const at = withLength(state.with, n),
      [a, b] = [valueAt(f, at), valueAt(g, at)];
    return a === null || b === null ? 0n : b - a;
  };
  for (const [a, f] of parts)
    for (const [b, g] of parts) {
      for (let k = 1; k < points.length; k++) {
        let [low, high] = [points[k - 1], points[k]];
        if (!(gap(f, g, low) <= 0n && gap(f, g, high) > 0n && (k > 1 || gap(f, g, low) < 0n))) continue;
        while (high - low > 1) {
          const middle = Math.floor((low + high) / 2);
          if (gap(f, g, middle) > 0n) high = middle;
          else low = middle;
        }
        const from = allowed(high, points[k]);
        found.push({ at: from, text: `at ${visible(state.with)} = ${grouped(from)} ${b} comes to cost more than ${a}` });
      }
    }
  return found.sort((a, b) => a.at - b.at);
}

// ---- memory, roof

function alive() {
  const changes = new Array(data.nodes.length + 2).fill(0n);
  for (const [form, first, last] of data.memory) {
    const size = valueAt(form);
    if (size === null) return null;
    changes[first] += size;
    changes[last + 1] -= size;
  }
  let sum = 0n;
  return changes.slice(0, data.nodes.length).map((change) => (sum += change));
}

function memory() {
  const sizes = state.outside ? null : alive();
  const most = sizes?.reduce((a, b) => (a < b ? b : a), 0n);
  byId("peak").dataset.value = most ?? "";
  byId("peak").textContent = sizes
    ? `The peak is ${grouped(most)} bytes${data.missing.length ? ", perhaps more" : ""}, at ${data.nodes[sizes.indexOf(most)]?.[0] ?? "the start"}.`
    : "";
  byId("memory").replaceChildren(
    sizes
      ? areaChart(sizes.map(Number), {
          name: "nodes",
          unit: "bytes",
          titles: data.nodes.map(([title]) => title),
          chosen: reveal,
        })
      : element("p", { class: "quiet" }, state.outside ? "—" : "Data decides how large some values are."),
  );
}

function roofline() {
  if (!data.device) return;
  byId("roof-card").hidden = false;
  byId("roof-of").textContent = `${data.device.name}: ${data.device.description}`;
  const timed = state.outside
    ? []
    : data.operators
        .filter((one) => one.time)
        .map((one) => ({ one, time: figureAt(one.time), flops: valueAt(one.flops), bytes: valueAt(one.bytes) }));
  const seconds = (time) => decimal([time[0] * 1000n, time[1]]) * 1e-9;
  const all = timed.reduce((sum, { time }) => sum + (time ? seconds(time) : 0), 0);
  const points = timed
    .filter(({ time, flops, bytes }) => time && time[0] > 0n && flops > 0n && bytes > 0n)
    .map(({ one, time, flops, bytes }) => ({
      name: one.title,
      x: Number(flops) / Number(bytes),
      y: Number(flops) / seconds(time),
      share: (100 * seconds(time)) / all,
    }))
    .sort((a, b) => b.share - a.share);
  const peaks = Object.entries(data.device.macs)
    .map(([space, rate]) => [space, 2e6 * rate])
    .sort((a, b) => b[1] - a[1])
    .slice(0, 4);
  byId("roof").replaceChildren(
    points.length
      ? roofChart(points, { peaks, bandwidth: 1e6 * data.device.bytes, name: data.device.name })
      : element("p", { class: "quiet" }, "—"),
  );
}
