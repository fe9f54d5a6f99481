"""What the referee found, as a document: the verdicts together, or one formula in full; and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tolcost.referee.formulas import command_for, title_of
from tolcost.referee.judge import Explanation, FormulaWitness, Judgement
from tolcost.show.document import (
    Cell,
    Code,
    Column,
    Fact,
    Facts,
    Heading,
    Lines,
    ReportTable,
    Section,
    Verdict,
    text_of,
)
from tolcost.show.json import Json, document

COLUMNS = (
    Column("formula", "formula"),
    Column("operator", "operator"),
    Column("counts", "counts"),
    Column("published", "published", "code"),
    Column("verified", "verified", "form"),
    Column("verdict", "verdict"),
    Column("leading", "leading term"),
    Column("products", "products alone"),
    Column("where", "where", "code"),
    Column("holds_where", "verified where", "code"),
    Column("witness", "smallest sizes that show it"),
    Column("executed", "executed there"),
    Column("forgets", "what it forgets"),
    Column("source", "source", shown=False),
    Column("checked", "held to its source by", shown=False),
    Column("about", "about", shown=False),
    Column("command", "the verified form by", "code", shown=False),
)
MADE_BY = "make referee"


def verdict_table(found: Sequence[Judgement]) -> ReportTable:
    """All verdicts, one row for each formula."""
    leading = sum(one.leading and one.verdict != "equal" for one in found)
    about = (
        f"{len(found)} published cost formulas: {_counted(found)}; {leading} of those that are not equal "
        "have the leading terms right. They are held to operators that pass ONNX's tests, to families of "
        "models that compute what real ones do, and, where a formula brings its own definition along, to "
        "that. *Published* is the formula in our notation, at the shapes of the row; *verified* is derived "
        "from the definition, which is one algorithm of several: a formula made for another one differs too. "
        "Equal, too low and too high are proved for all lengths. A size that shows a difference is run by "
        "the reference interpreter, which counts as it goes."
    )
    rows = tuple(map(_row, found))
    return ReportTable(COLUMNS, rows, "referee", "Published cost formulas, judged", about, MADE_BY)


def _row(one: Judgement) -> tuple[Cell, ...]:
    formula = one.formula
    return (
        formula.name,
        title_of(formula.subject),
        formula.counts,
        Code(formula.text),
        one.ours,
        Verdict(one.verdict, {"equal": True, "undecided": None}.get(one.verdict, False)),
        "right" if one.leading else "wrong",
        one.products or "",
        Code(where_text(one)),
        Code("; ".join(one.holds_where)),
        "; ".join(map(witness_text, one.witnesses)),
        "; ".join("" if w.executed is None else str(w.executed) for w in one.witnesses),
        forgets_text(one),
        formula.source,
        formula.checked,
        formula.about,
        Code(command_for(formula.subject)),
    )


def where_text(one: Judgement) -> str:
    """Where a formula is too low, and where too high."""
    parts = (("low", one.low_where), ("high", one.high_where))
    several = bool(one.low_where and one.high_where)
    return "; ".join((f"too {word} where {text}" if several else text) for word, text in parts if text)


def witness_text(witness: FormulaWitness) -> str:
    """A size, and what both say there."""
    point = ", ".join(f"{name} = {value:,}" for name, value in witness.point) or "every size"
    return f"{point}: {witness.theirs:,}, not {witness.ours:,}"


def forgets_text(one: Judgement) -> str:
    """What is missing: by line of an operator's definition, by part of a model."""
    lines = (f"{line.text} ({text_of(line.form)})" for line in one.forgets)
    parts = (words if label == "forgets" else f"{label} {words}" for label, words in parts_texts(one.parts))
    return "; ".join((*lines, *parts))


def parts_texts(found: Explanation) -> Iterator[tuple[str, str]]:
    """What is missing of a model, and what is counted too often, in words."""
    for part, share in found.shares:
        some = "" if abs(share) == 1 else f"{abs(share)} of "
        yield "forgets" if share > 0 else "counts besides", f"{some}{part.words}"
    if found.shares and found.rest != 0:
        yield "differs also by", text_of(found.rest)


def in_full(one: Judgement) -> tuple[Section, ...]:
    """One formula with all that was found out about it."""
    return (Heading(one.formula.name, one.formula.source), Facts(tuple(_facts(one))))


def _facts(one: Judgement) -> Iterator[Fact]:
    yield Fact("operator", Code(title_of(one.formula.subject)), one.formula.counts)
    for label, text in (("held there to", one.formula.checked), ("about", one.formula.about)):
        if text:
            yield Fact(label, text)
    yield Fact("published", Code(text_of(one.theirs)))
    yield Fact("verified", Code(text_of(one.ours)), "at most: data decides" if one.bound else "")
    mostly_right = one.leading and one.verdict != "equal"
    yield Fact("verdict", one.verdict + (", in the leading term right" if mostly_right else ""))
    if one.verdict != "equal":
        yield Fact("difference", Code(text_of(one.ours - one.theirs)), "verified less published")
    for label, where in (("too low where", one.low_where), ("too high where", one.high_where)):
        if where:
            yield Fact(label, Code(where))
    for condition in one.holds_where:
        yield Fact("holds where", Code(condition))
    for witness in one.witnesses:
        yield Fact("shown at", witness_text(witness))
        if witness.executed is not None:
            yield Fact("executed", f"{witness.executed:,}", "by the reference interpreter")
    if one.products is not None:
        yield Fact("products alone", one.products, "if only products of matrices are to be counted")
    for label, words in parts_texts(one.parts):
        yield Fact(label, words)
    for line in one.forgets:
        yield Fact("forgets", Code(line.text), f"{text_of(line.form)}, {line.file}:{line.line}")


def summary_line(found: Sequence[Judgement]) -> Lines:
    """How many formulas there are of each verdict."""
    formulas = "formula" if len(found) == 1 else "formulas"
    return Lines((f"{len(found)} {formulas}: {_counted(found)}",))


def _counted(found: Sequence[Judgement]) -> str:
    told = Counter(one.verdict for one in found)
    return ", ".join(f"{number} {verdict}" for verdict, number in told.most_common())


# ---- for machines: docs/schemas/referee.json -------------------------------------------------


def verdicts_json(found: Sequence[Judgement]) -> str:
    """All verdicts, and how many there are of each."""
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
        "times": formula.times,
        "where": dict(formula.where),
        "published": text_of(one.theirs),
        "verified": text_of(one.ours),
        "verdict": one.verdict,
        "expected": one.expected,
        "leading": one.leading,
        "products": one.products,
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
        "published": witness.theirs,
        "verified": witness.ours,
        "executed": witness.executed,
    }
