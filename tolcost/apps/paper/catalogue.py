"""Operators of ONNX: their status, the closed forms of their tests, and the primitives they use."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from msgspec import Struct

from tolcost.algebra import Poly
from tolcost.algebra.parse import parse_text
from tolcost.apps.paper.peers import CONFORMANCE_MADE
from tolcost.atoms.nodes import ATOMS
from tolcost.catalogue.conformance import Report, Result
from tolcost.catalogue.listing import Entry
from tolcost.catalogue.specs import Library, Spec
from tolcost.elementary import FUNCTIONS
from tolcost.show.document import LONGEST, Cell, Column, ReportTable, Verdict
from tolcost.syntax import tree

_NAME = re.compile(r"[A-Za-z_]\w*")

FORM_COLUMNS = (
    Column("operator", "operator"),
    Column("case", "test"),
    Column("eops", "EOPs", "form"),
    Column("macs", "MACs", "form", printed=False),
    Column("certainty", "count is"),
    Column("numbers", "lengths that had to be numbers"),
)


class Shown(Struct, frozen=True):
    """A case that represents an operator, with its closed forms."""

    case: Result
    eops: Poly
    macs: Poly


def status_of(entry: Entry, cases: Sequence[Result]) -> Verdict:
    """Return the status of an operator: verified, failing, untested, outside the model, or missing."""
    if entry.standing != "defined":
        return Verdict("outside the model" if entry.standing == "outside" else "missing")
    judged = [case for case in cases if case.status != "outside"]
    if not judged:
        return Verdict("outside the model" if cases else "untested")
    failed = sum(case.status == "fail" for case in judged)
    return Verdict("failing", False) if failed else Verdict("verified", True)


def representative(cases: Iterable[Result]) -> Shown | None:
    """Choose the passing case with the fewest concrete lengths and the most informative readable form."""
    passed = [case for case in cases if case.status == "pass" and case.eops is not None]
    if not passed:
        return None

    def rank(case: Result) -> tuple[int, bool, int, int, str]:
        text = case.eops or ""
        symbols = len(set(_NAME.findall(text)))
        return len(case.concrete), len(text) > LONGEST, -symbols, len(text), case.name

    return shown(min(passed, key=rank))


def shown(case: Result) -> Shown:
    """Read the stored closed forms of a case."""
    return Shown(case, parse_text(case.eops or "0"), parse_text(case.macs or "0"))


def forms_table(conformance: Report) -> ReportTable:
    """Make a table of every distinct closed form of every operator."""
    about = "Every distinct closed form behind the node tests that pass, with one test that has it."
    rows: dict[tuple[str, str, str], tuple[Cell, ...]] = {}
    for case in conformance.results:
        if case.status == "pass" and case.eops is not None:
            key = (case.op, case.eops, case.macs or "")
            found, name = shown(case), case.name.removeprefix("test_")
            numbers = ", ".join(case.concrete)
            rows.setdefault(key, (case.op, name, found.eops, found.macs, case.certainty or "", numbers))
    ordered = tuple(rows[key] for key in sorted(rows))
    return ReportTable(FORM_COLUMNS, ordered, "forms", "Closed forms by test", about, CONFORMANCE_MADE)


def standing_counts(entries: Sequence[Entry], conformance: Report) -> dict[str, int]:
    """Count the operators by status."""
    found = Counter[str](status_of(entry, conformance.of(entry.name)) for entry in entries)
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


# ---- conciseness: the primitives and functions of a definition ---------------------------------


THIRTEEN = (
    "function", "shape", "dim", "capacity", "vol", "space", "convert", "part", "swap", "reshape", "tile",
    "map", "reduce",
)  # fmt: skip
BESIDE = ("join", "embed", "put", "filter", "seq", "repeat", "bitcast", "choose", "trips", "tripcount",
          "while")  # fmt: skip
"""Atoms with their own name, native compositions of member, join and embed, and branches."""

_COMMAND = "tolcost report"


@cache
def primitives_of(spec: Spec, library: Library) -> frozenset[str]:
    """Return the primitives that a definition uses, itself or through calls; cached for two tables."""
    found: set[str] = set()
    for node in _reached(spec, library):
        found.update(_primitives(node))
    return frozenset(found)


def _reached(spec: Spec, library: Library) -> Iterator[object]:
    """Yield every node of a definition, and of the library functions and operators that it reaches."""
    helpers = {s.name: s for file in spec.library for s in file.statements if isinstance(s, tree.Define)}
    own = {s.name for s in spec.program.statements if isinstance(s, tree.Define) and s.params is not None}
    seen: set[str] = set()
    waiting: list[object] = list(spec.program.statements)
    while waiting:
        top = waiting.pop()
        for node in tree.inner_nodes(top):
            yield node
            if not isinstance(node, tree.Name) or node.name in seen or node.name in own:
                continue
            if node.name in helpers:
                seen.add(node.name)
                waiting.append(helpers[node.name])
            elif node.name != spec.name and (called := _operator(library, node.name)) is not None:
                seen.add(node.name)
                yield from _reached(called, library)


def _operator(library: Library, name: str) -> Spec | None:
    return library.find("", name) if name[:1].isupper() and name in library.names("") else None


def _primitives(node: object) -> tuple[str, ...]:
    match node:
        case tree.ShapeOf(value=tree.ShapeOf()):
            return ("dim",)
        case tree.ShapeOf():
            return ("shape",)
        case tree.CapacityOf():
            return ("capacity",)
        case tree.Subscript() | tree.ListSubscript():
            return ("part",)
        case tree.Arrow():
            return ("function",)
        case tree.Define(params=params) if params is not None:
            return ("function",)
        case tree.Bracket() | tree.Tuple():
            return ("join",)
        case tree.Call(function=tree.Name(name=name)):
            plain = "part" if name == "part'" else name
            return (plain,) if plain in THIRTEEN or plain in BESIDE else ()
        case _:
            return ()


# ---- the matrix --------------------------------------------------------------------------


def functions_by_operator(conformance: Report) -> dict[str, tuple[str, ...]]:
    """Return the functions that the tests of each operator applied to data."""
    found: dict[str, set[str]] = {}
    for case in conformance.results:
        if case.eops is not None:
            found.setdefault(case.op, set()).update(case.functions)
    return {op: tuple(sorted(functions)) for op, functions in found.items()}


def beyond_table_2(functions: Sequence[str]) -> tuple[str, ...]:
    """Return the functions that the paper's list of basic elementary functions lacks."""
    return tuple(name for name in functions if name in FUNCTIONS and FUNCTIONS[name].added)


