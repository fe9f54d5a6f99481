// The figures, and what is drawn of them: shares, growth, memory, the roofline.

function figures() {
  const shown = data.figures.filter((one) => one.form);
  byId("figures").replaceChildren(
    ...shown.map((one) => {
      const found = state.outside ? null : figureAt(one.form);
      const whole = found && !one.form.bottom;
      const written = found && figureText(one, found);
      const open = one.form.bottom ? [] : one.form.top.filter((number) => typeof data.forms[number] === "object");
      return element(
        "div",
        { class: "card figure", "data-key": one.key, "data-value": found ? (whole ? found[0] : decimal(found)) : "" },
        element("div", { class: "label" }, one.label, one.unit ? ` (${one.unit})` : ""),
        element("div", { class: "value" }, found ? written : "—"),
        element("div", { class: "exactly" }, whole && grouped(found[0]) !== written ? grouped(found[0]) : ""),
        ...closedForms(open.map((number) => data.shown[number])),
      );
    }),
  );
  widen();
}

// A card has the room of two where a term of its form is wider than the card.
function widen() {
  const cards = [...byId("figures").children];
  for (const card of cards) card.classList.remove("long");
  const long = cards.filter((card) => card.scrollWidth > card.clientWidth + 1);
  for (const card of long) card.classList.add("long");
}

// Times are known to a picosecond.
function figureText({ form, bytes }, [top, bottom]) {
  if (form.time) return durationText((top * 1_000_000n) / bottom);
  return short(form.bottom ? [top, bottom] : top, bytes ? "B" : "");
}

// Picoseconds in three digits, in the unit that suits them, as duration_text in shorten.py.
function durationText(found) {
  const units = ["µs", "ms", "s"];
  let bottom = 1_000_000n;
  while (2n * found >= 1999n * bottom && units.length > 1) [bottom] = [1000n * bottom, units.shift()];
  const whole = 2n * found >= 1999n * bottom; // beyond the last unit
  return `${whole ? rounded(found, bottom, 0) : short([found, bottom])} ${units[0]}`;
}

const LONG = 90; // a form with more signs is shown when it is asked for

// Forms in lines that fit; what is very long, or the largest of several, opens.
function closedForms(forms) {
  const lines = forms.map(wrapping);
  if (!lines.length) return [];
  if (lines.length === 1 && lines[0].textContent.length <= LONG) return lines;
  const title = lines.length > 1 ? `the largest of ${lines.length} forms` : "closed form";
  return [element("details", {}, element("summary", { class: "quiet" }, title), ...lines)];
}

// What operators come to by the amount that everything is drawn by, the largest first.
function sizedOperators() {
  const key = state.by;
  if (state.outside) return data.operators.map((one) => ({ title: one.title, value: null }));
  if (data.operators.length && key in data.operators[0]) {
    return data.operators.map((one) => ({ title: one.title, form: one[key], value: valueAt(one[key] ?? null) }));
  }
  const sums = new Map();
  for (const { kind, values } of leaves(state.scopes))
    sums.set(kind.op, values[key] === null ? null : (sums.get(kind.op) ?? 0n) + values[key]);
  const found = [...sums].map(([title, value]) => ({ title, value }));
  if (key === "memory" && state.alive) found.push({ title: GIVEN, value: state.alive.given });
  return found;
}

function shares() {
  const key = state.by;
  const sized = sizedOperators().filter(({ value }) => value === null || value > 0n);
  const all = sized.reduce((sum, { value }) => (sum === null || value === null ? null : sum + value), 0n);
  sized.sort((a, b) => ((a.value ?? 0n) > (b.value ?? 0n) ? -1 : 1));
  const rest = sized.splice(12);
  const row = (title, value, choose) => {
    const known = value !== null && all !== null;
    return element(
      "button",
      {
        type: "button",
        class: "share",
        "data-op": title,
        "data-value": value ?? "",
        title: known ? `${title}: ${full(key, value)}` : title,
        onclick: choose,
      },
      element("span", {}, title),
      element(
        "span",
        { class: "meter" },
        element("i", { style: `width: ${known ? percent(value, all) : 0}%; background: var(--c${colourOf(title)})` }),
      ),
      element("span", { class: "number" }, known ? inPercent(value, all) : "—"),
      element("span", { class: "number count quiet" }, value === null ? "" : brief(key, value)),
    );
  };
  byId("share-of").textContent = `of ${LONGER[key] ?? `all ${NAMES[key]}`}`;
  byId("share").replaceChildren(
    ...sized.map(({ title, value }) =>
      row(title, value, () => {
        byId("filter").value = title;
        setView("op");
        remember();
      }),
    ),
    ...(rest.length
      ? [
          row(
            `${rest.length} more`,
            rest.reduce((sum, { value }) => (sum === null || value === null ? null : sum + value), 0n),
            () => {
              setView("op");
              remember();
            },
          ),
        ]
      : []),
    ...(sized.length ? [] : [element("p", { class: "quiet" }, "Nothing is counted.")]),
  );
}

