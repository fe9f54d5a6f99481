"""Documents of the referee's findings: the verdicts together, or one formula in full; and as JSON."""

from __future__ import annotations

import csv
import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from msgspec import Struct

from tolcost.apps.referee.formulas import RIGHT_VERDICTS, PublishedFormula
from tolcost.apps.referee.judge import FormulaWitness, Judgement
from tolcost.apps.referee.parts import Explanation
from tolcost.apps.referee.subjects import command_for, title_of
from tolcost.catalogue.specs import Library
from tolcost.diagnostics import Diagnostic, Rejected
from tolcost.result.conformance import CONFORMANCE, conformance_of
from tolcost.result.instances import OperatorInstance
from tolcost.result.other_counts import (
    COMPILED,
    ONNX_TOOL,
    WRITTEN,
    Measured,
    Peer,
    number_cell,
    peer_of,
    points,
)
from tolcost.show.document import (
    Caution,
    Cell,
    Code,
    Column,
    Fact,
    Facts,
    Heading,
    Json,
    Lines,
    ReportTable,
    Section,
    Verdict,
    document,
    lengths_text,
    text_of,
)

COLUMNS = (
    Column("formula", "formula", is_name=True),
    Column("operator", "operator", is_name=True),
    Column("counts", "counts", drop=6, printed=False),
    Column("published", "published", "code", drop=9),
    Column("verified", "verified", "form"),
    Column("verdict", "verdict", group="verdict"),
    Column("reading", "right if", drop=2, group="verdict"),
    Column("leading", "leading term", drop=3, printed=False),
    Column("where", "where", "code", drop=8, group="verdict"),
    Column("holds_where", "verified where", "code", drop=7, printed=False),
    Column("witness", "smallest sizes that show it", drop=5, group="verdict"),
    Column("executed", "executed there", drop=1, printed=False),
    Column("forgets", "what it forgets", drop=4, printed=False),
    Column("source", "source", shown=False),
    Column("checked", "held to its source by", shown=False),
    Column("about", "about", shown=False),
    Column("command", "the verified form by", "code", shown=False),
    Column("expected", "expected", shown=False),
    Column("publisher", "publisher", shown=False),
)
MADE_BY = "make referee"
ON_COMMAND_LINE = "--formula"
"""The name of a formula given on the command line."""


def verdict_table(found: Sequence[Judgement]) -> ReportTable:
    """Make a table of all verdicts, one row for each formula."""
    leading = sum(one.leading and one.verdict not in RIGHT_VERDICTS for one in found)
    about = (
        f"{len(found)} published cost formulas: {_counted(found)}. Of those that are wrong, {leading} "
        "have the leading terms right. A formula is compared with an operator that passes ONNX's "
        "tests, with a family of models that compute what real ones do, or with a definition of its "
        "own where it brings one along. *Published* is the formula at the shapes of the row; "
        "*verified* is derived from the definition, which is one algorithm of several. *Another "
        "convention* is a formula that differs, and is right under a stated reading "
        "(docs/referee.md). A formula that is too low or too high is so under every reading. All "
        "verdicts except *undecided* are proved for all lengths. Where a verdict shows a size, the "
        "reference interpreter ran it there, and counted."
    )
    rows: tuple[tuple[Cell, ...], ...] = tuple(map(_row, found))
    title = "Published cost formulas, judged"
    return ReportTable(COLUMNS, rows, "referee", title, about, MADE_BY, by="publisher")


def _row(one: Judgement) -> tuple[Cell, ...]:
    formula = one.formula
    return (
        formula.name,
        title_of(formula.subject),
        formula.counts,
        Code(formula.text),
        one.ours,
        _verdict(one, one.verdict),
        "; ".join(one.reading),
        "right" if one.leading else "wrong",
        Code(where_text(one)),
        Code("; ".join(one.holds_where)),
        "; ".join(map(witness_text, one.witnesses)),
        "; ".join("" if w.executed is None else str(w.executed) for w in one.witnesses),
        forgets_text(one),
        formula.source,
        formula.checked,
        formula.about,
        Code(command_for(formula.subject)),
        formula.expect or "",
        formula.name.partition("/")[0],
    )


def _verdict(one: Judgement, said: str) -> Verdict:
    """Return a verdict in words, with the kind of news that it is."""
    return Caution(said) if one.verdict == "undecided" else Verdict(said, one.verdict in RIGHT_VERDICTS)


