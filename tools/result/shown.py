"""What a user reads is what was derived: every format of an answer read back, and held to the closed forms.

``python -m tools.result.shown programs 2000`` shows as many random programs in every format (text, Markdown,
LaTeX, HTML, CSV, JSON, what the script of a page computes, sympy), reads each figure back with the readers of
``tools.show.readers`` and compares it with the closed form at points, and where a run is possible with
what it counted.  ``specs`` takes every program of ``specs/`` instead, ``models FILE...`` models: a page,
tables by operator, node and scope, records.  ``--start N`` begins at another seed.
"""

from __future__ import annotations

import argparse
import csv
import html
import io
import json
import re
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

from msgspec import Struct, field

import tolcost
from tolcost import Cost, Rejected
from tolcost.algebra import ZERO, AlgebraBudget, NotInteger, Poly, Symbol, evaluate, to_browser
from tolcost.platform import with_deep_stack
from tolcost.result.metrics import LEADING
from tolcost.result.study import Located
from tolcost.result.view import CostView, written
from tolcost.show.document import Form, form_at
from tools.programs.asked import text_of as random_program
from tools.show.readers import Undefined, Unreadable, holds, of_mathml, of_text

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "tolcost" / "show" / "pages"
POINTS, TRIES = 3, 40
LONG = 160
"""Longer forms are cut in tables."""
compared: Counter[str] = Counter()
"""How much was compared, by what."""

Point = Mapping[Symbol, int]


class Row(Struct, frozen=True):
    """A figure as it was read: its label, its closed form, its value at the point, what stands behind it."""

    label: str
    form: str | None
    value: str | None = None
    remark: str = ""


class Browser(Struct):
    """Forms for the script of the pages, all evaluated in one go: much quicker than one by one."""

    asked: list[tuple[str, Any, dict[str, int], Fraction | None]] = field(default_factory=list)

    def ask(self, what: str, form: Poly, values: Mapping[str, int], wanted: Fraction | None) -> None:
        self.asked.append((what, to_browser(form), dict(values), wanted))

    def wrong(self) -> Iterator[str]:
        script = (PAGES / "parts.js").read_text(encoding="utf-8")
        rows = [[tree, {n: str(v) for n, v in values.items()}] for _, tree, values, _ in self.asked]
        program = f"""{script}
          for (const [tree, values] of JSON.parse(require("fs").readFileSync(0, "utf8"))) {{
            const map = new Map(Object.entries(values).map(([n, v]) => [n, BigInt(v)]));
            try {{ console.log(String(evaluate(tree, map))); }}
            catch (error) {{ if (!(error instanceof Undefined)) throw error; console.log("none"); }} }}"""
        done = subprocess.run(
            ["node", "-e", program], input=json.dumps(rows), capture_output=True, text=True, check=True
        )
        for (what, _, values, wanted), found in zip(self.asked, done.stdout.split(), strict=True):
            compared["browser"] += 1
            if found != ("none" if wanted is None else str(wanted)):
                yield f"{what}: the browser gives {found}, not {wanted} at {values}"
        self.asked.clear()


# ---- points ------------------------------------------------------------------------------------


def points(cost: Located, random: Random) -> list[Point]:
    """Points at which what is stated allows figures; what is stated is what a reader sees: JSON."""
    record = json.loads(written([cost], "json"))
    record = record["programs"][0] if "programs" in record else record
    found: list[Point] = []
    for attempt in range(TRIES):
        most = 9 if attempt < TRIES // 2 else 40
        point: dict[Symbol, int] = {}
        for symbol in sorted(cost.study.symbols, key=lambda s: s.kind == "data"):
            top = most
            if symbol.kind == "data" and symbol.hi is not None and symbol.hi.free <= point.keys():
                top = max(evaluate(symbol.hi, point), 0)
            point[symbol] = random.randint(0 if attempt % 4 == 3 else 1, max(min(top, most), 1))
        if stated(record, {s.name: v for s, v in point.items()}) and point not in found:
            found.append(point)
        if len(found) == POINTS:
            break
    return found


