"""Models read back: the record, the page as its script computes it, tables by operator, node and scope."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import traceback
from collections.abc import Iterator, Sequence
from fractions import Fraction
from random import Random

import tolcost
from tolcost import Cost, Rejected
from tolcost.platform import with_deep_stack
from tolcost.result.model_table import TableView
from tolcost.result.page import cost_page
from tolcost.result.view import CostView, written
from tools.result.shown import PAGES, Point, compared, points, stated, wanted_at
from tools.show.readers import Undefined, Unreadable, of_text

AMOUNTS = ("eops", "flops", "macs", "bytes")
_PREFIXES = {p: 1000**n for n, p in enumerate(("", "k", "M", "G", "T", "P", "E", "Z", "Y", "R", "Q"))}

SCRIPT = """
const fs = require("fs"), asked = JSON.parse(fs.readFileSync(0, "utf8"));
globalThis.document = { getElementById: () => ({ textContent: asked.data }) };
const run = new Function("asked", `${asked.script}
  return asked.points.map((given) => {
    known = new Map();
    state.values = new Map(Object.entries(given).map(([n, v]) => [n, BigInt(v)]));
    const number = (one) => { const v = valueAt(one); return v === null ? null : String(v); };
    const found = { broken: broken(state.values), figures: data.figures.map((one) => {
      const f = figureAt(one.form); return [one.key, f && f.map(String)]; }) };
    for (const kind of ["operators", "scopes"]) found[kind] = data[kind].map((one) =>
      ["eops", "flops", "macs", "bytes"].map((key) => number(one[key])));
    found.nodes = data.nodes.map(([, kind]) =>
      ["eops", "flops", "macs", "bytes"].map((key) => number(data.kinds[kind][key])));
    return found; });`);