const LONGER = {
  time: "the time, operators one after the other",
  memory: "the memory at the peak, by the operator that makes it",
};

// An operator has one colour everywhere, whatever is drawn; what is no operator has the last.
const COLOURS = new Map(data.operators.map(({ title }, place) => [title, place % 7]));
const colourOf = (title) => COLOURS.get(title) ?? 7;

// ---- growth: everything but one length stays as it is

// Lines by name; each gives a quotient at a point.
function grown() {
  const key = state.by in WHOLE ? state.by : "eops";
  const of = (form) => (values) => (key === "time" ? inTime(figureAt(form, values)) : figureAt(form, values));
  const fits = (one) => one.key === WHOLE[key];
  const unit = { time: "time", memory: "bytes at the peak" }[key] ?? NAMES[key];
  const other = data.other?.figures?.findLast(fits);
  if (other) {
    const lines = [
      [data.other.name, (values) => figureAt(other.old, values)],
      [data.other.than, (values) => figureAt(other.new, values)],
    ];
    return { key, unit, lines, parts: lines };
  }
  const whole = key === "time" ? { top: [data.device.whole] } : data.figures.find(fits)?.form;
  const parts = data.operators
    .filter((one) => (one[key] ?? null) !== null)
    .map((one) => [one.title, one[key], valueAt(one[key]) ?? 0n])
    .sort((a, b) => (a[2] > b[2] ? -1 : a[2] < b[2] ? 1 : 0))
    .slice(0, 5)
    .map(([title, form]) => [title, of({ top: [form] })]);
  return { key, unit, lines: whole ? [["all", of(whole)], ...parts] : parts, parts };
}

const WHOLE = { eops: "eops", macs: "macs", bytes: "bytes", time: "time", memory: data.step ? "train_peak" : "peak_bytes" };
const inTime = (found) => found && [picoseconds(found[0]), 1_000_000n];

function growth() {
  const names = data.symbols.filter((one) => !one.data).map((one) => one.name);
  if (!names.includes(state.with)) state.with = firstWith();
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
            remember();
          },
        },
        visible(name),
      ),
    ),
  );
  byId("crossings").replaceChildren();
  if (!state.with)
    return byId("growth").replaceChildren(
      element("p", { class: "quiet" }, "No length is open: there is one size, and these are its figures."),
    );
  const row = lengths().find((one) => one.symbol.name === state.with);
  const points = row.places;
  const { key, lines, parts, unit } = grown();
  const series = lines.map(([name, at]) => ({
    name,
    colour: name === "all" || data.other ? null : colourOf(name),
    points: points
      .map((n) => [n, at(withLength(state.with, n))])
      .filter(([, value]) => value !== null)
      .map(([n, value]) => [n, decimal(value)]),
  }));
  const drawn = series.filter((one) => one.points.some(([, value]) => value > 0));
  const nothing = series.some((one) => !one.points.length) ? "Data decides what it costs." : "Nothing is counted.";
  const marks = points.length > 1 ? crossings(parts, points) : [];
  byId("growth").replaceChildren(
    drawn.length
      ? lineChart(drawn, {
          name: visible(state.with),
          unit,
          wide: byId("growth").clientWidth,
          now: Number(state.values.get(state.with) ?? 0n),
          say: (value) => (key === "time" ? durationText(BigInt(Math.round(value * 1e6))) : short(value, key === "bytes" || key === "memory" ? "B" : "")),
          marks,
        })
      : element("p", { class: "quiet" }, points.length ? nothing : "At no such length do the conditions hold."),
  );
  byId("crossings").replaceChildren(...marks.map(({ text }) => element("li", {}, text)));
}

// The first length from one on at which the conditions hold; the last one if that is far.
function allowed(low, last) {
  for (let n = low; n < Math.min(last, low + 1000); n++) if (fine(withLength(state.with, n))) return n;
  return last;
}