def where_text(one: Judgement) -> str:
    """Describe where a formula is too low, and where too high."""
    parts = (("low", one.low_where), ("high", one.high_where))
    several = bool(one.low_where and one.high_where)
    return "; ".join((f"too {word} where {text}" if several else text) for word, text in parts if text)


def witness_text(witness: FormulaWitness) -> str:
    """Describe a size, with the values of both forms there."""
    point = lengths_text(witness.point) or "every size"
    return f"{point}: {_number(witness.theirs)}, not {witness.ours:,}"


def _number(value: int | Fraction) -> str:
    """Write a value of a formula, and say where it is no integer.

    >>> _number(1000), _number(Fraction(7, 2))
    ('1,000', '7/2 (no integer)')
    """
    return f"{value:,}" if isinstance(value, int) else f"{value} (no integer)"


def forgets_text(one: Judgement) -> str:
    """Describe the omissions: lines of an operator's definition, or parts of a model."""
    lines = (f"{line.text} ({text_of(line.form)})" for line in one.forgets)
    parts = (words if label == "forgets" else f"{label} {words}" for label, words in parts_texts(one.parts))
    return "; ".join((*lines, *parts))


def parts_texts(found: Explanation) -> Iterator[tuple[str, str]]:
    """Yield the parts of a model that are omitted or counted too often, in words."""
    for part, share in found.shares:
        some = "" if abs(share) == 1 else f"{abs(share)} of "
        yield "forgets" if share > 0 else "counts besides", f"{some}{part.words}"
    if found.shares and found.rest != 0:
        yield "differs also by", text_of(found.rest)


def in_full(one: Judgement) -> tuple[Section, ...]:
    """Return everything known about one formula."""
    return (Heading(one.formula.name, one.formula.source), Facts(tuple(_facts(one))))


def _facts(one: Judgement) -> Iterator[Fact]:
    yield Fact("operator", Code(title_of(one.formula.subject)), one.formula.counts)
    for label, text in (("held there to", one.formula.checked), ("about", one.formula.about)):
        if text:
            yield Fact(label, text)
    yield from (Fact("assumed", Code(text)) for text in one.formula.assume)
    yield Fact("published", Code(text_of(one.published)))
    yield from (Fact("understood", remark) for remark in one.remarks)
    yield Fact("verified", Code(text_of(one.ours)), "at most: data decides" if one.bound else "")
    yield from _verdict_facts(one)
    for label, where in (("too low where", one.low_where), ("too high where", one.high_where)):
        if where:
            yield Fact(label, Code(where))
    for condition in one.holds_where:
        yield Fact("holds where", Code(condition))
    for witness in one.witnesses:
        yield Fact("shown at", witness_text(witness))
        if witness.executed is not None:
            yield Fact("executed", f"{witness.executed:,}", "by the reference interpreter")
    for label, words in parts_texts(one.parts):
        yield Fact(label, words)
    for line in one.forgets:
        yield Fact("forgets", Code(line.text), f"{text_of(line.form)}, {line.file}:{line.line}")


def _verdict_facts(one: Judgement) -> Iterator[Fact]:
    """Yield the verdict, the conventions under which it is right, and the difference by our own."""
    mostly_right = one.leading and one.verdict not in RIGHT_VERDICTS
    said = one.verdict + (", in the leading term right" if mostly_right else "")
    told = one.formula.expect not in (None, "equal") or not one.expected
    yield Fact(
        "verdict", _verdict(one, said), f"{one.formula.expect} is expected" if told and _listed(one) else ""
    )
    yield from (Fact("right if", words) for words in one.reading)
    if one.reading:
        yield Fact("else", one.order, f"counted as {one.formula.counts} are here")
    if one.verdict != "equal":
        yield Fact("difference", Code(text_of(one.difference)), "verified less published")


def summary_line(found: Sequence[Judgement]) -> Lines:
    """Count the formulas by verdict, and list unexpected verdicts."""
    formulas = "formula" if len(found) == 1 else "formulas"
    news = [one.formula.name for one in found if not one.expected and _listed(one)]
    unlike = [f"not as expected: {', '.join(news)}"] if news else []
    return Lines((f"{len(found)} {formulas}: {_counted(found)}", *unlike))


def _listed(one: Judgement) -> bool:
    """Whether a formula is from a file: one on the command line is alone, and has no expected verdict."""
    return one.formula.name != ON_COMMAND_LINE