def stated(record: Mapping[str, Any], values: Mapping[str, int]) -> bool:
    """Whether lengths are in the domain that a record states."""
    for one in record["symbols"]:
        value = values[one["name"]]
        if one["low"] is not None and value < of_text(one["low"], values):
            return False
        if one["high"] is not None and value > of_text(one["high"], values):
            return False
    return all(_holds(one["condition"], values) for one in record["conditions"])


def _holds(text: str, values: Mapping[str, int]) -> bool:
    try:
        return holds(text, values)
    except Unreadable as error:
        if "nothing is named" in str(error):
            return True  # about a length that no figure mentions
        raise


def wanted_at(form: Form | None, point: Point) -> Fraction | None:
    """What a form is worth; None: nothing."""
    try:
        found = None if form is None else form_at(form, point)
    except (NotInteger, AlgebraBudget):
        return None
    return Fraction(found) if isinstance(found, int | Fraction) else None


# ---- rows of a format --------------------------------------------------------------------------


def expected(cost: Located) -> list[tuple[str, Form | None, str, int]]:
    """Label, closed form, what is said behind it, and level of every row."""
    found: list[tuple[str, Form | None, str, int]] = []
    for measure in cost.measures:
        found.append((measure.label, measure.form, measure.remark, 0))
        most = cost.study.at_most if measure.key == LEADING else None
        if most is not None:
            found.append(("at most", most, "whatever data decides", 1))
        for part in measure.parts:
            found.append((f"{part.name} {part.space}".rstrip(), part.form, part.remark, 1))
    return found


def rows_of_text(text: str) -> Iterator[Row]:
    """The figures of a text: between the empty lines."""
    block = text.split("\n\n")[1]
    for line in block.splitlines():
        parts = re.split(r"  +", line.strip(), maxsplit=2)
        value = parts[1] if len(parts) > 1 else None
        yield Row(parts[0], value, remark=parts[2] if len(parts) > 2 else "")


def rows_of_markdown(text: str) -> Iterator[Row]:
    lines = [line for line in text.splitlines() if line.startswith("|")]
    for line in lines[2:]:
        label, cell = re.split(r"(?<!\\) \| ", line.removeprefix("| ").removesuffix(" |"), maxsplit=1)
        label = label.replace("&emsp;", "").replace("`", "")
        found = re.fullmatch(r"(`+) ?(.*?) ?\1(?: (.*))?", cell)
        plain = None if found is None else found[2].replace(r"\|", "|")
        yield Row(
            label, plain or (cell or None), remark="" if found is None else (found[3] or "").replace("\\", "")
        )


def rows_of_fragment(text: str) -> Iterator[Row]:
    table = re.search(r"<tbody>(.*?)</tbody>", text, re.DOTALL)
    assert table is not None
    for line in re.findall(r"<tr>(.*?)</tr>", table[1], re.DOTALL):
        label, cell, unit = re.findall(r"<td[^>]*>(.*?)</td>", line, re.DOTALL)
        yield Row(
            html.unescape(label).replace("\u2003", "").replace("&emsp;", ""),
            cell or None,
            remark=html.unescape(unit),
        )


def _of_cell(cell: str, values: Mapping[str, int]) -> Fraction:
    """A formula of a piece of HTML: MathML, text as code, or a number."""
    if cell.startswith("<math>"):
        return of_mathml(cell, values)
    return of_text(html.unescape(re.sub(r"</?code>", "", cell)), values)


READERS = {
    "text": (rows_of_text, of_text),
    "md": (rows_of_markdown, of_text),
    "fragment": (rows_of_fragment, _of_cell),
}