def primitives_table(entries: Sequence[Entry], library: Library, conformance: Report) -> ReportTable:
    """Make a table of the operators by the primitives and functions that they use."""
    applied = functions_by_operator(conformance)
    columns = (
        Column("operator", "operator"),
        Column("primitives", "of the 13 primitives"),
        Column("native", "native besides"),
        *(Column(name, name, printed=False) for name in (*THIRTEEN, *BESIDE)),
        Column("lines", "lines", "number"),
        Column("functions", "functions on data"),
        Column("beyond", "beyond Table 2"),
    )
    rows = tuple(
        _primitives_row(entry, entry.spec, library, applied) for entry in entries if entry.spec is not None
    )
    about = (
        "Which of the 13 primitive operators each definition uses, itself or through library "
        "functions, and which further ones of the language (the CSV has a column for each). Then the "
        "number of lines of the definition without comments, the elementary functions that its tests "
        "apply to data, and those among them that the paper's list of basic elementary functions "
        "(Table 2) lacks."
    )
    return ReportTable(columns, rows, "primitives", "Operators and primitives", about, _COMMAND)


def _primitives_row(
    entry: Entry, spec: Spec, library: Library, applied: Mapping[str, Sequence[str]]
) -> tuple[Cell, ...]:
    used = primitives_of(spec, library)
    functions = applied.get(entry.name, ())
    named = tuple(", ".join(name for name in names if name in used) for names in (THIRTEEN, BESIDE))
    marks = tuple("●" if name in used else "" for name in (*THIRTEEN, *BESIDE))
    lines = sum(bool(line.split("#")[0].strip()) for line in spec.source.text.splitlines())
    return (entry.name, *named, *marks, lines, ", ".join(functions), ", ".join(beyond_table_2(functions)))