def _counted(found: Sequence[Judgement]) -> str:
    told = Counter(one.verdict for one in found)
    return ", ".join(f"{number} {verdict}" for verdict, number in told.most_common())


# ---- for machines: docs/schemas/referee.json -------------------------------------------------


def verdicts_json(found: Sequence[Judgement]) -> str:
    """Return all verdicts, and the number of each, as JSON."""
    told = Counter(one.verdict for one in found)
    counted: dict[str, Json] = {str(verdict): number for verdict, number in told.items()}
    return document("referee", {"verdicts": counted, "formulas": [_formula(one) for one in found]})


def _formula(one: Judgement) -> dict[str, Json]:
    formula = one.formula
    shown: tuple[Json, ...] = tuple(map(_witness, one.witnesses))
    return {
        "name": formula.name,
        "source": formula.source,
        "about": formula.about,
        "subject": title_of(formula.subject),
        "counts": formula.counts,
        "train": formula.train,
        "where": dict(formula.where),
        "let": dict(formula.let),
        "assume": list(formula.assume),
        "published": text_of(one.published),
        "verified": text_of(one.ours),
        "verdict": one.verdict,
        "expected": one.expected,
        "leading": one.leading,
        "reading": list(one.reading),
        "order": one.order,
        "remarks": list(one.remarks),
        "too_low_where": one.low_where or None,
        "too_high_where": one.high_where or None,
        "holds_where": list(one.holds_where),
        "witness": next(iter(shown), None),
        "witnesses": list(shown),
        "forgets": forgets_text(one) or None,
        "command": command_for(formula.subject) or None,
    }


def _witness(witness: FormulaWitness) -> dict[str, Json]:
    return {
        "dims": dict(witness.point),
        "published": witness.theirs if isinstance(witness.theirs, int) else str(witness.theirs),
        "verified": witness.ours,
        "executed": witness.executed,
    }


# === The counts of other tools, operator by operator: every verified operator with its witnesses.
#
# A witness is independent of us: XLA as written and compiled, jax's roofline rules, onnx-tool, onnxsim,
# instructions that a GPU executed, and rules that others publish for the operator.  An operator without
# any has a reason.


ROOFLINE, ONNXSIM = "jax roofline", "onnxsim"
WITNESSES_MADE_BY = "make peers referee"
WITNESS_COLUMNS = (
    Column("operator", "operator"),
    Column("shapes", "at", "code"),
    Column("eops", "EOPs", "number"),
    Column("macs", "MACs", "number", printed=False),
    Column("written", "XLA as written", "number", group="XLA"),
    Column("compiled", "XLA compiled", "number", group="XLA"),
    Column("roofline", "jax roofline", "number", group="other counts"),
    Column("onnx_tool", "onnx-tool", "number", group="other counts"),
    Column("onnxsim", "onnxsim", "number", group="other counts"),
    Column("telling", "telling"),
    Column("values", "twin", printed=False),
    Column("executed", "executed on an H200, fp32 / EOPs", group="other counts"),
    Column("rules", "rules published by", group="rules published by"),
    Column("reason", "why there is none", group="rules published by"),
)


class OperatorWitnesses(Struct, frozen=True, eq=False):
    """External evidence for one operator."""

    op: str
    point: Measured | None
    values: str
    executed: str
    rules: tuple[str, ...]
    reason: str

    @property
    def witnessed(self) -> bool:
        """Whether any tool counts it."""
        return bool(self.point is not None or self.executed or self.rules)


def gather(data: Path, formulas: Iterable[PublishedFormula], library: Library) -> list[OperatorWitnesses]:
    """Collect the evidence for all verified operators; ``data`` is the folder of recordings."""
    rows = [*_rows(data / "peers.csv"), *_rows(data / "witnesses.csv")]
    values = {row["operator"]: row["values"] for row in rows if row.get("values")}
    counted = {point.op: point for point in points(_first_points(map(peer_of, rows)), library)}
    executed = dict(_executed(data / "h200"))
    rules = _rules(formulas)
    reasons = tomllib.loads((data / "witness_reasons.toml").read_text(encoding="utf-8"))["reasons"]
    return [
        OperatorWitnesses(
            op,
            counted.get(op),
            values.get(op, ""),
            executed.get(op, ""),
            rules.get(op, ()),
            reasons.get(op, ""),
        )
        for op in _verified(data.parent)
    ]