def wrong_rows(cost: Located, at: Sequence[Point]) -> Iterator[str]:
    """Figures that some format shows otherwise than they are, or leaves out."""
    wanted = expected(cost)
    for form, (rows_of, read) in READERS.items():
        shown = written([cost], form, CostView(symbolic=True))
        rows = [row for row in rows_of(shown) if row.label != "grows as"]
        if [row.label for row in rows] != [label for label, *_ in wanted]:
            yield f"{form}: rows {[row.label for row in rows]} for {[label for label, *_ in wanted]}"
            continue
        for row, (label, closed, unit, level) in zip(rows, wanted, strict=True):
            bounds = set(re.findall("at most|at least|one bound over another", unit))
            if level == 0 and not all(bound in row.remark for bound in bounds):
                yield f"{form}: {label} does not say {bounds}"
            if closed is None:
                if row.form not in (None, "not known"):
                    yield f"{form}: {label} is {row.form}, and is not known"
                continue
            if row.form is None or row.form.endswith("…") or "…" in row.form:
                if row.form is None or form != "fragment":
                    yield f"{form}: {label} has no form"
                continue
            yield from _held(f"{form}: {label}", row.form, read, closed, at)


def _held(what: str, text: str, read: Any, closed: Form, at: Sequence[Point]) -> Iterator[str]:
    for point in at:
        names = {symbol.name: value for symbol, value in point.items()}
        right = wanted_at(closed, point)
        compared[what.split(":")[0]] += 1
        try:
            found = read(text, names)
        except Undefined:
            found = None
        except (Unreadable, RecursionError, AssertionError) as error:
            yield f"{what}: {text[:200]} cannot be read: {error}"
            return
        if found != right and not (right is None and isinstance(found, Fraction)):
            yield f"{what}: {text[:200]} is {found}, not {right} at {names}"
            return


def wrong_data(cost: Located, at: Sequence[Point]) -> Iterator[str]:
    """The same of CSV and JSON, in closed forms and at each point."""
    wanted = expected(cost)
    for point in at:
        names = {symbol.name: value for symbol, value in point.items()}
        lengths = {s.name: v for s, v in point.items() if s.kind == "length"}
        try:
            there = Located(cost.study, cost.study.locate(names).checked())
        except Rejected as error:
            yield f"what is stated allows {names}, and it is refused: {error.message}"
            continue
        rows = list(csv.DictReader(io.StringIO(written([there], "csv", CostView(symbolic=True)))))
        listed = [row for row in wanted if row[0] not in ("index", "atoms", "at most")]
        if len(rows) != len(listed):
            yield f"csv: {len(rows)} rows for {len(listed)}"
            continue
        for row, (label, closed, _, _) in zip(rows, listed, strict=True):
            right = wanted_at(closed, point)
            if row["form"]:
                yield from _held(
                    f"csv: {label}",
                    row["form"].removeprefix("'"),
                    of_text,
                    ZERO if closed is None else closed,
                    [point],
                )
            compared["csv value"] += 1
            found = of_text(row["value"], {}) if row["value"] else None
            if found != right:
                yield f"csv: the value of {label} is {row['value']}, not {right} at {names}"
        record = json.loads(written([there], "json"))["programs"][0]
        if record["at"]["dims"] != names and record["at"]["dims"] != lengths:
            yield f"json: at {record['at']['dims']}, not {names}"
        yield from _json_rows(record, there, point)


KEYS = {"eops": "eops", "flops": "flops", "macs": "macs", "bytes": "bytes", "intensity": "intensity",
        "span": "span", "parallelism": "parallelism"}  # fmt: skip