// Lengths at which one part overtakes another, exactly; it may cost less again later on.
function crossings(parts, points) {
  const found = [];
  const gap = (f, g, n) => {
    const at = withLength(state.with, n),
      [a, b] = [f(at), g(at)];
    return a === null || b === null ? 0n : b[0] * a[1] - a[0] * b[1];
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
        found.push({
          at: from,
          label: `${b} > ${a}`,
          text: `at ${visible(state.with)} = ${grouped(from)} ${b} overtakes ${a}`,
        });
      }
    }
  return found.sort((a, b) => a.at - b.at);
}

// ---- memory, roof

// The memory of activations after each node, and what is alive at the peak: in all, by node, and of inputs.
function alive() {
  const sized = data.memory.map(([form, first, last, name, given]) => ({
    size: valueAt(form),
    first,
    last,
    name,
    given,
  }));
  if (sized.some(({ size }) => size === null)) return null;
  const changes = new Array(data.nodes.length + 2).fill(0n);
  for (const { size, first, last } of sized) {
    changes[first] += size;
    changes[last + 1] -= size;
  }
  let sum = 0n;
  const sizes = changes.slice(0, data.nodes.length).map((change) => (sum += change));
  const most = sizes.reduce((a, b) => (a < b ? b : a), 0n),
    at = sizes.indexOf(most);
  const there = sized
    .filter(({ size, first, last }) => size > 0n && first <= at && at <= last)
    .sort((a, b) => (a.size > b.size ? -1 : a.size < b.size ? 1 : 0));
  const made = new Map();
  let given = 0n;
  for (const one of there)
    if (one.given) given += one.size;
    else made.set(one.first, (made.get(one.first) ?? 0n) + one.size);
  return { sizes, most, at, there, made, given };
}

const NAMED_TENSORS = 6;

function memory() {
  if (data.kind === "program") return;
  const { sizes, most, at, there } = state.alive ?? {};
  byId("peak").dataset.value = most ?? "";
  byId("peak").textContent = sizes
    ? `The peak is ${grouped(most)} bytes${data.missing.length ? ", perhaps more" : ""}, at ${data.nodes[at]?.[0] ?? "the start"}:`
    : "";
  const rows = (there ?? []).slice(0, NAMED_TENSORS).map(({ name, size, given, first }) =>
    element(
      "li",
      { "data-value": size },
      given
        ? element("span", {}, data.step ? `${name} (throughout)` : `${name} (an input)`)
        : element(
            "button",
            { type: "button", class: "link", title: `made by ${data.nodes[first][0]}`, onclick: () => reveal(first) },
            name,
          ),
      element("span", { class: "number" }, `${short(size, "B")}, ${inPercent(size, most)}`),
    ),
  );
  const rest = (there ?? []).slice(NAMED_TENSORS);
  if (rest.length) {
    const size = rest.reduce((sum, one) => sum + one.size, 0n);
    rows.push(
      element(
        "li",
        { "data-value": size },
        element("span", { class: "quiet" }, `${rest.length} more`),
        element("span", { class: "number" }, `${short(size, "B")}, ${inPercent(size, most)}`),
      ),
    );
  }
  byId("peak-of").replaceChildren(...rows);
  byId("memory").replaceChildren(
    sizes
      ? areaChart(sizes.map(Number), {
          name: "nodes",
          unit: "bytes",
          wide: byId("memory").clientWidth,
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
  const placed = state.outside
    ? []
    : data.operators
        .filter((one) => one.time !== null)
        .map((one) => ({ one, time: valueAt(one.time), flops: valueAt(one.flops), bytes: valueAt(one.bytes) }));
  const seconds = (time) => decimal([picoseconds(time), 1n]) * 1e-12;
  const all = placed.reduce((sum, { time }) => sum + (time ?? 0n), 0n);
  const points = placed
    .filter(({ time, flops, bytes }) => time && flops > 0n && bytes > 0n)
    .map(({ one, time, flops, bytes }) => ({
      name: one.title,
      colour: colourOf(one.title),
      x: decimal([flops, bytes]),
      y: Number(flops) / seconds(time),
      share: percent(time, all),
      told: `${short([flops, bytes])} FLOPs per byte, ${brief("time", time)}, ${inPercent(time, all)} of the time`,
    }))
    .sort((a, b) => b.share - a.share);
  const peaks = Object.entries(data.device.macs)
    .map(([space, rate]) => [space, 2e6 * rate])
    .sort((a, b) => b[1] - a[1])
    .slice(0, 4);
  byId("roof").replaceChildren(
    points.length
      ? roofChart(points, {
          peaks,
          bandwidth: 1e6 * data.device.bytes,
          name: data.device.name,
          wide: byId("roof").clientWidth,
        })
      : element("p", { class: "quiet" }, "—"),
  );
}
