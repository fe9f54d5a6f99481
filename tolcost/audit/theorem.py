"""Theorem Two of the paper as a table: every operator as nothing but the five atoms, run one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tolcost.atoms.nodes import ATOMS
from tolcost.audit.catalogue import BESIDE, primitives_of
from tolcost.catalogue.conformance import Report, Result
from tolcost.catalogue.listing import Entry
from tolcost.catalogue.specs import Library
from tolcost.show.document import Cell, Column, ReportTable, Verdict

_MADE = "make theorem"
_NAMED = 3
"""So many tests that were too large are named in a row."""

COLUMNS = (
    Column("operator", "operator"),
    Column("domain", "domain"),
    Column("outcome", "value and count"),
    Column("run", "tests run", "number"),
    Column("tests", "of", "number"),
    Column("left", "too large to run"),
    Column("decided", "data decides"),
    *(Column(name, name, "number") for name in ATOMS),
    Column("only", "only the 13 primitives"),
    Column("more", "what more"),
)


def theorem_table(entries: Sequence[Entry], library: Library, conformance: Report) -> ReportTable:
    """One line for each operator that has a definition."""
    rows = tuple(_row(entry, library, conformance.of(entry.name)) for entry in entries if entry.spec)
    return ReportTable(COLUMNS, rows, "theorem", "Theorem Two, operator by operator", _about(rows), _MADE)


def _row(entry: Entry, library: Library, results: Sequence[Result]) -> tuple[Cell, ...]:
    cases = [case for case in results if case.status != "outside"]
    run = [case for case in cases if case.unrolled is not None]
    atoms = Counter(dict.fromkeys(ATOMS, 0))
    for case in run:
        atoms.update(case.unrolled or {})
    assert entry.spec is not None
    more = [name for name in BESIDE if name in primitives_of(entry.spec, library)]
    return (
        entry.name,
        entry.domain or "ai.onnx",
        _outcome(cases, run),
        len(run),
        len(cases),
        ", ".join(_left(cases)),
        ", ".join(sorted({what for case in run for what in case.decided})),
        *(atoms[name] for name in ATOMS),
        "" if more else "●",
        ", ".join(more),
    )


def _outcome(cases: Sequence[Result], run: Sequence[Result]) -> Verdict:
    if not run:
        return Verdict("not run" if cases else "no node test")
    agree = all(case.status == "pass" for case in run)
    return Verdict("agree" if agree else "differ", agree)


def _left(cases: Sequence[Result]) -> Iterator[str]:
    """Name the tests that were not run atom by atom, as far as there are few."""
    names = [case.name.removeprefix("test_") for case in cases if case.unrolled is None]
    yield from names[:_NAMED]
    if names[_NAMED:]:
        yield f"{len(names) - _NAMED} more"


def _about(rows: Sequence[tuple[Cell, ...]]) -> str:
    agree = sum(row[2] == "agree" for row in rows)
    tested = sum(row[4] != 0 for row in rows)
    only = sum(row[-2] == "●" for row in rows)
    return (
        f"Of {len(rows)} definitions, {tested} have node tests in onnx. Each of these is unrolled at the "
        "lengths of its tests into nothing but lambda, norm, member, join and embed, and the atoms are done "
        "one after the other: *agree* says that they give the outputs of the tests, and that as many "
        "functions, and atoms of each kind, are applied as the closed form says. "
        f"{agree} agree. Tests of more than 100,000 atoms are not run. Where data decides a length, a choice "
        "or a place, the atoms are those of that run. The numbers are the atoms of all tests run. The "
        f"{len(rows) - tested} definitions of which onnx has no test are run atom by atom on cases of our "
        "own, in `tests/specs`. "
        f"{only} definitions are written with the 13 primitive operators alone; the others name what more "
        "they use, where `join` stands for a bracket or a list, too."
    )