def _json_rows(record: Mapping[str, Any], cost: Located, point: Point) -> Iterator[str]:
    pairs: list[tuple[str, Any, Any, Form | None]] = []
    here = record["at"]
    for measure in cost.measures:
        if measure.key in KEYS:
            pairs.append((measure.key, record[measure.key], here[measure.key], measure.form))
    for key, forms in (("histogram", cost.total.histogram), ("index", cost.total.index)):
        if len(record[key]) != len(forms):
            yield f"json: {key} has {len(record[key])} of {len(forms)}"
        for (name, space), form in forms.items():
            title = f"{name}:{space}"
            pairs.append((f"{key} {title}", record[key][title], here[key][title], form))
    for name, form in cost.total.atoms.items():
        pairs.append((f"atom {name}", record["atoms"][name], here["atoms"][name], form))
    for what, text, value, form in pairs:
        if form is None:
            if text is not None or value is not None:
                yield f"json: {what} is {text}, and is not known"
            continue
        yield from _held(f"json: {what}", str(text), of_text, form, [point])
        compared["json value"] += 1
        right = wanted_at(form, point)
        if (None if value is None else of_text(str(value), {})) != right:
            yield f"json: {what} is {value}, not {right} at {here['dims']}"


# ---- sympy, Python, the browser, the gate --------------------------------------------------------


def wrong_python(cost: Cost, at: Sequence[Point], random: Random) -> Iterator[str]:
    """What sympy makes of forms: as objects, through text and through srepr."""
    import sympy

    forms = {"eops": cost.total.eops, "flops": cost.total.flops, "macs": cost.total.macs,
             "bytes": cost.total.bytes, "intensity": cost.forms.get("intensity"),
             "depth": cost.forms.get("depth"), "parallelism": cost.forms.get("parallelism")}  # fmt: skip
    key = random.choice([name for name, form in forms.items() if form is not None])
    made = cost[key]
    if len(str(made)) > 400 or not at:
        return
    point = random.choice(list(at))
    right = wanted_at(forms[key], point)
    put = {symbol.name: value for symbol, value in point.items()}
    names = {symbol.name: sympy.Symbol(symbol.name, integer=True) for symbol in made.free_symbols}
    again = sympy.sympify(str(made), locals=names)
    from tolcost.algebra.sympy_form import Clip, FloorDiv

    scope = {**vars(sympy), "FloorDiv": FloorDiv, "Clip": Clip}
    represented = eval(sympy.srepr(made), scope)  # noqa: S307  # what srepr is for
    for way, expr in (("object", made), ("str", again), ("srepr", represented)):
        found = expr.subs({s: put[s.name] for s in expr.free_symbols}).doit()
        compared[f"sympy {way}"] += 1
        known = found.is_Rational and Fraction(int(found.p), int(found.q))
        if right is not None and known != right:
            yield f"sympy {way} of {key}: {made} is {found}, not {right} at {put}"


def ask_browser(browser: Browser, what: str, cost: Located, at: Sequence[Point]) -> None:
    for measure in cost.measures:
        if isinstance(measure.form, Poly):
            for point in at:
                names = {symbol.name: value for symbol, value in point.items()}
                browser.ask(f"{what}: {measure.label}", measure.form, names, wanted_at(measure.form, point))


def wrong_domain(cost: Cost, random: Random) -> Iterator[str]:
    """Figures are refused exactly where what is stated does not hold."""
    record = json.loads(cost.to_json())
    record = record["programs"][0] if "programs" in record else record
    for _ in range(4):
        point = {s.name: random.randint(-1, 6) for s in cost.study.symbols}
        if random.random() < 0.2 and point:
            point[random.choice(list(point))] = random.choice([2**40, 10**30, 2**31])
        try:
            inside = stated(record, point)
        except Undefined:
            inside = False
        try:
            cost(point)
            given = True
        except Rejected:
            given = False
        compared["domain"] += 1
        if inside != given:
            yield f"at {point}: inside by what is stated: {inside}, given: {given}"


def _as_typed(latex: str) -> str:
    """LaTeX with its signs as they are typed."""
    for sign, typed in ((r"$\ge$", ">="), (r"$\le$", "<="), ("$=$", "=="), (r"$\ne$", "!=")):
        latex = latex.replace(sign, typed)
    return re.sub(r"\$([<>|])\$", r"\1", latex)