console.log(JSON.stringify(run(asked)));
"""


def lengths(point: Point) -> dict[str, int]:
    return {s.name: v for s, v in point.items() if s.kind == "length"}


def wrong_model(path: str, seed: int = 0) -> Iterator[str]:
    """Everything that is shown of a model."""
    cost, random = tolcost.load_model(path), Random(seed)
    at = points(cost, random) or ([{}] if not cost.study.symbols else [])
    yield from wrong_record(cost, at)
    yield from wrong_page(cost, at)
    for point in at[:1]:
        if any(s.kind == "data" for s in cost.study.symbols):
            continue
        try:
            there = cost.subs(lengths(point))
        except Rejected as error:
            yield f"what is stated allows {lengths(point)}, and it is refused: {error}"
            continue
        for by in ("op", "node", "scope"):
            yield from wrong_table(there, by, random)
            yield from wrong_groups(there, by)


def wrong_record(cost: Cost, at: Sequence[Point]) -> Iterator[str]:
    record = json.loads(cost.to_json())
    forms = {measure.key: measure.form for measure in cost.measures}
    for point in at:
        names = {s.name: v for s, v in point.items()}
        for key, form in forms.items():
            text = record["totals"][key]
            right = wanted_at(form, point)
            compared["model json"] += 1
            if text is None:
                if form is not None:
                    yield f"json: {key} is null"
                continue
            try:
                found: Fraction | None = of_text(text, names)
            except Undefined:
                found = None
            except Unreadable as error:
                yield f"json: {key}: {text[:200]}: {error}"
                continue
            if found != right and right is not None:
                yield f"json: {key}: {text[:200]} is {found}, not {right} at {names}"
        for by in ("by_op", "nodes"):
            for key in AMOUNTS:
                parts = [one[key] for one in record[by]]
                if any(part is None for part in parts) or record["totals"][key] is None:
                    continue
                total = sum((of_text(part, names) for part in parts), Fraction(0))
                compared["model sums"] += 1
                if total != of_text(record["totals"][key], names):
                    yield f"json: {key} {by} come to {total}, not {record['totals'][key][:100]} at {names}"


def wrong_page(cost: Cost, at: Sequence[Point]) -> Iterator[str]:
    """Figures as the page computes them, and where it shows none."""
    page = cost_page(cost)
    found = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    record, random = json.loads(cost.to_json()), Random(len(page))
    others = (
        [{s.name: random.randint(0, 9) for s in cost.study.symbols} for _ in range(6)] if cost.symbols else []
    )
    inside = [{s.name: v for s, v in point.items()} for point in at]
    script = "".join((PAGES / f"{name}.js").read_text(encoding="utf-8") for name in ("parts", "model"))
    asked = {
        "data": found[1],
        "script": script,
        "points": [{n: str(v) for n, v in one.items()} for one in (*inside, *others)],
    }
    done = subprocess.run(["node", "-e", SCRIPT], input=json.dumps(asked), capture_output=True, text=True)
    if done.returncode:
        yield f"page: {done.stderr[:500]}"
        return
    answers = json.loads(done.stdout)
    for point, shown in zip(at, answers, strict=False):
        names = {s.name: v for s, v in point.items()}
        if shown["broken"]:
            yield f"page: {shown['broken']} at {names}, which is stated to be right"
        for measure, (key, pair) in zip(cost.measures, shown["figures"], strict=True):
            right = wanted_at(measure.form, point)
            compared["page"] += 1
            value = None if pair is None else Fraction(int(pair[0]), int(pair[1]))
            if value != right:
                yield f"page: {key} is {value}, not {right} at {names}"
        for kind in ("operators", "nodes"):
            for n, key in enumerate(AMOUNTS):
                total = wanted_at(getattr(cost.total, key), point)
                parts = [row[n] for row in shown[kind]]
                compared["page sums"] += 1
                if total is not None and None not in parts and sum(map(int, parts)) != total:
                    yield f"page: {key} of {kind} come to {sum(map(int, parts))}, not {total} at {names}"
    data_free = all(s.kind == "length" for s in cost.study.symbols)
    for names, shown in zip(others, answers[len(at) :], strict=True):
        compared["page domain"] += 1
        if data_free and bool(shown["broken"]) == stated(record, names):
            yield f"page: {shown['broken']} at {names}, stated {stated(record, names)}"


def wrong_groups(cost: Cost, by: str) -> Iterator[str]:
    """CSV by operator, node or scope: sums, and both kinds of figures."""
    view = CostView(symbolic=False, table=TableView(by=by))
    rows = list(csv.DictReader(io.StringIO(written([cost], "csv", view))))
    names = dict(cost.point.dims)
    for key in AMOUNTS:
        whole = cost.number(getattr(cost.total, key))
        at = [row[f"{key}_at"] for row in rows]
        compared["csv groups"] += len(at)
        if whole is not None and all(at) and sum(map(int, at)) != whole:
            yield f"csv by {by}: {key} come to {sum(map(int, at))}, not {whole} at {names}"
        for row in rows:
            if row[key] and row[f"{key}_at"]:
                try:
                    found = of_text(row[key].removeprefix("'"), names)
                except (Unreadable, Undefined) as error:
                    yield f"csv by {by}: {row[key][:200]}: {error}"
                    continue
                if found != int(row[f"{key}_at"]):
                    yield f"csv by {by}: {row[key][:100]} is {found}, not {row[f'{key}_at']} at {names}"


def wrong_table(cost: Cost, by: str, random: Random) -> Iterator[str]:
    """A table on a screen: order, sums, shares, what is left out."""
    top = random.choice([None, 1, 2, 5])
    sort = random.choice([None, "eops", "macs", "bytes", "parameters", "flops", "nodes"])
    columns = ("nodes", "eops", "flops", "macs", "bytes", "parameters", "share", "cumulative")
    exact = random.random() < 0.7
    table = TableView(by=by, columns=columns, sort=sort, top=top, depth=1, exact=exact)
    text = written([cost], "md", CostView(symbolic=False, table=table))
    lines = [line for line in text.splitlines() if line.startswith("|")]
    start = next(n for n, line in enumerate(lines) if "| nodes |" in line)
    figures = {cells[0]: cells[1:] for cells in map(_cells, lines[2:start])}
    rows = [_cells(line) for line in lines[start + 2 :]]
    where = f"table by {by}, sorted by {sort}, top {top}"
    if top is not None and len(rows) > top + 4:
        yield f"{where}: {len(rows)} rows"
    for n, key in enumerate(("eops", "flops", "macs", "bytes", "parameters"), 2):
        label = {"eops": "EOPs", "flops": "FLOPs", "macs": "MACs", "bytes": "bytes, node by node"}.get(
            key, key
        )
        form = getattr(cost.total, key) if key != "parameters" else cost.forms["params"]
        whole = cost.number(form)
        compared["table sums"] += len(rows)
        if whole is None or any(not row[n] or row[n] == "not known" for row in rows):
            continue
        shown = figures[label][0]
        if not _about(shown, whole, exact):
            yield f"{where}: {label} is {shown}, not {whole}"
        if exact:
            found = sum(_integer(row[n]) for row in rows)
            if found != whole:
                yield f"{where}: {key} of the rows come to {found}, not {whole}"
    shares = [Fraction(row[7].removesuffix(" %")) for row in rows if row[7]]
    if shares and abs(sum(shares) - 100) > Fraction(len(shares), 20) + Fraction(1, 10):
        yield f"{where}: shares come to {float(sum(shares))} %"
    if (
        rows
        and shares
        and rows[-1][8]
        and abs(Fraction(rows[-1][8].removesuffix(" %")) - 100) > Fraction(1, 10)
    ):
        yield f"{where}: cumulative ends at {rows[-1][8]}"
    if exact and sort is not None and sort != "nodes":
        column = 2 + ("eops", "flops", "macs", "bytes", "parameters").index(sort)
        special = re.compile(r"\d+ more$|without|not costed|\(no node\)")
        sizes = [_integer(row[column]) for row in rows if not special.search(row[0]) and row[column]]
        if sizes != sorted(sizes, reverse=True):
            yield f"{where}: sizes {sizes}"
    nodes = sum(int(row[1].replace(",", "")) for row in rows if row[1])
    if nodes != cost.coverage.nodes:
        yield f"{where}: {nodes} nodes of {cost.coverage.nodes}"


def _cells(line: str) -> list[str]:
    cells = re.split(r"(?<!\\) \| ", line.removeprefix("| ").removesuffix(" |"))
    return [re.sub(r"\\(.)", r"\1", cell).replace("`", "").strip() for cell in cells]


def _integer(cell: str) -> int:
    return int(re.sub(r"[ ,B]", "", cell))


def _about(shown: str, whole: int, exact: bool) -> bool:
    """Whether what is shown is a number, every digit of it or the first three."""
    if exact:
        return _integer(shown) == whole
    found = re.fullmatch(r"([\d.,]+) ?([kMGTPEZYRQ]?)B?", shown)
    if found is None:
        return "e+" in shown
    value = Fraction(found[1].replace(",", "")) * _PREFIXES[found[2]]
    return abs(value - whole) * 200 <= whole or value == whole


def campaign(paths: Sequence[str]) -> list[str]:
    wrong, many = [], 0
    for n, path in enumerate(paths):
        try:
            found = with_deep_stack(lambda path=path, n=n: list(wrong_model(path, n)))
        except Rejected:
            continue
        except Exception:  # what we look for, whatever it is
            found = [traceback.format_exc(limit=-5)]
        many += 1
        for said in found[:5]:
            print(f"{path}: {said[:1500]}", flush=True)
        wrong += [f"{path}: {said}" for said in found]
    print(f"{many} models; compared {sum(compared.values()):,}: {dict(compared)}")
    return wrong