def beyond_table(entries: Sequence[Entry], conformance: Report) -> ReportTable:
    """Make a table of the functions that Table 2 lacks, with the operators that need each."""
    applied = functions_by_operator(conformance)
    named = [entry.name for entry in entries if entry.spec is not None]
    users: dict[str, list[str]] = {}
    for op in named:
        for function in beyond_table_2(applied.get(op, ())):
            users.setdefault(function, []).append(op)
    rows = tuple(
        (function, len(ops), ", ".join(ops))
        for function, ops in sorted(users.items(), key=lambda item: (-len(item[1]), item[0]))
    )
    needing = {op for ops in users.values() for op in ops}
    about = (
        f"{len(needing)} of {len(named)} operators apply some function to data that Table 2 lacks; the"
        f" other {len(named) - len(needing)} need none."
    )
    columns = (
        Column("function", "function"),
        Column("operators", "operators", "number"),
        Column("which", "which"),
    )
    return ReportTable(columns, rows, "beyond", "Functions beyond Table 2", about, _COMMAND)


# === Theorem Two of the paper as a table: every operator unrolled into the five atoms, run one by one.


_MADE = "make theorem"
_NAMED = 3
"""Limit on the too large tests named in a row."""

THEOREM_COLUMNS = (
    Column("operator", "operator"),
    Column("domain", "domain", printed=False),
    Column("outcome", "value and count"),
    Column("run", "tests: run", "number", group="tests"),
    Column("tests", "tests: in all", "number", group="tests"),
    Column("left", "too large to run", printed=False),
    Column("decided", "data decides"),
    *(Column(name, name, "number") for name in ATOMS),
    Column("only", "only the 13 primitives", printed=False),
    Column("more", "more than the 13 primitives"),
)


def theorem_table(entries: Sequence[Entry], library: Library, conformance: Report) -> ReportTable:
    """Make a table with one line for each operator that has a definition."""
    rows = tuple(_theorem_row(entry, library, conformance.of(entry.name)) for entry in entries if entry.spec)
    return ReportTable(
        THEOREM_COLUMNS, rows, "theorem", "Theorem Two, operator by operator", _about(rows), _MADE
    )


def _theorem_row(entry: Entry, library: Library, results: Sequence[Result]) -> tuple[Cell, ...]:
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
    """Name the tests that were not run atom by atom, if there are few."""
    names = [case.name.removeprefix("test_") for case in cases if case.unrolled is None]
    yield from names[:_NAMED]
    if names[_NAMED:]:
        yield f"{len(names) - _NAMED} more"


def _about(rows: Sequence[tuple[Cell, ...]]) -> str:
    agree = sum(row[2] == "agree" for row in rows)
    tested = sum(row[4] != 0 for row in rows)
    only = sum(row[-2] == "●" for row in rows)
    return (
        f"Of {len(rows)} definitions, {tested} have node tests in onnx. Each of these is unrolled at "
        "the lengths of its tests until only lambda, norm, member, join and embed are left, and these"
        " atoms are executed one by one. *agree* means that they give the outputs of the tests, and "
        f"that each function and each atom is applied as often as the closed form states. {agree} "
        "agree. Tests of more than 100,000 atoms are not run. Where data decides a length, a choice "
        "or a place, the atoms are those of that run. The numbers are the atoms of all tests run. The"
        f" {len(rows) - tested} definitions without a test in onnx are run atom by atom on cases of "
        f"our own, in `tests/specs`. {only} definitions use the 13 primitive operators alone; for the "
        "others the table names what else they use. There, `join` also stands for a bracket or a "
        "list."
    )