def wrong_standing(cost: Located) -> Iterator[str]:
    """A status, a condition, or a range of what data decides that a format does not tell."""
    record = json.loads(written([cost], "json"))["programs"][0]
    shown = {form: written([cost], form, CostView(symbolic=True)) for form in (*READERS, "csv")}
    plain = {
        "text": shown["text"],
        "md": re.sub(r"\\(.)", r"\1", shown["md"]).replace("`", ""),
        "fragment": html.unescape(re.sub(r"<[^>]*>", " ", shown["fragment"])),
        "csv": shown["csv"],
    }
    for form, text in plain.items():
        compared["standing"] += 1
        if cost.status != "exact" and cost.status not in text:
            yield f"{form}: does not say that it is {cost.status}"
        if form == "csv":
            rows = list(csv.DictReader(io.StringIO(text)))
            said = {(row["metric"], row["item"], row["space"]): row["status"] for row in rows}
            for measure in cost.measures:
                for bound in re.findall("at most|at least|one bound over another", measure.remark):
                    if measure.headed and said[measure.key, "", ""] != bound:
                        yield f"csv: {measure.key} does not say {bound}"
            continue
        for symbol in cost.study.symbols:
            if symbol.kind == "data" and f"<= {symbol.name}" not in text:
                yield f"{form}: does not say what {symbol.name} may be"
        for kind in ("needed", "checked"):
            heading = {"needed": "holds where", "checked": "checked when run"}[kind]
            if any(one.kind == kind for one in cost.study.requirements) and heading not in text.lower():
                yield f"{form}: nothing of {heading}"
    if record["status"] != cost.status:
        yield f"json: {record['status']}"


# ---- derivations ---------------------------------------------------------------------------------


def wrong_derivation(text: str, cost: Located, at: Sequence[Point]) -> Iterator[str]:
    """Steps of a derivation that are not equal, as far as they are numbers, and its end."""
    from tolcost.cost.derive import derive
    from tolcost.diagnostics import Source
    from tolcost.pipeline import lower, read_program
    from tolcost.result.derivation import derivation_json, derivation_text

    program = lower(read_program(Source("case.tol", text))).program
    try:
        derivation = derive(program)
    except Rejected:
        return
    record = json.loads(derivation_json(derivation, "case", "case.tol"))
    for point in at:
        names = {symbol.name: value for symbol, value in point.items()}
        total = wanted_at(cost.total.eops, point)
        chains = Fraction(0)
        for chain in record["chains"]:
            own = of_text(chain["eops"], names)
            chains += own
            bounded = any("at its largest" in step["reason"] for step in chain["steps"])
            for step in chain["steps"]:
                if not _is_number(step, names, bounded):
                    continue
                compared["steps"] += 1
                try:
                    found = of_text(step["form"], names)
                except (Unreadable, Undefined) as error:
                    yield f"explain: {step['form'][:200]}: {error}"
                    continue
                if found != own:
                    yield f"explain: {step['form'][:200]} is {found}, not {own} at {names}"
        if chains != of_text(record["eops"], names) or of_text(record["eops"], names) != total:
            yield f"explain: chains {chains}, in all {record['eops']}, the total {total} at {names}"
        shown = derivation_text(derivation, "case", "case.tol").strip().splitlines()
        costly = [chain for chain in record["chains"] if of_text(chain["eops"], names) != 0]
        if len({chain["name"] for chain in costly}) > 1 and total is not None:
            end = shown[-1].rpartition(" = ")[2].removesuffix(", at most")
            if (cost.status == "upper bound") != shown[-1].endswith(", at most"):
                yield f"explain: {cost.status}, and the last line is {shown[-1][:200]}"
            if shown[-1].startswith("  ") or of_text(end, names) != total:
                yield f"explain: the last line is {shown[-1][:200]}, and the total {total} at {names}"


def _is_number(step: Mapping[str, str], names: Mapping[str, int], bounded: bool) -> bool:
    """Whether a step has to be equal to its chain: one of a single turn need not be."""
    form = step["form"]
    if "EOPs(" in form or (bounded and "at its largest" not in step["reason"]):
        return False
    return not any(name not in names and f"{name}_total" in names for name in re.findall(r"\w+", form))