def _verified(reports: Path) -> list[str]:
    """Return the operators that pass all of ONNX's tests within the model."""
    found: dict[str, set[str]] = {}
    for case in conformance_of((reports / CONFORMANCE).read_text(encoding="utf-8")).results:
        found.setdefault(case.op, set()).add(case.status)
    return sorted(op for op, told in found.items() if "pass" in told and told <= {"pass", "outside"})


def _rows(file: Path) -> list[dict[str, str]]:
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            return list(csv.DictReader(lines))
    except OSError as error:
        raise Rejected(Diagnostic("T0730", f"cannot read {file}: {error}", hint="run `make peers`")) from None


def _first_points(peers: Iterable[Peer]) -> list[Peer]:
    """Return the counts of each operator at its first size."""
    first: dict[str, tuple[str, str]] = {}
    return [
        peer
        for peer in peers
        if first.setdefault(peer.op, (peer.shapes, peer.attrs)) == (peer.shapes, peer.attrs)
    ]


def _executed(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield fp32 instructions over EOPs, at the first recorded size of each operator."""
    taken: dict[tuple[str, str, str], int] = {}
    for row in _rows(folder / "counters.csv"):
        key = (row["name"], row["type"], row["size"])
        taken[key] = taken.get(key, 0) + int(row["fp32"])
    seen: set[str] = set()
    for row in _rows(folder / "counts.csv"):
        key, op = (row["name"], row["type"], row["size"]), row["name"].split()[0]
        if op not in seen and key in taken and row["type"] == "float32":
            seen.add(op)
            eops = int(row["eops"])
            yield op, f"{taken[key]:,} / {eops:,} at {row['size']}"


def _rules(formulas: Iterable[PublishedFormula]) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for formula in formulas:
        if isinstance(formula.subject, OperatorInstance):
            found.setdefault(_without_domain(formula.subject.op), {})[formula.name.partition("/")[0]] = None
    return {op: tuple(names) for op, names in found.items()}


def _without_domain(op: str) -> str:
    """Return the name of an operator of ONNX; those of other domains keep theirs.

    >>> _without_domain("ai.onnx.ml.Scaler"), _without_domain("com.microsoft.MoE")
    ('Scaler', 'com.microsoft.MoE')
    """
    return op.rpartition(".")[2] if op.startswith("ai.onnx.") else op


def witnesses_table(found: Sequence[OperatorWitnesses]) -> ReportTable:
    """Make a table with one line for each operator."""
    held = sum(one.values == "as ONNX" for one in found)
    telling = [one.point for one in found if one.point is not None and not one.point.trivial]
    equal = sum(point.ratio() == 1 for point in telling)
    trivial = sum(one.point is not None for one in found) - len(telling)
    without = sum(not one.witnessed for one in found)
    about = (
        f"{len(found)} verified operators: {len(found) - without} with a count by at least one other "
        f"tool, {without} with a reason why there is none. The programs of jax were compared with "
        f"ONNX's reference on random numbers: {held} compute the same. Of the points counted by XLA, "
        f"{trivial} are trivial (no function, or one for each element). Of the other {len(telling)}, "
        f"{equal} are equal to XLA's compiled count. Published rules of others are judged in "
        "referee.md; instructions of a GPU were recorded once (hardware.md)."
    )
    return ReportTable(
        WITNESS_COLUMNS,
        tuple(map(_witness_row, found)),
        "witnesses",
        "Who counts what",
        about,
        WITNESSES_MADE_BY,
    )


def _witness_row(one: OperatorWitnesses) -> tuple[Cell, ...]:
    return (
        one.op,
        *((Code(""), *[None] * 7, "") if one.point is None else _counts(one.point)),
        one.values,
        one.executed,
        ", ".join(one.rules),
        "" if one.witnessed else one.reason,
    )


def _counts(point: Measured) -> tuple[Cell, ...]:
    """Return all counts at a point, and whether the point is informative."""
    macs = (point.counts[tool].macs if tool in point.counts else None for tool in (ONNX_TOOL, ONNXSIM))
    return (
        Code(json.dumps(point.instance.shapes, separators=(",", ":"))),
        point.eops,
        point.macs,
        *(number_cell(point.total(tool)) for tool in (WRITTEN, COMPILED, ROOFLINE)),
        *map(number_cell, macs),
        "trivial" if point.trivial else "yes",
    )