# ---- programs ------------------------------------------------------------------------------------


def wrong_program(text: str, seed: int, browser: Browser, derived: bool = True) -> Iterator[str]:
    """Everything that is shown of a program."""
    cost, random = tolcost.analyze(text), Random(seed)
    at = points(cost, random)
    yield from wrong_rows(cost, at)
    yield from wrong_data(cost, at)
    yield from wrong_standing(cost)
    yield from wrong_domain(cost, random)
    ask_browser(browser, f"seed {seed}", cost, at)
    if seed % 5 == 0:
        yield from wrong_python(cost, at, random)
    if derived:
        yield from wrong_derivation(text, cost, at)
    yield from wrong_run(text, at, seed)


def wrong_run(text: str, at: Sequence[Point], seed: int) -> Iterator[str]:
    """What a run counts, beside the number that JSON shows there."""
    from tolcost.execute import run_reference
    from tools.programs.road import inputs_for, lowered

    try:
        program = lowered(text).program
    except Rejected:
        return
    for point in at[:1]:
        lengths = {s.name: v for s, v in point.items() if s.kind == "length"}
        if any(value < 1 for value in lengths.values()):
            continue
        try:
            run = run_reference(program, inputs_for(program, lengths, seed), lengths, 100_000)  # type: ignore[arg-type]
        except (Rejected, KeyError):
            continue
        data = {symbol.name: value for symbol, value in run.bindings.items() if symbol.kind == "data"}
        cost = tolcost.analyze(text)
        if set(cost.symbols) - lengths.keys() - data.keys():
            continue
        dims = {name: {**lengths, **data}[name] for name in cost.symbols}
        record = json.loads(cost.subs(dims).to_json())["programs"][0]
        shown = record["at"]["eops"]
        compared["runs"] += 1
        counted = sum(run.counts.histogram.values())
        if shown != counted and not (record["status"] == "upper bound" and counted <= shown):
            yield f"a run counts {counted}, and JSON says {shown} at {dims}"


def _campaign(texts: Iterable[tuple[str, str, int]]) -> list[str]:
    browser, wrong, many = Browser(), [], 0
    for name, text, seed in texts:
        try:
            found = list(
                with_deep_stack(lambda text=text, seed=seed: list(wrong_program(text, seed, browser)))
            )
        except Rejected:
            continue
        except Exception:  # what we look for, whatever it is
            found = [traceback.format_exc(limit=-6)]
        many += 1
        wrong += [f"{name}: {said}" for said in found]
        for said in found[:6]:
            print(f"{name}: {said}", flush=True)
        if len(browser.asked) > 20_000:
            wrong += list(browser.wrong())
    wrong += list(browser.wrong())
    print(f"{many} programs; compared {sum(compared.values()):,}: {dict(compared)}")
    return wrong


def random_programs(seeds: range) -> Iterator[tuple[str, str, int]]:
    for seed in seeds:
        yield f"seed {seed}", random_program(seed), seed


def spec_programs() -> Iterator[tuple[str, str, int]]:
    for n, path in enumerate(sorted((ROOT / "specs").rglob("*.tol"))):
        yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"), n


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.result.shown", description=__doc__)
    parser.add_argument("kind", choices=["programs", "specs", "models"])
    parser.add_argument("what", nargs="*")
    parser.add_argument("--start", type=int, default=0)
    asked = parser.parse_args(arguments)
    if asked.kind == "models":
        from tools.result.shown_models import campaign

        wrong = campaign(asked.what)
    elif asked.kind == "specs":
        wrong = _campaign(spec_programs())
    else:
        wrong = _campaign(random_programs(range(asked.start, asked.start + int(asked.what[0]))))
    print(f"{len(wrong)} wrong", *wrong[:50], sep="\n  ")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
